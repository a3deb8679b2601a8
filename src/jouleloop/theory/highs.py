"""Numerical linear programs by HiGHS; SciPy is slow to import and comes in where one is solved."""

from typing import Any


def linprog(cost: Any, **constraints: Any) -> Any:
    """Return what `scipy.optimize.linprog` answers."""
    from scipy.optimize import linprog as solve  # noqa: PLC0415

    return solve(cost, **constraints)
