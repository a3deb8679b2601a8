"""Arithmetic in architecture attributes, evaluated without running Python: a small expression language of its own."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_LENGTH = 2000
MAX_BITS = 4096
MAX_ITEMS = 100_000


class ExpressionError(ValueError):
    """An expression cannot be evaluated; the text says why."""


class UnknownName(ExpressionError):  # noqa: N818 - a special case of the error above
    """An expression uses a name that stands for nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown name {name!r}")
        self.name = name


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent * max(base.bit_length(), 1) > MAX_BITS:
        raise ExpressionError("the power is too large")
    return base**exponent


def _multiply(left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        raise ExpressionError("only numbers can be multiplied")
    return left * right


def _modulo(left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)):  # for a text it would be formatting
        raise ExpressionError("only numbers have a remainder")
    return left % right


def _product(values: Any, start: Any = 1) -> Any:
    for value in values:
        start = _bounded(_multiply(start, value))
    return start


def _round(value: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > 400:
        raise ExpressionError("so many digits cannot be rounded to")
    return round(value, digits)


def _range(*bounds: int) -> list[int]:
    values = range(*bounds)
    if len(values) > MAX_ITEMS:
        raise ExpressionError("the range is too long")
    return list(values)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(math, name)
        for name in ("ceil", "floor", "trunc", "gcd", "isqrt", "sqrt", "exp", "log2", "log10", "log", "log1p")
    },
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "pow": _power,
    "prod": _product,
    "range": _range,
    "round": _round,
    "str": str,
    "sum": sum,
}
_CONSTANTS: dict[str, Any] = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}

#: Names of the functions that expressions may call.
FUNCTIONS = tuple(sorted(_FUNCTIONS))


def is_expression(text: str) -> bool:
    """Whether ``text`` is an expression in form; its names may still be unknown."""
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def evaluate(text: str, names: Callable[[str], Any] | Mapping[str, Any]) -> Any:
    """Return the value of an arithmetic expression.

    Parameters
    ----------
    text
        Python-like expression: numbers, strings, ``+ - * / // % **``, comparisons, ``a if b else c``, subscripts,
        ``node.attributes["key"]`` and calls of `FUNCTIONS`.
    names
        Value by name; a function raises `UnknownName` for a name it does not know.

    Raises
    ------
    ExpressionError
        Where the text is no such expression, uses an unknown name or has no value.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("not an expression") from error

    def lookup(name: str) -> Any:
        try:
            return names(name) if callable(names) else names[name]
        except (KeyError, UnknownName) as error:
            if name in _CONSTANTS:
                return _CONSTANTS[name]
            if isinstance(error, UnknownName):
                raise
            raise UnknownName(name) from error

    try:
        return _value(tree.body, lookup)
    except ExpressionError:
        raise
    except RecursionError as error:
        raise ExpressionError("nested too deeply, or defined by itself") from error
    except (ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise ExpressionError(f"has no value: {error}") from error


def _value(node: ast.expr, lookup: Callable[[str], Any]) -> Any:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, (int, float, str)):
            return value
        case ast.Name(id=name):
            return lookup(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left, lookup), _value(right, lookup)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, lookup))
        case ast.BoolOp(op=ast.And(), values=values):
            result: Any = True
            for child in values:
                result = _value(child, lookup)
                if not result:
                    break
            return result
        case ast.BoolOp(values=values):
            result = False
            for child in values:
                result = _value(child, lookup)
                if result:
                    break
            return result
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            current = _value(left, lookup)
            for relation, child in zip(ops, comparators, strict=True):
                following = _value(child, lookup)
                if not _COMPARE[type(relation)](current, following):
                    return False
                current = following
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, lookup) else orelse, lookup)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, lookup) for item in items]
        case ast.Subscript(value=container, slice=index):
            return _value(container, lookup)[_value(index, lookup)]
        case ast.Attribute(value=container, attr=name):
            holder = _value(container, lookup)
            if not isinstance(holder, Mapping) or name not in holder:
                raise ExpressionError(f"nothing is called {name!r} there")
            return holder[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(argument, lookup) for argument in args)))
        case ast.Call(func=ast.Name(id=name)):
            raise UnknownName(name)
    raise ExpressionError(f"{type(node).__name__} is not allowed")


def _bounded(value: Any) -> Any:
    if isinstance(value, complex):
        raise ExpressionError("the value is no real number")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError("the value is too large")
    if isinstance(value, str) and len(value) > MAX_LENGTH:
        raise ExpressionError("the text is too long")
    return value
