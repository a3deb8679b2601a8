"""Rational subspaces in exact arithmetic, the lattice that some generate, and proof of the rank condition on all."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Row = tuple[int, ...]
Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Subspace:
    """A subspace of Q^d by its reduced row echelon basis of primitive integer rows, which is unique.

    A subgroup H of Z^d enters the rank conditions of 001 Theorem 2.4 only through its span, so subspaces stand for
    subgroups (001 Proposition 2.5, proof).
    """

    dimension: int
    rows: tuple[Row, ...]

    @property
    def rank(self) -> int:
        """Number of basis vectors."""
        return len(self.rows)

    def __add__(self, other: "Subspace") -> "Subspace":
        """Return the sum of two subspaces."""
        return span((*self.rows, *other.rows), self.dimension)

    def intersect(self, other: "Subspace") -> "Subspace":
        """Return the intersection, as the annihilator of the sum of the annihilators."""
        return kernel(
            (*kernel(self.rows, self.dimension).rows, *kernel(other.rows, self.dimension).rows), self.dimension
        )

    def image_rank(self, matrix: Sequence[Sequence[int]]) -> int:
        """Return the rank of the image under the homomorphism with ``matrix``, one row per array subscript."""
        images = [tuple(sum(a * x for a, x in zip(line, row, strict=True)) for line in matrix) for row in self.rows]
        return len(_echelon(images, len(matrix)))


def span(rows: Iterable[Sequence[int]], dimension: int) -> Subspace:
    """Return the subspace of Q^dimension spanned by integer ``rows``."""
    return Subspace(dimension, _echelon([tuple(row) for row in rows], dimension))


def kernel(matrix: Sequence[Sequence[int]], dimension: int) -> Subspace:
    """Return {x : matrix x = 0} in Q^dimension."""
    rows = _echelon([tuple(row) for row in matrix], dimension)
    pivots = [next(j for j, value in enumerate(row) if value) for row in rows]
    basis = []
    for free in (j for j in range(dimension) if j not in pivots):
        scale = math.lcm(*(row[pivot] for row, pivot in zip(rows, pivots, strict=True)))
        vector = [0] * dimension
        vector[free] = scale
        for row, pivot in zip(rows, pivots, strict=True):
            vector[pivot] = -row[free] * scale // row[pivot]
        basis.append(tuple(vector))
    return span(basis, dimension)


def independent_axes(subspaces: Sequence[Subspace], dimension: int) -> tuple[tuple[int, ...], ...]:
    """Return the finest partition of the axes along which every subspace is a direct sum of its parts.

    Two axes belong together where a row of some reduced echelon basis involves both: such a row is a minimal-support
    vector, so no finer partition splits the subspace. These are the independent families of indices of 001 §3.1.
    """
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - scipy is slow to import

    together = np.eye(dimension, dtype=bool)
    for row in (row for subspace in subspaces for row in subspace.rows):
        axes = np.flatnonzero(row)
        together[axes[0], axes] = True
    _, groups = connected_components(together, directed=False)
    return tuple(tuple(np.flatnonzero(groups == group).tolist()) for group in dict.fromkeys(groups))


def restrict(subspace: Subspace, axes: Sequence[int]) -> Subspace:
    """Return the part of ``subspace`` that lies in the coordinate subspace of ``axes``, still in Q^d."""
    inside = [row for row in subspace.rows if all(value == 0 for axis, value in enumerate(row) if axis not in axes)]
    return span(inside, subspace.dimension)


def coordinate_subspace(axes: Sequence[int], dimension: int) -> Subspace:
    """Return the subspace of all vectors supported on ``axes``."""
    return span([[int(axis == j) for j in range(dimension)] for axis in axes], dimension)


def generate_lattice(generators: Sequence[Subspace], limit: int) -> tuple[tuple[Subspace, ...], bool]:
    """Close ``generators`` under sum and intersection: the nonzero elements as they were found, and whether all were.

    Three subspaces generate at most 28 (Dedekind's free modular lattice); four or more may generate infinitely many.
    The closure is cut off at ``limit`` elements.
    """
    found = dict.fromkeys(generator for generator in generators if generator.rank)
    order = list(found)
    position = 0
    while position < len(order):
        current = order[position]
        earlier = order[:position]
        for candidate in (made for other in earlier for made in (current + other, current.intersect(other))):
            if not candidate.rank or candidate in found:
                continue
            if len(found) >= limit:
                return tuple(order), False
            found[candidate] = None
            order.append(candidate)
        position += 1
    return tuple(order), True


def _echelon(rows: Sequence[Row], dimension: int) -> tuple[Row, ...]:
    """Return the reduced row echelon form with primitive integer rows and positive pivots."""
    work = [list(row) for row in rows if any(row)]
    done = 0
    for column in range(dimension):
        pivot = next((i for i in range(done, len(work)) if work[i][column]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        head = work[done] = _primitive(work[done], column)
        for i in range(len(work)):
            if i != done and work[i][column]:
                value = work[i][column]
                common = math.gcd(value, head[column])
                own, other = head[column] // common, value // common
                work[i] = [own * x - other * y for x, y in zip(work[i], head, strict=True)]
        done += 1
    pivots = [next(j for j, value in enumerate(row) if value) for row in work[:done]]
    return tuple(tuple(_primitive(row, pivot)) for row, pivot in zip(work[:done], pivots, strict=True))


def _primitive(row: list[int], pivot: int) -> list[int]:
    divisor = math.gcd(*row) * (1 if row[pivot] > 0 else -1)
    return [value // divisor for value in row]


_LIMIT = 48


@dataclass(frozen=True)
class RankProof:
    """``proven``: the condition holds everywhere; else ``violated`` breaks it; neither: undecided."""

    proven: bool
    violated: Subspace | None = None


_Map = tuple[Matrix, Fraction]
"""The subscripts of an array, and its exponent."""


def certify(
    matrices: Mapping[str, Sequence[Sequence[int]]], exponents: Mapping[str, Fraction], space: Subspace
) -> RankProof:
    """Decide whether rank(H) <= Σ_j s_j rank(φ_j(H)) for every subgroup H of ``space``.

    Write f(H) = rank(H) − Σ_j s_j rank(φ_j(H)). It is supermodular: f(H) + f(W) <= f(H + W) + f(H ∩ W). Where f(W) = 0,
    the condition f <= 0 splits into the subgroups inside W and those that contain W, both problems of smaller rank
    (after Christ, Demmel, Knight, Scanlon, Yelick, arXiv:1308.0068, [2] of 001). A map with s_j = 1 leaves only the
    subgroups inside its kernel to be checked, and one with s_j = 0 drops out.

    Undecided only where an infinite lattice has, within the first elements, no subgroup on which equality holds; for
    a vertex of the polytope of exponents the first split always exists.
    """
    maps = [(matrices[name], exponents[name]) for name in matrices]
    return _between(Subspace(space.dimension, ()), space, maps)


def _between(low: Subspace, high: Subspace, maps: Sequence[_Map]) -> RankProof:
    """Decide the condition for all H with low <= H <= high, relative to ``low``."""
    if low.rank == high.rank:
        return RankProof(proven=True)
    maps = [one for one in maps if one[1]]
    for position, (matrix, exponent) in enumerate(maps):
        if exponent == 1:
            inside = (kernel(matrix, low.dimension) + low).intersect(high)
            return _between(low, inside, [*maps[:position], *maps[position + 1 :]])
    generators = [(kernel(matrix, low.dimension) + low).intersect(high) for matrix, _ in maps]
    elements, complete = generate_lattice(generators, _LIMIT)
    values = {element: _excess(low, element, maps) for element in (*elements, high)}
    for element, value in values.items():
        if value > 0:
            return RankProof(proven=False, violated=element)
    if complete:
        return RankProof(proven=True)
    for element, value in values.items():
        if value == 0 and element not in (low, high):
            below = _between(low, element, maps)
            return below if not below.proven else _between(element, high, maps)
    return RankProof(proven=False)


def _excess(low: Subspace, element: Subspace, maps: Sequence[_Map]) -> Fraction:
    """Return f(element) − f(low)."""
    gained = sum(
        (exponent * (element.image_rank(matrix) - low.image_rank(matrix)) for matrix, exponent in maps), Fraction()
    )
    return element.rank - low.rank - gained
