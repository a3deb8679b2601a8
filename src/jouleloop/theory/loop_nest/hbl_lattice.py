"""Rational subspaces in exact arithmetic, and the lattice that some of them generate under sum and intersection."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Row = tuple[int, ...]


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


def whole(dimension: int) -> Subspace:
    """Return Q^dimension."""
    return span([[int(i == j) for j in range(dimension)] for i in range(dimension)], dimension)


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
    parent = list(range(dimension))

    def root(axis: int) -> int:
        while parent[axis] != axis:
            axis = parent[axis]
        return axis

    for subspace in subspaces:
        for row in subspace.rows:
            axes = [axis for axis, value in enumerate(row) if value]
            for axis in axes[1:]:
                low, high = sorted((root(axes[0]), root(axis)))
                parent[high] = low
    groups: dict[int, list[int]] = {}
    for axis in range(dimension):
        groups.setdefault(root(axis), []).append(axis)
    return tuple(tuple(group) for group in groups.values())


def restrict(subspace: Subspace, axes: Sequence[int]) -> Subspace:
    """Return the part of ``subspace`` that lies in the coordinate subspace of ``axes``, still in Q^d."""
    inside = [row for row in subspace.rows if all(value == 0 for axis, value in enumerate(row) if axis not in axes)]
    return span(inside, subspace.dimension)


def coordinate_subspace(axes: Sequence[int], dimension: int) -> Subspace:
    """Return the subspace of all vectors supported on ``axes``."""
    return span([[int(axis == j) for j in range(dimension)] for axis in axes], dimension)


def generate_lattice(generators: Sequence[Subspace], limit: int) -> tuple[tuple[Subspace, ...], bool]:
    """Close ``generators`` under sum and intersection.

    Three subspaces generate at most 28 (Dedekind's free modular lattice); four or more may generate infinitely many.

    Returns
    -------
    (elements, complete)
        The nonzero elements in the order they were found, generators first; ``complete`` is False where the closure
        was cut off at ``limit`` elements.
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
