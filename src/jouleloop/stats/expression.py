"""A sweep's variable as an arithmetic expression over the columns of the table, such as ``C*M`` or ``1/w_stride``."""

import ast
import operator
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError, unknown
from jouleloop.stats.regression import FloatArray

_BINARY: Mapping[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SYMBOLS = {"n": "C", "m": "M"}
_LONGEST = 200
_GREATEST_POWER = 8


def evaluate_variable(expression: str, table: pd.DataFrame, *, field: str = "variable") -> FloatArray:
    """Return the value of ``expression`` for every row of ``table``, shape (rows,).

    Numbers, column names, the papers' ``n`` (inputs, C), ``m`` (outputs, M) and ``mn``, parentheses and ``+ - * / **``
    are allowed, nothing else; no code is executed.

    Raises
    ------
    InputError
        For anything else, an unknown column (with the nearest one), or a column that holds no numbers.
    """
    if len(expression) > _LONGEST:
        raise InputError(Fault("the expression is too long", field=field, allowed=f"{_LONGEST} characters"))
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(Fault("not an arithmetic expression", field=field, value=expression)) from error
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.broadcast_to(_value(tree.body, table, field), (len(table),)).astype(np.float64)


def _value(node: ast.expr, table: pd.DataFrame, field: str) -> FloatArray:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return np.asarray(node.value, dtype=np.float64)
    if isinstance(node, ast.Name):
        return _column(node.id, table, field)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return np.asarray(-_value(node.operand, table, field))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left, table, field), _value(node.right, table, field)
        if isinstance(node.op, ast.Pow) and (right.ndim or abs(float(right)) > _GREATEST_POWER):
            raise InputError(Fault("a power must be a small number", field=field, allowed=f"up to {_GREATEST_POWER}"))
        return np.asarray(_BINARY[type(node.op)](left, right))
    raise InputError(
        Fault(
            "not allowed in the expression of a variable",
            field=field,
            value=ast.unparse(node),
            allowed="column names, numbers, parentheses and + - * / **",
        )
    )


def _column(name: str, table: pd.DataFrame, field: str) -> FloatArray:
    if name not in table.columns:
        if name == "mn":
            return np.asarray(_column("n", table, field) * _column("m", table, field))
        if _SYMBOLS.get(name) in table.columns:
            name = _SYMBOLS[name]
        else:
            raise InputError(unknown(name, (str(c) for c in table.columns), "column", field=field))
    try:
        return table[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(Fault(f"column {name!r} holds no numbers", field=field)) from error
