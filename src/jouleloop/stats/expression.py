"""A sweep's variable as an arithmetic expression over the columns of the table, such as ``C*M`` or ``1/w_stride``."""

import ast
import operator
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.expressions import ExpressionError, Language, evaluate
from jouleloop.stats.regression import FloatArray


class VariableTable(Protocol):
    """What a variable is evaluated on: a table of pandas, or anything with columns that become arrays."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""

    def __getitem__(self, name: str, /) -> Any: ...

    def __len__(self) -> int: ...


_SYMBOLS = {"n": "C", "m": "M"}
_LONGEST = 200
_GREATEST_POWER = 8


def evaluate_variable(expression: str, table: VariableTable, *, field: str = "variable") -> FloatArray:
    """Return the value of ``expression`` for every row of ``table``, shape (rows,).

    Numbers, column names, the papers' ``n`` (inputs, C), ``m`` (outputs, M) and ``mn``, parentheses and ``+ - * / **``
    are allowed, nothing else; no code is executed.

    Raises `InputError` for anything else, an unknown column (with the nearest one), or a column that holds no numbers.
    """
    if len(expression) > _LONGEST:
        raise InputError(Fault("the expression is too long", field=field, allowed=f"{_LONGEST} characters"))
    try:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = evaluate(expression, lambda name: _column(name, table, field), _COLUMNS)
    except ExpressionError as error:
        if not error.part:
            raise InputError(Fault("not an arithmetic expression", field=field, value=expression)) from error
        allowed = "column names, numbers, parentheses and + - * / **"
        if error.part == _POWER:
            raise InputError(Fault(str(error), field=field, allowed=f"up to {_GREATEST_POWER}")) from error
        fault = Fault("not allowed in the expression of a variable", field=field, value=error.part, allowed=allowed)
        raise InputError(fault) from error
    return np.broadcast_to(value, (len(table),)).astype(np.float64)


_POWER = "**"


def _power(base: FloatArray, exponent: FloatArray) -> FloatArray:
    if exponent.ndim or abs(float(exponent)) > _GREATEST_POWER:
        raise ExpressionError("a power must be a small number", _POWER)
    return np.asarray(base**exponent)


def _number(value: Any) -> FloatArray:
    if type(value) not in (int, float):
        raise ExpressionError("only numbers", repr(value))
    return np.asarray(value, dtype=np.float64)


#: Arithmetic over columns; a number is an array of no dimensions.
_COLUMNS = Language(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.Pow: _power,
    },
    {ast.USub: operator.neg},
    _number,
)


def _column(name: str, table: VariableTable, field: str) -> FloatArray:
    if name not in table.columns:
        if name == "mn":
            return np.asarray(_column("n", table, field) * _column("m", table, field))
        if _SYMBOLS.get(name) in table.columns:
            name = _SYMBOLS[name]
        else:
            raise InputError(unknown(name, (str(c) for c in table.columns), "column", field=field))
    try:
        return np.asarray(table[name].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InputError(Fault(f"column {name!r} holds no numbers", field=field)) from error
