"""Small linear programs in exact rational arithmetic: minimise c·x subject to A x >= b, x >= 0, with c >= 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, InputError

Number = int | Fraction


@dataclass(frozen=True)
class ExactOptimum:
    """A primal and a dual solution of equal value, which proves both optimal.

    Attributes
    ----------
    value
        The optimal value, exact.
    primal
        One value per variable.
    dual
        One multiplier per constraint; positive only where the constraint is tight.
    """

    value: Fraction
    primal: tuple[Fraction, ...]
    dual: tuple[Fraction, ...]


def minimise(
    costs: Sequence[Number], rows: Sequence[Sequence[Number]], right_hand_sides: Sequence[Number]
) -> ExactOptimum:
    """Return the exact optimum of min c·x, A x >= b, x >= 0.

    The simplex method with Bland's rule (no cycling) runs on the dual, max b·y with Aᵀ y <= c and y >= 0, whose slack
    basis is feasible because c >= 0. Both solutions are then checked from their definitions.

    Raises
    ------
    InputError
        Where a cost is negative or the shapes disagree.
    AssumptionError
        Where no x satisfies the constraints (the dual is unbounded).
    """
    size, count = len(costs), len(rows)
    if any(cost < 0 for cost in costs):
        raise InputError("costs of the linear program must not be negative")
    if count != len(right_hand_sides) or any(len(row) != size for row in rows):
        raise InputError("rows, right-hand sides and costs of the linear program disagree in number")
    # One tableau row per primal variable: [Aᵀ | I | c]; columns are the dual variables, then the slacks.
    tableau = [
        [Fraction(rows[j][i]) for j in range(count)]
        + [Fraction(int(i == k)) for k in range(size)]
        + [Fraction(costs[i])]
        for i in range(size)
    ]
    objective = [Fraction(-b) for b in right_hand_sides] + [Fraction(0)] * (size + 1)
    basis = [count + i for i in range(size)]
    while True:
        column = next((j for j in range(count + size) if objective[j] < 0), None)
        if column is None:
            break
        ratios = [(row[-1] / row[column], basis[i], i) for i, row in enumerate(tableau) if row[column] > 0]
        if not ratios:
            raise AssumptionError(Fault("the linear program has no feasible point"))
        _, _, leaving = min(ratios)
        _pivot(tableau, objective, leaving, column)
        basis[leaving] = column
    dual = [Fraction(0)] * count
    for i, variable in enumerate(basis):
        if variable < count:
            dual[variable] = tableau[i][-1]
    primal = tuple(objective[count : count + size])
    optimum = ExactOptimum(objective[-1], primal, tuple(dual))
    verify(optimum, costs, rows, right_hand_sides)
    return optimum


def verify(
    optimum: ExactOptimum,
    costs: Sequence[Number],
    rows: Sequence[Sequence[Number]],
    right_hand_sides: Sequence[Number],
) -> None:
    """Check feasibility of both solutions and equality of both values; raise `AssertionError` where one fails."""
    primal, dual = optimum.primal, optimum.dual
    checks = (
        all(x >= 0 for x in primal) and all(y >= 0 for y in dual),
        all(
            sum(a * x for a, x in zip(row, primal, strict=True)) >= b
            for row, b in zip(rows, right_hand_sides, strict=True)
        ),
        all(sum(dual[j] * rows[j][i] for j in range(len(rows))) <= cost for i, cost in enumerate(costs)),
        sum(c * x for c, x in zip(costs, primal, strict=True)) == optimum.value,
        sum(b * y for b, y in zip(right_hand_sides, dual, strict=True)) == optimum.value,
    )
    if not all(checks):
        raise AssertionError("the simplex method returned a solution that is not optimal")


def _pivot(tableau: list[list[Fraction]], objective: list[Fraction], row: int, column: int) -> None:
    divisor = tableau[row][column]
    tableau[row] = [value / divisor for value in tableau[row]]
    for other in range(len(tableau)):
        factor = tableau[other][column]
        if other != row and factor:
            tableau[other] = [value - factor * pivot for value, pivot in zip(tableau[other], tableau[row], strict=True)]
    factor = objective[column]
    objective[:] = [value - factor * pivot for value, pivot in zip(objective, tableau[row], strict=True)]
