"""Loop nests from text: affine subscripts such as ``I[n,c,2*x+r] F[c,k,r] O[n,k,x]``, einsum strings, or YAML."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.files import is_whole, read_yaml
from jouleloop.theory.loop_nest.nest import ASSUME_CACHE, LoopNest, Matrix

_ACCESS = re.compile(r"([^\W\d]\w*)\s*(\[[^\[\]]*\]|\([^()]*\))")
_BETWEEN = re.compile(r"[\s+=*,;×·]*")
_KEYS = ("loops", "arrays", "constants", "output", "cache_words")
_EXAMPLE = "such as A[i,k] B[k,j] C[i,j] or ik,kj->ij"


def read_loop_nest(
    text: str | None, file: Path | None, constants: Mapping[str, int] | None = None, *, projective: bool = False
) -> tuple[LoopNest, int | None]:
    """Return the loop nest of either ``text`` or a YAML file, and the cache in words where the file gives one.

    Raises `InputError` where not exactly one of both is given, or it cannot be read (see `parse_nest`,
    `nest_from_data`); `AssumptionError` where ``projective`` is asked for and a subscript is not one loop.
    """
    if (text is None) == (file is None):
        raise InputError(Fault("give the loop nest once, either as text or as a YAML file", value=text))
    cache = None
    try:
        if file is None:
            nest = parse_nest(text or "", constants)
        else:
            data = read_yaml(file)
            if constants and isinstance(data, dict) and isinstance(data.get("constants", {}), dict):
                data = {**data, "constants": {**data.get("constants", {}), **constants}}
            nest = nest_from_data(data)
            cache = data.get("cache_words")
        if projective:
            _ = nest.supports
    except InputError as error:
        if file is None:
            raise
        raise error.at(file) from error
    return nest, None if cache is None else int(cache)


def parse_nest(text: str, constants: Mapping[str, int] | None = None) -> LoopNest:
    """Return the loop nest that ``text`` describes; loops are numbered in the order of their first appearance.

    Raises `InputError` where the text is neither, or a subscript is not affine in the loops with integer coefficients;
    `AssumptionError` where a direction of the loops changes no subscript.

    It is either an einsum string (see `from_einsum`) or array accesses with affine subscripts, in brackets or
    parentheses, joined by blanks, ``+=``, ``=``, ``*`` or commas. ``constants`` are values for names in subscripts that
    are not loops, such as a stride.
    """
    if "->" in text or (text.strip() and not set("[]()") & set(text)):
        return from_einsum(text)
    accesses: dict[str, list[str]] = {}
    position = 0
    faults: list[Fault] = []
    for match in _ACCESS.finditer(text):
        _check_between(text[position : match.start()], faults)
        position = match.end()
        name, subscripts = match[1], match[2][1:-1]
        parts = [part.strip() for part in subscripts.split(",")] if subscripts.strip() else []
        if name in accesses and accesses[name] != parts:
            faults.append(Fault("the array is accessed with two different subscripts", None, name, text))
        accesses[name] = parts
    _check_between(text[position:], faults)
    if not accesses:
        faults.append(Fault("no array access found", None, "nest", text, _EXAMPLE))
    raise_all(faults)
    return _build(accesses, None, constants or {})


def from_einsum(text: str, bounds: Mapping[str, int] | None = None) -> LoopNest:
    """Return the nest of an einsum string such as ``ik,kj->ij``; one letter a loop, the array after ``->`` is written.

    Loops with longer names are written with spaces: ``batch in, in out -> batch out``.

    Raises `InputError` where the text is no einsum string; `AssumptionError` where ``bounds`` lack a loop or name
    another.
    """
    head, arrow, tail = text.partition("->")
    if arrow and ("->" in tail or "," in tail):
        raise InputError(Fault("an einsum string has one output", value=text, allowed="such as ik,kj->ij"))
    parts = head.split(",") + ([tail] if arrow else [])
    spaced = any(len(part.split()) > 1 for part in parts)
    operands = [part.split() if spaced else list(part.strip()) for part in parts]
    raise_all(
        [
            Fault(f"{index!r} is no loop index of an einsum string", value=text, allowed="letters, such as ik,kj->ij")
            for operand in operands
            for index in operand
            if not index.isidentifier()
        ]
    )
    if not any(operands):
        raise InputError(Fault("an einsum string needs at least one index", value=text, allowed="such as ik,kj->ij"))
    names = [f"in{number}" for number in range(1, len(operands) + 1)]
    outputs: tuple[int, ...] = ()
    if arrow:
        names[-1], outputs = "out", (len(operands) - 1,)
    nest = _build(dict(zip(names, operands, strict=True)), None, {}, outputs)
    return nest if bounds is None else nest.with_bounds(bounds)


def nest_from_data(data: Any) -> LoopNest:
    """Return the loop nest of a YAML document.

    Keys: ``arrays``, each a list of affine subscripts (``[n, c, 2*x + r]``) or ``{matrix: [[1, 0], [0, 1]]}`` with one
    column per loop; ``loops``, names, or a mapping of names to bounds, which may be left out where there is no matrix;
    ``constants``, integers by name; ``output``, the name or names of what is written; ``cache_words``, which is the
    reader's business.

    Raises `InputError` where the document has another shape.
    """
    if not isinstance(data, dict):
        raise InputError(Fault("a loop nest is a mapping with 'arrays'", value=data, allowed=", ".join(_KEYS)))
    faults = [unknown(str(key), _KEYS, "key") for key in data if key not in _KEYS]
    loops = data.get("loops")
    if loops is not None and not (isinstance(loops, (dict, list)) and loops and all(map(_is_name, loops))):
        faults.append(Fault("loops are a list of names, or a mapping of names to bounds", field="loops", value=loops))
        loops = None
    constants = data.get("constants") or {}
    if not isinstance(constants, dict) or not all(is_whole(value) for value in constants.values()):
        faults.append(Fault("must map names to integers", field="constants", value=constants))
    cache = data.get("cache_words")
    if cache is not None and not is_whole(cache):
        faults.append(Fault("not a whole number", field="cache_words", value=cache, allowed=ASSUME_CACHE))
    written = data.get("output", [])
    written = [written] if isinstance(written, str) else written
    if not isinstance(written, list):
        faults.append(Fault("is a name or a list of names", field="output", value=written))
        written = []
    accesses, matrices = _arrays(data.get("arrays"), faults, with_loops=loops is not None)
    names = [str(name) for name in data["arrays"]] if isinstance(data.get("arrays"), dict) else []
    faults += [unknown(str(name), names, "array", field="output") for name in written if name not in names]
    raise_all(faults)
    order = None if loops is None else list(loops)
    values = {str(name): int(value) for name, value in constants.items()}
    nest = _build(accesses, order, values, tuple(names.index(name) for name in written), matrices, names)
    return nest.with_bounds(loops) if isinstance(loops, dict) else nest


def _arrays(data: Any, faults: list[Fault], *, with_loops: bool) -> tuple[dict[str, list[str]], dict[str, Matrix]]:
    """Return the subscripts of the arrays that are written as such, and the matrices of the others."""
    accesses: dict[str, list[str]] = {}
    matrices: dict[str, Matrix] = {}
    if not isinstance(data, dict) or not data:
        faults.append(Fault("a loop nest needs a mapping 'arrays' of names to lists of subscripts", field="arrays"))
        return accesses, matrices
    for name, value in data.items():
        if isinstance(value, list) and all(isinstance(part, str) or is_whole(part) for part in value):
            accesses[str(name)] = [str(part) for part in value]
        elif isinstance(value, dict) and set(value) == {"matrix"} and _is_matrix(value["matrix"]) and with_loops:
            matrices[str(name)] = tuple(tuple(map(int, row)) for row in value["matrix"])
        else:
            allowed = "a list of subscripts, or {matrix: rows of integers} together with loops"
            faults.append(Fault("not an array access", None, f"arrays.{name}", value, allowed))
    return accesses, matrices


def _check_between(text: str, faults: list[Fault]) -> None:
    if not _BETWEEN.fullmatch(text):
        faults.append(Fault("cannot be read as an array access", None, "nest", text.strip(), "NAME[subscript, …]"))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) and all(map(is_whole, row)) for row in value)


def _build(
    accesses: Mapping[str, list[str]],
    loops: list[str] | None,
    constants: Mapping[str, int],
    outputs: tuple[int, ...] = (),
    matrices: Mapping[str, Matrix] | None = None,
    names: Sequence[str] | None = None,
) -> LoopNest:
    faults: list[Fault] = []
    fixed = {name: value for name, value in constants.items() if name not in (loops or ())}
    forms: dict[str, list[dict[str | None, int]]] = {}
    for array, parts in accesses.items():
        forms[array] = []
        for part in parts:
            node = _expression(part, array)
            try:
                forms[array].append(_affine(node, fixed))
            except ValueError as error:
                faults.append(Fault(str(error), None, array, part, "integer coefficients, such as 2*x + r"))
    named = [(name, array) for array, rows in forms.items() for row in rows for name in row if name is not None]
    order = loops if loops is not None else list(dict.fromkeys(name for name, _ in named))
    known = (*order, *constants)
    faults += [unknown(name, known, "loop or constant", field=array) for name, array in named if name not in order]
    raise_all(faults, InputError)
    found = {array: tuple(tuple(row.get(loop, 0) for loop in order) for row in rows) for array, rows in forms.items()}
    found |= matrices or {}
    return LoopNest(tuple(order), {name: found[name] for name in names or found}, (), outputs)


def _expression(text: str, array: str) -> ast.expr:
    if text.isidentifier():  # also where Python has the word for itself, such as "in"
        return ast.Name(text, ast.Load(), lineno=1, col_offset=0)
    # "2x" is how people write it; Python reads it only with the star.
    spelled = re.sub(r"(\d)\s*(?=[^\W\d])", r"\1*", text.replace("·", "*").replace("−", "-"))
    try:
        return ast.parse(spelled.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise InputError(Fault("not an affine subscript", None, array, text, "such as 2*x + r")) from error


def _affine(node: ast.expr, constants: Mapping[str, int]) -> dict[str | None, int]:
    """Return coefficients by loop name, in the order of the text; the constant part under None."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return {None: value}
        case ast.Name(id=name):
            return {None: constants[name]} if name in constants else {name: 1}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return {key: -value for key, value in _affine(operand, constants).items()}
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _affine(operand, constants)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            sign = 1 if isinstance(operator, ast.Add) else -1
            form = dict(_affine(left, constants))
            for key, value in _affine(right, constants).items():
                form[key] = form.get(key, 0) + sign * value
            return form
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _affine(left, constants), _affine(right, constants)
            if set(first) != {None}:
                first, second = second, first
            if set(first) != {None}:
                raise ValueError("a product of two loop indices is not affine")
            return {key: first[None] * value for key, value in second.items()}
        case _:
            raise ValueError("only sums, differences and integer multiples of loop indices are affine")
