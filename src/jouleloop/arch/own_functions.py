"""Functions that a design brings in Python files of its own, read as far as they are expressions; no Python is run."""

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError
from jouleloop.expressions import FULL, ExpressionError, Function, Language, evaluate
from jouleloop.files import read_text

_FIELD = "globals.expression_custom_functions"
#: Calls of a design's own functions while it is read.
MAX_CALLS = 10_000


class NoValueError(ExpressionError):
    """An expression has no value here, because a function of the design has none."""


def read_functions(paths: Iterable[Path]) -> dict[str, Function]:
    """Return the functions of Python files by name: those of one ``return`` are evaluated, others have no value.

    Raises `InputError` where a file is missing or is no Python.
    """
    found: dict[str, Function] = {}
    calls = itertools.count()
    for path in paths:
        try:
            tree = ast.parse(read_text(path))
        except InputError as error:
            said = [Fault(fault.message, None, _FIELD, str(path)) for fault in error.faults]
            raise InputError(said) from error
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InputError(Fault("is no file with Python functions", None, _FIELD, str(path))) from error
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = Function(node.name, _call_of(node, path.name, found, calls))
    return found


def _call_of(node: ast.FunctionDef, file: str, known: dict[str, Function], calls: Iterator[int]) -> Callable[..., Any]:
    body = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
    given = node.args
    plain = not (given.vararg or given.kwarg or given.kwonlyargs or node.decorator_list)
    if plain and len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        names = [one.arg for one in (*given.posonlyargs, *given.args)]
        defaults = dict(zip(reversed(names), map(ast.unparse, reversed(given.defaults)), strict=False))
        return partial(_evaluated, node.name, names, defaults, ast.unparse(body[0].value), known, calls)
    return partial(_without_value, node.name, file)


def _without_value(name: str, file: str, *_args: Any, **_named: Any) -> Any:
    raise NoValueError(f"calls {name} of {file}, and a design may bring no code of its own but functions of one return")


def _evaluated(
    name: str,
    parameters: list[str],
    defaults: dict[str, str],
    text: str,
    known: dict[str, Function],
    calls: Iterator[int],
    *args: Any,
    **named: Any,
) -> Any:
    if next(calls) >= MAX_CALLS:
        raise ExpressionError(f"more than {MAX_CALLS} calls of functions of the design")
    bound = dict(zip(parameters, args, strict=False)) | named
    bound = {key: evaluate(default, {}) for key, default in defaults.items()} | bound
    if len(args) > len(parameters) or set(bound) != set(parameters):
        raise ExpressionError(f"{name} takes {', '.join(parameters)}")
    return evaluate(text, {**known, **bound})


def language_of(functions: dict[str, Function]) -> Language:
    """Return the language of attributes with more functions, which stand for values, too."""
    return Language(
        FULL.binary,
        FULL.unary,
        functions=FULL.functions,
        constants={**FULL.constants, **functions},
        structured=True,
    )
