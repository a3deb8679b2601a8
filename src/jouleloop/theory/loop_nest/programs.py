"""The linear programs of paper 004, solved exactly: tile exponents, their duals and the face of all optimal tiles."""

from collections import deque
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.simplex import ExactOptimum, Form, Scale, Tableau, constant, logarithm, minimise

_FACE_BASES = 300


@dataclass(frozen=True)
class TileSolution:
    """Solution of the tile LP (5.1) and of its dual (5.5)–(5.6), with forms in the log-bounds β_i."""

    scale: Scale
    """What the β_i are."""
    exponent: Form
    """The optimum as a form; `Scale.value` makes it a number."""
    tile_exponents: tuple[Form, ...]
    """λ_i as forms: one optimal tile."""
    array_weights: tuple[Fraction, ...]
    """s_j, the dual values of the cache constraints."""
    loop_weights: tuple[Fraction, ...]
    """ζ_i, the dual values of λ_i <= β_i."""
    family: tuple[tuple[Form, ...], ...]
    """The vertices of the face of all optimal tiles; every convex combination is optimal too."""
    family_complete: bool
    """Whether the vertices were enumerated to the end."""


def hbl(nest: LoopNest) -> ExactOptimum:
    """Solve LP (3.2) and its dual (3.3) exactly: loops so long that no bound matters.

    The value is k_HBL = Σ s_j = Σ λ_i; the primal solution are the s_j, one an array, and the dual one the λ_i =
    log_M b_i, one a loop. Source: 004 eqs. (3.2), (3.3).
    """
    covers = [[int(array in nest.users(loop)) for array in range(len(nest.arrays))] for loop in range(len(nest.loops))]
    return minimise([1] * len(nest.arrays), covers, [1] * len(nest.loops))


def tile_at(nest: LoopNest, scale: Scale, *, bases: int = _FACE_BASES) -> TileSolution:
    """Solve the tile LP (5.1) and its dual (5.5)–(5.6) for the log-bounds of ``scale``, exactly.

    Source: 004 eqs. (5.1), (5.5), (5.6), Theorem 3.

    The family of optimal tiles is enumerated over at most ``bases`` bases of the simplex method; with 1, the family is
    the one tile that was found.
    """
    loops, arrays = len(nest.loops), len(nest.arrays)
    units = [[int(row == column) for column in range(loops)] for row in range(loops)]
    right = [constant(1, loops)] * arrays + [logarithm(loop, loops) for loop in range(loops)]
    within = [[int(loop in support) for loop in range(loops)] for support in nest.supports]
    tableau = Tableau(within + units, right, scale)
    tableau.solve()
    duals = tableau.duals()
    weights, zeta = duals[:arrays], duals[arrays:]
    _certify(nest, weights, zeta)
    exponent = (sum(weights, start=Fraction(0)), *zeta)  # 004 eq. (5.5)
    sides = tableau.solution()
    total = tuple(sum(terms, start=Fraction(0)) for terms in zip(*sides, strict=True))
    if scale.less(total, exponent) or scale.less(exponent, total):
        raise ArithmeticError("LP (5.1) and its dual (5.5)–(5.6) disagree")
    family, complete = _optimal_face(tableau, bases)
    return TileSolution(scale, exponent, sides, weights, zeta, family, complete)


def _certify(nest: LoopNest, weights: tuple[Fraction, ...], zeta: tuple[Fraction, ...]) -> None:
    """Check that (s, ζ) satisfies (5.6), which makes its objective an upper bound on every tile."""
    feasible = min((*weights, *zeta)) >= 0 and all(
        zeta[loop] + sum(weights[array] for array in nest.users(loop)) >= 1 for loop in range(len(nest.loops))
    )
    if not feasible:
        raise ArithmeticError("infeasible dual solution")


def _optimal_face(optimum: Tableau, bases: int) -> tuple[tuple[tuple[Form, ...], ...], bool]:
    """Return the vertices of the optimal face and whether they are all.

    By complementary slackness an optimal tile is a feasible one in which every column of negative reduced cost is
    zero. So the other columns only may enter the basis; all bases reachable that way are visited, breadth first.
    """
    free = [column for column in range(optimum.columns) if optimum.costs[column] == 0]
    seen = {frozenset(optimum.basis)}
    waiting = deque([optimum])
    vertices: dict[tuple[float, ...], tuple[Form, ...]] = {}
    while waiting:
        tableau = waiting.popleft()
        point = tableau.solution()
        # Several bases may meet in one vertex; vertices of these small polytopes lie far apart.
        vertices.setdefault(tuple(round(tableau.scale.value(side), 9) + 0.0 for side in point), point)
        for column in free:
            if column in tableau.basis:
                continue
            for row in tableau.leaving(column):
                basis = frozenset((set(tableau.basis) - {tableau.basis[row]}) | {column})
                if basis in seen:
                    continue
                if len(seen) >= bases:
                    return tuple(vertices.values()), False
                seen.add(basis)
                neighbour = deepcopy(tableau)
                neighbour.pivot(row, column)
                waiting.append(neighbour)
    return tuple(vertices.values()), True
