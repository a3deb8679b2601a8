"""Arithmetic that users write, evaluated without running Python: one small expression language, or a part of it.

Attributes of architectures are in all of it. A sweep's variable is in a part, over columns instead of numbers; see
`Language`.
"""

import ast
import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_LENGTH = 2000
MAX_BITS = 4096
MAX_ITEMS = 100_000
#: What all expressions under one budget may make together: one unit a step, a character that is parsed, an item of a
#: list, and 64 bits of a number. The largest design known, with arrays whose histograms are lists, takes 2 %.
MAX_WORK = 1_000_000


class ExpressionError(ValueError):
    """An expression cannot be evaluated; the text says why, ``part`` where, if only a part of it is to blame."""

    def __init__(self, message: str, part: str = "") -> None:
        super().__init__(message)
        self.part = part


class UnknownName(ExpressionError):  # noqa: N818 - a special case of the error above
    """An expression uses a name that stands for nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown name {name!r}")
        self.name = name


class _Budget:
    """What the expressions of one design have made so far."""

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, units: int) -> None:
        """Count some units; raise `ExpressionError` where there are too many."""
        self.spent += units
        if self.spent > MAX_WORK:
            raise ExpressionError(f"the expressions together take more than {MAX_WORK} steps and items")


_BUDGET: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextlib.contextmanager
def one_budget() -> Iterator[_Budget]:
    """Let all expressions that are evaluated inside share one budget: the one around it, or a new one."""
    around = _BUDGET.get()
    budget = around or _Budget()
    token = _BUDGET.set(budget)
    try:
        yield budget
    finally:
        _BUDGET.reset(token)


def _size(value: Any) -> int:
    """Return how many items a value holds, an item as often as it stands there; more than `MAX_ITEMS` are refused."""
    if isinstance(value, int):
        return 1 + value.bit_length() // 64
    if not isinstance(value, list):
        return 1
    items = len(value)
    for child in value:
        if isinstance(child, list):
            items += _size(child)
        if items > MAX_ITEMS:
            raise ExpressionError(f"a list of more than {MAX_ITEMS} items")
    return 1 + items


def power(base: Any, exponent: Any) -> Any:
    """Return a power that is not too large."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent * max(base.bit_length(), 1) > MAX_BITS:
        raise ExpressionError("the power is too large")
    return base**exponent


def multiply(left: Any, right: Any) -> Any:
    """Return a product of numbers; a text times a number would be a long text."""
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        raise ExpressionError("only numbers can be multiplied")
    return left * right


def _times(left: Any, right: Any) -> Any:
    """Return a product of numbers, or a short list of numbers repeated."""
    short = isinstance(left, list) and isinstance(right, int) and len(left) * right <= MAX_ITEMS
    if short and all(isinstance(item, (int, float)) for item in left):
        return left * right
    return multiply(left, right)


def _modulo(left: Any, right: Any) -> Any:
    if not isinstance(left, (int, float)):  # for a text it would be formatting
        raise ExpressionError("only numbers have a remainder")
    return left % right


def _product(values: Any, start: Any = 1) -> Any:
    for value in values:
        start = _bounded(multiply(start, value))
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


def _counted(count: Callable[..., int]) -> Callable[..., int]:
    """Return a function of few whole numbers whose value may be huge, kept within bounds."""

    def within(*numbers: int) -> int:
        if any(abs(number) > MAX_BITS // 8 for number in numbers):
            raise ExpressionError("the number is too large")
        return count(*numbers)

    return within


#: Functions of real numbers that stand for themselves, as in Accelergy ``parsing_utils.py``.
_REAL = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "copysign", "cos", "cosh", "degrees", "erf", "erfc"),
    *("expm1", "fabs", "fmod", "fsum", "gamma", "hypot", "isclose", "isfinite", "isinf", "isnan", "lgamma", "radians"),
    *("remainder", "sin", "sinh", "tan", "tanh"),
)

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: power,
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
        for name in ("ceil", "floor", "trunc", "gcd", "isqrt", "sqrt", "exp", "log2", "log10", "log", "log1p", *_REAL)
    },
    **{name: _counted(getattr(math, name)) for name in ("comb", "factorial", "perm")},
    "abs": abs,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "pow": power,
    "prod": _product,
    "range": _range,
    "round": _round,
    "str": str,
    "sum": sum,
    "tuple": list,
}
_CONSTANTS: dict[str, Any] = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Function:
    """What an expression may call by a name that stands for it, with keywords too."""

    name: str
    call: Callable[..., Any]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Language:
    """What an expression may hold."""

    binary: Mapping[type[ast.operator], Callable[[Any, Any], Any]]
    unary: Mapping[type[ast.unaryop], Callable[[Any], Any]]
    """The operators, with what they do."""
    literal: Callable[[Any], Any] = lambda value: value
    """Makes a value of a number or text that is written out; raises `ExpressionError` for what it does not take."""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    """By name."""
    structured: bool = False
    """Whether there are comparisons, conditions, lists, subscripts and attributes."""


#: All there is: the language of attributes.
FULL = Language(_BINARY, _UNARY, functions=_FUNCTIONS, constants=_CONSTANTS, structured=True)


def is_expression(text: str) -> bool:
    """Whether ``text`` is an expression in form; its names may still be unknown."""
    try:
        ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def evaluate(text: str, names: Callable[[str], Any] | Mapping[str, Any], language: Language = FULL) -> Any:
    """Return the value of an arithmetic expression.

    Raises `ExpressionError` where the text is no such expression, uses an unknown name or has no value.

    Parameters
    ----------
    text
        Python-like expression: numbers, strings, ``+ - * / // % **``, comparisons, ``a if b else c``, subscripts,
        ``node.attributes["key"]`` and calls of `_FUNCTIONS`.
    names
        Value by name; a function raises `UnknownName` for a name it does not know.
    language
        What the expression may hold.
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
            if name in language.constants:
                return language.constants[name]
            if isinstance(error, UnknownName):
                raise
            raise UnknownName(name) from error

    try:
        with one_budget() as budget:
            budget.spend(len(text))
            return _value(tree.body, lookup, language, budget)
    except ExpressionError:
        raise
    except RecursionError as error:
        raise ExpressionError("nested too deeply, or defined by itself") from error
    except (ArithmeticError, TypeError, ValueError, LookupError) as error:
        raise ExpressionError(f"has no value: {error}") from error


def _value(node: ast.expr, lookup: Callable[[str], Any], language: Language, budget: _Budget) -> Any:
    found = _unpaid(node, lambda child: _value(child, lookup, language, budget), lookup, language)
    budget.spend(_size(found))
    return found


def _unpaid(node: ast.expr, value: Callable[[ast.expr], Any], lookup: Callable[[str], Any], language: Language) -> Any:
    match node:
        case ast.Constant(value=constant) if constant is None or isinstance(constant, (int, float, str)):
            return language.literal(constant)
        case ast.Name(id=name):
            return lookup(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in language.binary:
            return _bounded(language.binary[type(op)](value(left), value(right)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in language.unary:
            return language.unary[type(op)](value(operand))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in language.functions:
            return _bounded(language.functions[name](*map(value, args)))
        case ast.Call(func=ast.Name(id=name)) if language.functions and not language.structured:
            raise UnknownName(name)
    if language.structured:
        return _structured(node, value)
    raise _not_allowed(node)


def _not_allowed(node: ast.expr) -> ExpressionError:
    return ExpressionError(f"{type(node).__name__} is not allowed", ast.unparse(node))


def _structured(node: ast.expr, value: Callable[[ast.expr], Any]) -> Any:
    """Return the value of what decides or contains."""
    match node:
        case ast.BoolOp(op=op, values=values):
            ends_with = isinstance(op, ast.Or)
            result: Any = not ends_with
            for child in values:
                result = value(child)
                if bool(result) == ends_with:
                    break
            return result
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            current = value(left)
            for relation, child in zip(ops, comparators, strict=True):
                following = value(child)
                if not _COMPARE[type(relation)](current, following):
                    return False
                current = following
            return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return value(body if value(test) else orelse)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return list(map(value, items))
        case ast.Subscript(value=container, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            return value(container)[slice(*(None if part is None else value(part) for part in (lower, upper, step)))]
        case ast.Subscript(value=container, slice=index):
            return value(container)[value(index)]
        case ast.JoinedStr(values=parts):
            return _bounded("".join(str(value(part)) for part in parts))
        case ast.FormattedValue(value=part, conversion=-1, format_spec=None):
            return value(part)
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key, *default], keywords=[]):
            return _get(value(holder), value(key), *map(value, default))
        case ast.Call(func=called, args=args, keywords=named):
            return _call(value(called), list(map(value, args)), {str(one.arg): value(one.value) for one in named})
        case ast.Attribute(value=container, attr=name):
            holder = value(container)
            if not isinstance(holder, Mapping) or name not in holder:
                raise ExpressionError(f"nothing is called {name!r} there")
            return holder[name]
    raise _not_allowed(node)


def _get(holder: Any, key: Any, default: Any = None) -> Any:
    if not isinstance(holder, Mapping):
        raise ExpressionError("only of a mapping something is got")
    return holder.get(key, default)


def _call(called: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if not isinstance(called, Function):
        raise ExpressionError("only functions can be called")
    return _bounded(called.call(*args, **named))


def _bounded(value: Any) -> Any:
    if isinstance(value, complex):
        raise ExpressionError("the value is no real number")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError("the value is too large")
    if isinstance(value, str) and len(value) > MAX_LENGTH:
        raise ExpressionError("the text is too long")
    return value
