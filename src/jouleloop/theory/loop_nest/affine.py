"""Tiles of affine loop nests with bounds: the exponent is piecewise linear in log L_i, and a parallelepiped attains it.

004 section 7 conjectures the first for nests that are not projective; docs/theory-projective-nests.md proves both, with
β_i = log_M L_i, by the linear program of array and loop weights (s, ζ) over all subgroups and by its dual.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.counting import Ints
from jouleloop.theory.loop_nest.closed_form import ClosedForm, Piece, irredundant, nonnegative_vertices
from jouleloop.theory.loop_nest.hbl import hbl_exponents
from jouleloop.theory.loop_nest.hbl_lattice import Row, Subspace, certify, coordinate_subspace, span
from jouleloop.theory.loop_nest.nest import LoopNest
from jouleloop.theory.simplex import minimise

_POINTS_LIMIT = 4_000_000
_LOOP = "|{}|"


@dataclass(frozen=True)
class AffineTile:
    """The largest tile of an affine nest for rational log-bounds, with both solutions that prove it."""

    exponent: Fraction
    """f(β), the log base M of its points."""
    array_weights: tuple[Fraction, ...]
    loop_weights: tuple[Fraction, ...]
    """s_j and ζ_i: the upper bound."""
    chain: tuple[tuple[Subspace, Fraction], ...]
    """Subgroups, each inside the next, with their weights y_H: the tile."""
    basis: tuple[Row, ...]
    side_exponents: tuple[Fraction, ...]
    """The sides of the parallelepiped: an integer vector each, and its length as a power of M."""

    def points(self, cache_words: int) -> Ints:
        """Return the points of the tile for a cache of M words, shape (points, loops); sides are rounded down.

        Raises `InputError` where there are too many.
        """
        sides = [max(1, math.floor(cache_words ** float(power) * (1 + 1e-12))) for power in self.side_exponents]
        if math.prod(sides) > _POINTS_LIMIT:
            raise InputError(Fault("too many points", value=math.prod(sides), allowed=f"at most {_POINTS_LIMIT}"))
        steps = np.array(list(itertools.product(*(range(side) for side in sides))), dtype=np.int64)
        return steps.reshape(len(steps), len(sides)) @ np.array(self.basis, dtype=np.int64).reshape(len(sides), -1)


def with_loops_as_arrays(nest: LoopNest) -> LoopNest:
    """Return the nest with the projection to every loop as one more array."""
    size = len(nest.loops)
    loops = {
        _LOOP.format(name): (tuple(int(at == position) for at in range(size)),)
        for position, name in enumerate(nest.loops)
    }
    return LoopNest(nest.loops, {**nest.arrays, **loops})


def affine_closed_form(nest: LoopNest) -> ClosedForm:
    """Return the tile exponent of an affine nest for all bounds as a minimum of pieces.

    Every vertex of the polyhedron of (s, ζ) is proven to satisfy the rank condition of all subgroups.

    Raises `AssumptionError` where a vertex could not be proven; `InputError` where there are too many candidate
    vertices.
    """
    extended = with_loops_as_arrays(nest)
    rows = list(_rank_rows(extended))
    arrays = len(nest.arrays)
    while True:
        weights, common = nonnegative_vertices(
            np.array([images for _, images in rows]), np.array([rank for rank, _ in rows])
        )
        terms = np.column_stack([weights[:, :arrays].sum(axis=1), weights[:, arrays:]])
        needed = weights[irredundant(terms)]
        found = [tuple(Fraction(int(value), common) for value in row) for row in needed]
        violated = [subgroup for vertex in found for subgroup in _violated(extended, vertex)]
        if not violated:
            break
        rows += [_rank_row(extended, subgroup) for subgroup in violated]
    pieces = [Piece(vertex[:arrays], vertex[arrays:]) for vertex in found]
    pieces.sort(key=lambda piece: (sum(w > 0 for w in piece.loop_weights), piece.loop_weights[::-1]))
    return ClosedForm(nest, tuple(pieces))


def affine_tile(nest: LoopNest, exponents: Sequence[Fraction]) -> AffineTile:
    """Return the largest tile for β_i = ``exponents``, one a loop, none negative.

    Raises `AssumptionError` where the weights could not be proven for all subgroups.
    """
    extended = with_loops_as_arrays(nest)
    costs = [Fraction(1)] * len(nest.arrays) + list(exponents)
    subgroups = {_rank_row(extended, row.subgroup): row.subgroup for row in hbl_exponents(extended).constraints}
    while True:
        ranks = list(subgroups)
        optimum = minimise(costs, [list(images) for _, images in ranks], [rank for rank, _ in ranks])
        violated = list(_violated(extended, optimum.primal))
        if not violated:
            break
        subgroups |= {_rank_row(extended, subgroup): subgroup for subgroup in violated}
    chain = _chain({subgroups[row]: weight for row, weight in zip(ranks, optimum.dual, strict=True) if weight})
    _check(extended, chain, costs, optimum.value)
    basis, powers = _adapted(chain, len(nest.loops))
    split = len(nest.arrays)
    return AffineTile(optimum.value, optimum.primal[:split], optimum.primal[split:], chain, basis, powers)


def rectangle_exponent(nest: LoopNest, exponents: Sequence[Fraction]) -> Fraction:
    """Return the log base M of the largest box, its sides along the loops: at most f(β).

    The image of a box with sides M^λ_i under φ_j has, up to constants, M^(Σ λ_i) words, the largest sum over loops
    whose columns of φ_j are independent. So the largest box is a linear program.
    """
    size = len(nest.loops)
    bases = {basis for matrix in nest.arrays.values() for basis in _column_bases(matrix, size)}
    # The dual: weights of the bases and of the loops that cover every loop once.
    rows = [
        [int(loop in basis) for basis in sorted(bases)] + [int(i == loop) for i in range(size)] for loop in range(size)
    ]
    return minimise([Fraction(1)] * len(bases) + list(exponents), rows, [1] * size).value


def image_words(matrix: Sequence[Sequence[int]], points: Ints) -> int:
    """Return the words of an array that ``points`` touch, by listing them."""
    return len(np.unique(points @ np.array(matrix, dtype=np.int64).T, axis=0))


def _rank_row(nest: LoopNest, subgroup: Subspace) -> tuple[int, tuple[int, ...]]:
    return subgroup.rank, tuple(subgroup.image_rank(matrix) for matrix in nest.arrays.values())


def _rank_rows(nest: LoopNest) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the rank constraints that no single other one implies."""
    rows = hbl_exponents(nest).distinct
    for rank, images in rows:
        implied = any(
            other >= rank and all(a <= b for a, b in zip(fewer, images, strict=True))
            for other, fewer in rows
            if (other, fewer) != (rank, images)
        )
        if not implied:
            yield rank, images


def _violated(nest: LoopNest, weights: Sequence[Fraction]) -> Iterator[Subspace]:
    chosen = {name: min(weight, Fraction(1)) for name, weight in zip(nest.arrays, weights, strict=True)}
    size = len(nest.loops)
    proof = certify(nest.arrays, chosen, coordinate_subspace(range(size), size))
    if proof.violated is not None:
        yield proof.violated
    elif not proof.proven:
        raise AssumptionError(Fault("the rank condition was not proven for all subgroups", value=str(chosen)))


def _chain(weights: Mapping[Subspace, Fraction]) -> tuple[tuple[Subspace, Fraction], ...]:
    """Move weights to sums and intersections until every two subgroups are one inside the other."""
    found = dict(weights)
    while True:
        pair = next(((h, k) for h, k in itertools.combinations(found, 2) if (h + k) not in (h, k)), None)
        if pair is None:
            return tuple(sorted(found.items(), key=lambda item: item[0].rank))
        moved = min(found[one] for one in pair)
        for subgroup, change in (
            (pair[0] + pair[1], moved),
            (pair[0].intersect(pair[1]), moved),
            *((one, -moved) for one in pair),
        ):
            found[subgroup] = found.get(subgroup, Fraction(0)) + change
        found = {subgroup: weight for subgroup, weight in found.items() if weight and subgroup.rank}


def _check(
    nest: LoopNest, chain: Sequence[tuple[Subspace, Fraction]], costs: Sequence[Fraction], value: Fraction
) -> None:
    """Raise `ArithmeticError` unless the chain is a feasible dual solution of the same value: then both are optimal."""
    used = [
        sum((weight * subgroup.image_rank(matrix) for subgroup, weight in chain), start=Fraction(0))
        for matrix in nest.arrays.values()
    ]
    reached = sum((weight * subgroup.rank for subgroup, weight in chain), start=Fraction(0))
    if reached != value or any(words > cost for words, cost in zip(used, costs, strict=True)):
        raise ArithmeticError("the tile does not attain the bound")


def _adapted(
    chain: Sequence[tuple[Subspace, Fraction]], dimension: int
) -> tuple[tuple[Row, ...], tuple[Fraction, ...]]:
    """Return a basis of the largest subgroup that contains one of each, with the power of M of every vector's side."""
    basis: list[Row] = []
    powers = []
    for position, (subgroup, _) in enumerate(chain):
        for row in subgroup.rows:
            if span((*basis, row), dimension).rank > len(basis):
                basis.append(row)
                powers.append(sum((weight for _, weight in chain[position:]), start=Fraction(0)))
    return tuple(basis), tuple(powers)


def _column_bases(matrix: Sequence[Sequence[int]], size: int) -> Iterator[tuple[int, ...]]:
    columns = [tuple(row[loop] for row in matrix) for loop in range(size)]
    rank = span(columns, len(matrix)).rank
    for chosen in itertools.combinations(range(size), rank):
        if span([columns[loop] for loop in chosen], len(matrix)).rank == rank:
            yield chosen
