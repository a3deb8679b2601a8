"""The simplex method in exact arithmetic, on right-hand sides that are rational or linear in logarithms.

Logarithms are compared through whole-number powers, so that every pivot, and with it every optimum, is exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from jouleloop.errors import AssumptionError, Fault

_SAFE = 1e-9

Number: TypeAlias = int | Fraction

Form: TypeAlias = tuple[Fraction, ...]
"""A linear form c_0 + Σ c_i β_i in the logarithms β_i = log_M L_i, as (c_0, c_1, …, c_d)."""


@dataclass(frozen=True)
class Scale:
    """What the β_i are: log_M L_i for whole numbers, or given rationals; it orders forms exactly."""

    cache_words: int | None = None
    """M, the base of the logarithms; None where ``exponents`` are given instead."""
    bounds: tuple[int, ...] = ()
    """L_i."""
    exponents: tuple[Fraction, ...] = ()
    """β_i as exact rationals, in place of M and L_i."""

    @cached_property
    def values(self) -> tuple[float, ...]:
        """The logarithms as floats, after a 1."""
        if self.cache_words is None:
            return (1.0, *map(float, self.exponents))
        return (1.0, *(math.log(bound) / math.log(self.cache_words) for bound in self.bounds))

    def value(self, form: Form) -> float:
        """Return the form as a float."""
        return math.fsum(float(coefficient) * value for coefficient, value in zip(form, self.values, strict=True))

    def exact(self, form: Form) -> Fraction:
        """Return the form as a fraction, where the β_i are given as ``exponents``."""
        return sum((c * beta for c, beta in zip(form, (Fraction(1), *self.exponents), strict=True)), start=Fraction(0))

    def sign(self, form: Form) -> int:
        """Return the exact sign of a form: -1, 0 or 1.

        Floats decide where they are far from zero; else M^a ∏ L_i^(b_i) is compared with 1 in whole numbers.
        """
        if not any(form):
            return 0
        if self.cache_words is None:
            exact = self.exact(form)
            return (exact > 0) - (exact < 0)
        rough = self.value(form)
        size = sum(abs(float(c)) * value for c, value in zip(form, self.values, strict=True))
        if abs(rough) > _SAFE * max(1.0, size):
            return 1 if rough > 0 else -1
        above, below, _ = powers(form, (self.cache_words, *self.bounds))
        return (above > below) - (above < below)

    def less(self, first: Form, second: Form) -> bool:
        """Whether ``first`` is strictly less than ``second``, exactly."""
        return self.sign(subtract(first, second)) < 0


@lru_cache(maxsize=4096)
def powers(form: Form, bases: tuple[int, ...]) -> tuple[int, int, int]:
    """Return whole numbers a, b and n such that the product of ``bases`` to the powers of ``form`` is (a/b)^(1/n)."""
    common = math.lcm(*(c.denominator for c in form))
    whole = [(base, int(coefficient * common)) for base, coefficient in zip(bases, form, strict=True)]
    above = math.prod(base**power for base, power in whole if power > 0)
    return above, math.prod(base**-power for base, power in whole if power < 0), common


def constant(value: int | Fraction, loops: int) -> Form:
    """Return the form of a constant."""
    return (Fraction(value), *(Fraction(0),) * loops)


def logarithm(loop: int, loops: int) -> Form:
    """Return the form β_loop."""
    return tuple(Fraction(int(position == loop + 1)) for position in range(loops + 1))


def subtract(first: Form, second: Form) -> Form:
    """Return ``first`` − ``second``."""
    return tuple(a - b for a, b in zip(first, second, strict=True))


class Tableau:
    """A simplex tableau of: maximise c·x over A x <= b, x >= 0, where b >= 0 are linear forms.

    Everything is one array of exact fractions: a row for each constraint, and last the reduced costs; a column for each
    variable, then for the slack of each row, then for each coefficient of the right-hand sides. Bland's rule excludes
    cycling. Without ``costs`` c is 1 for every variable.
    """

    def __init__(
        self,
        matrix: Sequence[Sequence[Number]],
        right: Sequence[Form],
        scale: Scale,
        costs: Sequence[Number] | None = None,
    ) -> None:
        rows, self.variables = len(matrix), len(matrix[0])
        self.columns = self.variables + rows
        self.scale = scale
        slacks = np.eye(rows, dtype=int).tolist()
        body = [[*row, *slack, *form] for row, slack, form in zip(matrix, slacks, right, strict=True)]
        gains = [1] * self.variables if costs is None else costs
        body.append([*gains, *[0] * (rows + len(right[0]))])
        self.table: Any = np.array([[Fraction(value) for value in row] for row in body])
        self.basis = list(range(self.variables, self.columns))

    @property
    def costs(self) -> Sequence[Fraction]:
        """The reduced cost of every column."""
        found: Sequence[Fraction] = self.table[-1, : self.columns]
        return found

    def solve(self) -> None:
        """Pivot until no cost is positive; raise `ArithmeticError` where the program is unbounded."""
        while True:
            entering = next((column for column, cost in enumerate(self.costs) if cost > 0), None)
            if entering is None:
                return
            leaving = self.leaving(entering)
            if not leaving:
                raise ArithmeticError("unbounded linear program")
            self.pivot(min(leaving, key=lambda row: self.basis[row]), entering)

    def leaving(self, entering: int) -> list[int]:
        """Return all rows that reach the least ratio b_r / a_r for this column; none where it is unbounded."""
        best: list[int] = []
        least: Form = ()
        for row, coefficient in enumerate(self.table[:-1, entering]):
            if coefficient <= 0:
                continue
            ratio: Form = tuple(self.table[row, self.columns :] / coefficient)
            order = self.scale.sign(subtract(ratio, least)) if best else -1
            if order < 0:
                best, least = [row], ratio
            elif order == 0:
                best.append(row)
        return best

    def pivot(self, row: int, column: int) -> None:
        """Bring ``column`` into the basis in place of the basic variable of ``row``."""
        table = self.table
        table[row] /= table[row, column]
        others = np.flatnonzero(table[:, column])
        others = others[others != row]
        filled = np.flatnonzero(table[row])
        table[np.ix_(others, filled)] -= np.outer(table[others, column], table[row, filled])
        self.basis[row] = column

    def solution(self) -> tuple[Form, ...]:
        """Return the value of every variable as a form."""
        rows = {variable: row for row, variable in enumerate(self.basis)}
        zero = constant(0, len(self.scale.values) - 1)
        return tuple(
            tuple(self.table[rows[variable], self.columns :]) if variable in rows else zero
            for variable in range(self.variables)
        )

    def duals(self) -> tuple[Fraction, ...]:
        """Return the dual value of every row: minus the reduced cost of its slack."""
        return tuple(-cost for cost in self.costs[self.variables :])


@dataclass(frozen=True)
class ExactOptimum:
    """A primal and a dual solution of equal value, which proves both optimal."""

    value: Fraction
    primal: tuple[Fraction, ...]
    dual: tuple[Fraction, ...]
    """One multiplier per constraint; positive only where the constraint is tight."""


def minimise(
    costs: Sequence[Number], rows: Sequence[Sequence[Number]], right_hand_sides: Sequence[Number]
) -> ExactOptimum:
    """Return the exact optimum of min c·x, A x >= b, x >= 0, with c >= 0.

    The tableau is that of the dual, max b·y with Aᵀ y <= c and y >= 0, whose slack basis is feasible because c >= 0.
    Both solutions are then checked from their definitions.

    Raises `AssumptionError` where no x satisfies the constraints (the dual is unbounded).
    """
    size, count = len(costs), len(rows)
    transposed = [[row[i] for row in rows] for i in range(size)]
    tableau = Tableau(transposed, [constant(cost, 0) for cost in costs], Scale(), right_hand_sides)
    try:
        tableau.solve()
    except ArithmeticError as error:
        raise AssumptionError(Fault("the linear program has no feasible point")) from error
    dual = tuple(form[0] for form in tableau.solution())
    value = sum((b * y for b, y in zip(right_hand_sides, dual, strict=True)), start=Fraction())
    optimum = ExactOptimum(value, tableau.duals(), dual)
    x, y = np.array(optimum.primal, dtype=object), np.array(dual, dtype=object)
    matrix = np.array(rows, dtype=object).reshape(count, size)
    feasible = (x >= 0).all() and (y >= 0).all() and (matrix @ x >= right_hand_sides).all()
    if not (feasible and (y @ matrix <= costs).all() and x @ costs == y @ right_hand_sides == value):
        raise AssertionError("the simplex method returned a solution that is not optimal")
    return optimum


def linprog(cost: Any, **constraints: Any) -> Any:
    """Return what `scipy.optimize.linprog` answers."""
    from scipy.optimize import linprog as solve  # noqa: PLC0415

    return solve(cost, **constraints)
