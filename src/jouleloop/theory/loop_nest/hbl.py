"""Hölder–Brascamp–Lieb exponents of any affine loop nest, exactly: 001 Theorem 2.4 and Proposition 2.5.

Proposition 2.5 as printed lets only the lattice of the kernels be checked; here the whole space is too (errata).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.loop_nest.hbl_lattice import (
    Subspace,
    certify,
    coordinate_subspace,
    generate_lattice,
    independent_axes,
    kernel,
    restrict,
)
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.simplex import ExactOptimum, Number, minimise

LATTICE_LIMIT = 128
SOURCE = "001 Theorem 2.4"


@dataclass(frozen=True)
class RankConstraint:
    """One row of the table of 001 §3.1: rank(H) <= Σ_j s_j rank(φ_j(H))."""

    name: str
    """Such as ``C4,3``: third subgroup of the fourth independent family, generators before what they generate."""
    subgroup: Subspace
    """H, as its span."""
    rank: int
    image_ranks: tuple[int, ...]
    """rank(φ_j(H)) in the order of the arrays."""


@dataclass(frozen=True)
class HblResult:
    """Exponents that minimise Σ s_j, with everything that proves them."""

    nest: LoopNest
    constraints: tuple[RankConstraint, ...]
    exponents: Mapping[str, Fraction]
    """Array → s_j: of all optimal solutions one whose largest exponent is smallest."""
    ranges: Mapping[str, tuple[Fraction, Fraction]]
    """Array → least and greatest s_j among the optimal solutions."""
    total: Fraction
    multipliers: tuple[Fraction, ...]
    """The optimal dual: one multiplier per distinct constraint, then one per upper bound s_j <= 1."""
    complete: bool
    """Whether the exponents are proven to satisfy every constraint; where not, ``total`` is only a lower bound of the
    true Σ s_j."""
    closed: bool
    """Whether every lattice was closed within the limit; where not, ``ranges`` are those of the constraints found and
    the exponents are a vertex that `jouleloop.theory.loop_nest.hbl_lattice` proved, if ``complete``."""

    @property
    def distinct(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The distinct inequalities as (rank, image ranks)."""
        return tuple(dict.fromkeys((row.rank, row.image_ranks) for row in self.constraints))

    def constraint_records(self) -> list[dict[str, int | str]]:
        """Return the table of 001 §3.1: one record per subgroup with its ranks and inequality."""
        names = list(self.nest.arrays)
        records = []
        for row in self.constraints:
            terms = [
                f"s_{name}" if rank == 1 else f"{rank} s_{name}"
                for name, rank in zip(names, row.image_ranks, strict=True)
                if rank
            ]
            record: dict[str, int | str] = {"H": row.name, "basis": self.nest.describe(row.subgroup), "rank": row.rank}
            record |= {f"rank of φ_{name}(H)": rank for name, rank in zip(names, row.image_ranks, strict=True)}
            records.append(record | {"constraint": f"{row.rank} <= {' + '.join(terms)}"})
        return records

    def bounds(self) -> tuple[Bound, ...]:
        """Return the exponents as records for printing."""
        closed = Assumption(
            "every rank constraint holds (lattice of the kernels closed, or proven by splitting)", self.complete
        )
        result = [
            Bound(f"exponent_{name}", SOURCE, value, "1", (closed,), self._range_note(name))
            for name, value in self.exponents.items()
        ]
        note = f"{len(self.constraints)} constraints, {len(self.distinct)} distinct"
        result.append(Bound("exponent_sum", f"{SOURCE}, Proposition 2.5", self.total, "1", (closed,), note))
        note = "words moved = Ω(G · M^memory_exponent) for G updates and M words of fast memory"
        return (*result, Bound("memory_exponent", "001 §2.3", 1 - self.total, "1", (closed,), note))

    def _range_note(self, name: str) -> str:
        low, high = self.ranges[name]
        if not self.closed:
            return "one optimal solution; the lattice of the kernels was cut off"
        return "the only optimal value" if low == high else f"any optimal solution has it in [{low}, {high}]"


def hbl_exponents(nest: LoopNest, *, lattice_limit: int = LATTICE_LIMIT) -> HblResult:
    """Return the exponents of 001 Theorem 2.4 with the least sum, in exact arithmetic.

    The axes are split into independent families (001 §2.3); in each the lattice that the kernels generate is closed.
    Where it does not close within ``lattice_limit`` subgroups a family, violated constraints are added until a proof
    for all subgroups succeeds. The whole space of a family is always among the constraints.
    """
    size = len(nest.loops)
    kernels = [kernel(matrix, size) for matrix in nest.arrays.values()]
    groups = independent_axes(kernels, size)
    constraints: list[RankConstraint] = []
    unclosed: list[Subspace] = []
    for number, axes in enumerate(groups, start=1):
        parts = [restrict(subspace, axes) for subspace in _by_first_axis(kernels, axes)]
        elements, closed = generate_lattice(parts, lattice_limit)
        space = coordinate_subspace(axes, size)
        if not closed:
            unclosed.append(space)
        if space not in elements:
            elements = (*elements, space)
        constraints += [_constraint(nest, f"C{number},{k}", element) for k, element in enumerate(elements, start=1)]
    optimum, balanced, ranges = _solve(constraints, len(nest.arrays))
    complete = not unclosed
    while unclosed:
        # A vertex of the relaxed program is optimal as soon as it is proven to satisfy all constraints.
        chosen = dict(zip(nest.arrays, optimum.primal, strict=True))
        verdicts = [certify(nest.arrays, chosen, space) for space in unclosed]
        violated = [verdict.violated for verdict in verdicts if verdict.violated is not None]
        if not violated:
            complete = all(verdict.proven for verdict in verdicts)
            balanced = optimum.primal
            break
        constraints += [_constraint(nest, f"X{len(constraints) + k}", found) for k, found in enumerate(violated)]
        optimum, balanced, ranges = _solve(constraints, len(nest.arrays))
    return HblResult(
        nest,
        tuple(constraints),
        dict(zip(nest.arrays, balanced, strict=True)),
        dict(zip(nest.arrays, ranges, strict=True)),
        optimum.value,
        optimum.dual,
        complete,
        not unclosed,
    )


def _constraint(nest: LoopNest, name: str, subgroup: Subspace) -> RankConstraint:
    ranks = tuple(subgroup.image_rank(matrix) for matrix in nest.arrays.values())
    return RankConstraint(name, subgroup, subgroup.rank, ranks)


def _by_first_axis(kernels: Sequence[Subspace], axes: Sequence[int]) -> list[Subspace]:
    """Order the kernels so that subgroups along early loops come first, as the table of 001 §3.1 does."""

    def key(subspace: Subspace) -> tuple[int, tuple[tuple[int, ...], ...]]:
        part = restrict(subspace, axes)
        return sum(bool(value) for row in part.rows for value in row), tuple(
            tuple(-abs(value) for value in row) for row in part.rows
        )

    return sorted(kernels, key=key)


def _solve(
    constraints: Sequence[RankConstraint], count: int
) -> tuple[ExactOptimum, tuple[Fraction, ...], list[tuple[Fraction, Fraction]]]:
    """Minimise Σ s, then the largest s among the minimisers, then each s and each Σ − s."""
    distinct = dict.fromkeys((row.rank, row.image_ranks) for row in constraints)
    units = [[int(i == j) for i in range(count)] for j in range(count)]
    rows = [*(list(images) for _, images in distinct), *([-value for value in unit] for unit in units)]
    rights = [*(rank for rank, _ in distinct), *[-1] * count]
    optimum = minimise([1] * count, rows, rights)
    face = [*rows, [-1] * count]
    levels: list[Number] = [*rights, -optimum.value]
    with_largest = [*([*row, 0] for row in face), *([-value for value in unit] + [1] for unit in units)]
    balanced = minimise([0] * count + [1], with_largest, [*levels, *([0] * count)]).primal[:count]
    ranges = []
    for unit in units:
        others = minimise([1 - value for value in unit], face, levels).value
        ranges.append((minimise(unit, face, levels).value, optimum.value - others))
    return optimum, balanced, ranges
