"""Loop nests from text: affine subscripts such as ``I[n,c,2*x+r] F[c,k,r] O[n,k,x]``, einsum strings, or YAML."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.files import read_yaml
from jouleloop.theory.loop_nest.hbl import LoopNest

_ACCESS = re.compile(r"([^\W\d]\w*)\s*(\[[^\[\]]*\]|\([^()]*\))")
_BETWEEN = re.compile(r"[\s+=*,;×·]*")
_KEYS = ("loops", "arrays", "constants")


def parse_nest(text: str, constants: Mapping[str, int] | None = None) -> LoopNest:
    """Return the loop nest that ``text`` describes; loops are numbered in the order of their first appearance.

    Parameters
    ----------
    text
        Either an einsum string (``ik,kj->ij``: one letter a loop, one term an array) or array accesses with affine
        subscripts, in brackets or parentheses, joined by blanks, ``+=``, ``=``, ``*`` or commas.
    constants
        Values for names in subscripts that are not loops, such as a stride.

    Raises
    ------
    InputError
        Where the text is neither, or a subscript is not affine in the loops with integer coefficients.
    AssumptionError
        Where a direction of the loops changes no subscript.
    """
    if "->" in text:
        return _parse_einsum(text)
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
        faults.append(Fault("no array access found", None, "nest", text, "such as A[i,k] B[k,j] C[i,j] or ik,kj->ij"))
    raise_all(faults, InputError)
    return _build(accesses, None, constants or {})


def read_nest(text: str | None, yaml_file: Path | None, constants: Mapping[str, int]) -> LoopNest:
    """Return the loop nest of either ``text`` or a YAML file; raise `InputError` where not exactly one is given."""
    if (text is None) == (yaml_file is None):
        raise InputError(Fault("give either a loop nest or a YAML file", None, "nest", text))
    if yaml_file is None:
        return parse_nest(text or "", constants)
    data = read_yaml(yaml_file)
    if isinstance(data, dict) and isinstance(data.get("constants", {}), dict):
        data = {**data, "constants": {**data.get("constants", {}), **constants}}
    try:
        return nest_from_data(data)
    except InputError as error:
        raise error.at(yaml_file) from error


def constants_from_options(options: Sequence[str]) -> dict[str, int]:
    """Return names and integers from texts such as ``sw=2``."""
    faults, result = [], {}
    for option in options:
        match = re.fullmatch(r"\s*([^\W\d]\w*)\s*=\s*([+-]?\d+)\s*", option)
        if match is None:
            faults.append(Fault("not a value of a name", None, "--let", option, "NAME=INTEGER"))
        else:
            result[match[1]] = int(match[2])
    raise_all(faults, InputError)
    return result


def nest_from_data(data: Any) -> LoopNest:
    """Return the loop nest of a YAML document with ``arrays`` and optionally ``loops`` and ``constants``.

    An array is a list of affine subscripts (``[n, c, 2*x + r]``) or ``{matrix: [[1, 0], [0, 1]]}`` with one column per
    loop; matrices need ``loops``.

    Raises
    ------
    InputError
        Where the document has another shape.
    """
    if not isinstance(data, dict) or not isinstance(data.get("arrays"), dict):
        raise InputError(Fault("a loop nest needs a mapping 'arrays'", None, None, data, ", ".join(_KEYS)))
    faults = [Fault("unknown key", None, str(key), None, ", ".join(_KEYS)) for key in data if key not in _KEYS]
    loops = data.get("loops")
    if loops is not None and not (isinstance(loops, list) and all(isinstance(loop, str) for loop in loops)):
        faults.append(Fault("must be a list of names", None, "loops", loops))
    constants = data.get("constants") or {}
    if not isinstance(constants, dict) or any(
        isinstance(v, bool) or not isinstance(v, int) for v in constants.values()
    ):
        faults.append(Fault("must map names to integers", None, "constants", constants))
    accesses: dict[str, list[str]] = {}
    matrices: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, value in data["arrays"].items():
        if isinstance(value, list) and all(isinstance(part, (str, int)) for part in value):
            accesses[str(name)] = [str(part) for part in value]
        elif isinstance(value, dict) and set(value) == {"matrix"} and _is_matrix(value["matrix"]) and loops:
            matrices[str(name)] = tuple(tuple(row) for row in value["matrix"])
        else:
            allowed = "a list of subscripts, or {matrix: rows of integers} together with loops"
            faults.append(Fault("not an array access", None, f"arrays.{name}", value, allowed))
    raise_all(faults, InputError)
    if not matrices:
        return _build(accesses, loops, constants)
    parsed = _rows(accesses, list(loops or []), constants)
    return LoopNest(tuple(loops or ()), {name: matrices.get(name) or parsed[name] for name in map(str, data["arrays"])})


def _parse_einsum(text: str) -> LoopNest:
    left, _, right = text.replace(" ", "").partition("->")
    terms = [*left.split(","), right]
    if any(not term.isalpha() for term in terms if term):
        raise InputError(Fault("not an einsum string", None, "nest", text, "such as ik,kj->ij with a named output"))
    names = [f"in{number}" for number in range(1, len(terms))] + ["out"]
    return _build({name: list(term) for name, term in zip(names, terms, strict=True)}, None, {})


def _check_between(text: str, faults: list[Fault]) -> None:
    if not _BETWEEN.fullmatch(text):
        faults.append(Fault("cannot be read as an array access", None, "nest", text.strip(), "NAME[subscript, …]"))


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and all(isinstance(v, int) and not isinstance(v, bool) for v in row) for row in value
    )


def _build(accesses: Mapping[str, list[str]], loops: list[str] | None, constants: Mapping[str, int]) -> LoopNest:
    names = loops if loops is not None else _loop_names(accesses, constants)
    return LoopNest(tuple(names), _rows(accesses, names, constants))


def _loop_names(accesses: Mapping[str, list[str]], constants: Mapping[str, int]) -> list[str]:
    found: dict[str, None] = {}
    for array, parts in accesses.items():
        for part in parts:
            nodes = [node for node in ast.walk(_expression(part, array)) if isinstance(node, ast.Name)]
            for node in sorted(nodes, key=lambda node: node.col_offset):
                if node.id not in constants:
                    found[node.id] = None
    return list(found)


def _rows(
    accesses: Mapping[str, list[str]], loops: list[str], constants: Mapping[str, int]
) -> dict[str, tuple[tuple[int, ...], ...]]:
    faults: list[Fault] = []
    result = {}
    for array, parts in accesses.items():
        rows = []
        for part in parts:
            try:
                form = _affine(_expression(part, array), loops, constants)
            except ValueError as error:
                faults.append(Fault(str(error), None, array, part, "integer coefficients, such as 2*x + r"))
                continue
            rows.append(tuple(form.get(loop, 0) for loop in loops))
        result[array] = tuple(rows)
    raise_all(faults, InputError)
    return result


def _expression(text: str, array: str) -> ast.expr:
    # "2x" is how people write it; Python reads it only with the star.
    spelled = re.sub(r"(\d)\s*(?=[^\W\d])", r"\1*", text.replace("·", "*").replace("−", "-"))
    try:
        return ast.parse(spelled.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise InputError(Fault("not an affine subscript", None, array, text, "such as 2*x + r")) from error


def _affine(node: ast.expr, loops: list[str], constants: Mapping[str, int]) -> dict[str | None, int]:
    """Return coefficients by loop name; the constant part under None."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return {None: value}
        case ast.Name(id=name) if name in loops:
            return {name: 1}
        case ast.Name(id=name) if name in constants:
            return {None: constants[name]}
        case ast.Name(id=name):
            raise ValueError(f"{name!r} is neither a loop nor a constant")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return {key: -value for key, value in _affine(operand, loops, constants).items()}
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _affine(operand, loops, constants)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            sign = 1 if isinstance(operator, ast.Add) else -1
            form = dict(_affine(left, loops, constants))
            for key, value in _affine(right, loops, constants).items():
                form[key] = form.get(key, 0) + sign * value
            return form
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _affine(left, loops, constants), _affine(right, loops, constants)
            if set(first) != {None}:
                first, second = second, first
            if set(first) != {None}:
                raise ValueError("a product of two loop indices is not affine")
            return {key: first[None] * value for key, value in second.items()}
        case _:
            raise ValueError("only sums, differences and integer multiples of loop indices are affine")
