"""Proof that exponents satisfy the rank condition on every subgroup, also where the lattice of kernels is infinite.

Write f(H) = rank(H) − Σ_j s_j rank(φ_j(H)). It is supermodular: f(H) + f(W) <= f(H + W) + f(H ∩ W). Where f(W) = 0, the
condition f <= 0 therefore splits into the subgroups inside W and those that contain W, both problems of smaller rank
(after Christ, Demmel, Knight, Scanlon, Yelick, arXiv:1308.0068, [2] of 001). A map with s_j = 1 leaves only the
subgroups inside its kernel to be checked, and one with s_j = 0 drops out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.loop_nest.hbl_lattice import Subspace, generate_lattice, kernel

_LIMIT = 48


@dataclass(frozen=True)
class RankProof:
    """``proven``: the condition holds everywhere; else ``violated`` breaks it; neither: undecided."""

    proven: bool
    violated: Subspace | None = None


@dataclass(frozen=True)
class _Map:
    matrix: Sequence[Sequence[int]]
    exponent: Fraction


def certify(
    matrices: Mapping[str, Sequence[Sequence[int]]], exponents: Mapping[str, Fraction], space: Subspace
) -> RankProof:
    """Decide whether rank(H) <= Σ_j s_j rank(φ_j(H)) for every subgroup H of ``space``.

    Undecided only where an infinite lattice has, within the first elements, no subgroup on which equality holds; for
    a vertex of the polytope of exponents the first split always exists.
    """
    maps = [_Map(matrices[name], exponents[name]) for name in matrices]
    return _between(Subspace(space.dimension, ()), space, maps)


def _between(low: Subspace, high: Subspace, maps: Sequence[_Map]) -> RankProof:
    """Decide the condition for all H with low <= H <= high, relative to ``low``."""
    if low.rank == high.rank:
        return RankProof(proven=True)
    maps = [one for one in maps if one.exponent]
    for position, one in enumerate(maps):
        if one.exponent == 1:
            inside = (kernel(one.matrix, low.dimension) + low).intersect(high)
            return _between(low, inside, [*maps[:position], *maps[position + 1 :]])
    generators = [(kernel(one.matrix, low.dimension) + low).intersect(high) for one in maps]
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
        (one.exponent * (element.image_rank(one.matrix) - low.image_rank(one.matrix)) for one in maps), Fraction()
    )
    return element.rank - low.rank - gained
