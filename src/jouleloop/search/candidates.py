"""All unrollings of a mapspace as arrays, those that share their bounds merged, with the arrangements that can matter.

`docs/search.md` states the lemmas: *merged unrollings*, *arrangements*.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np

from jouleloop.mapspace.space import FREE, MapSpace
from jouleloop.mapspace.spatial import Arrangement, Factors, Unrolling, unrollings
from jouleloop.model.arrays import DIM, MAX_LOOPS, Ints
from jouleloop.search.arrays import FIRST, HALO, IDLE, LAST, ORDERED, RUN, Arrangements

#: Factors by level and dimension, those that cost the same made equal.
Signature = tuple[Factors, ...]


class Candidates(NamedTuple):
    """Every unrolling to be searched.

    Attributes
    ----------
    factors
        Spatial factors, shape (unrollings, levels, dimensions). Of merged unrollings, the factors of dimensions that
        share no rank stand at the outermost level where they may be.
    runs
        What may matter at the leaves, shape (unrollings, RUN).
    origin
        By level, the outermost level whose factors merging may have taken from there.
    """

    factors: Ints
    runs: Ints
    arrangements: Arrangements
    origin: Ints


class _Merging:
    """Which unrollings share their bounds, and where the order of spatial loops can matter.

    Parameters
    ----------
    side
        See `Unrolled.side`, over all dimensions of the problem.
    """

    def __init__(self, space: MapSpace, side: Ints) -> None:
        self.space = space
        self.side = side
        levels = len(space.temporal)
        self.apart = [bool((side[:, d, HALO] >= 0).any()) for d in range(side.shape[1])]
        self.empty = [
            k
            for k, slot in enumerate(space.temporal[:-1])
            if all(f == 1 for f in slot.fixed) and not any(keep[k].any() for keep in space.keeps)
        ]
        self.origin = list(range(levels))
        for k in reversed(self.empty):
            self.origin[k] = self.origin[k + 1]
        self.links_at = cache(self._links_at)

    def signature(self, factors: tuple[Factors, ...]) -> Signature:
        """Return the factors that stand for all unrollings of the same bounds."""
        reduced = list(factors)
        for k in self.empty:
            both = list(zip(reduced[k], reduced[k + 1], self.apart, strict=True))
            reduced[k + 1] = tuple([b if keeps_apart else a * b for a, b, keeps_apart in both])
            reduced[k] = tuple([a if keeps_apart else 1 for a, _, keeps_apart in both])
        return tuple(reduced)

    def matters(self, signature: Signature, level: int) -> bool:
        """Whether mesh links below a level may serve any step under an unrolling, whatever its temporal loops."""
        return self.links_at(level, signature[level : self.origin[level] + 1])

    def _links_at(self, level: int, factors: tuple[Factors, ...]) -> bool:
        here = np.array(factors[0])
        for side in self.side:
            halo = side[:, HALO]
            if (here[halo >= 0] > 1).any():
                return True
            idle = (side[:, IDLE] == 1) & (halo < 0)
            if not (np.array(factors)[:, idle] > 1).any():
                continue
            # Instances may hold one box, so a step that stands still is handed on: at the units, which hold nothing, or
            # where two loops of one window cancel out.
            if level == 0:
                return True
            for rank in set(halo[halo >= 0].tolist()):
                if sum(self._loops_outside(level, d) for d in np.flatnonzero(halo == rank).tolist()) > 1:
                    return True
        return False

    def _loops_outside(self, level: int, d: int) -> bool:
        """Whether a dimension may have a temporal loop at a level or outside it."""
        return any(
            slot.fixed[d] > 1 or (slot.fixed[d] == FREE and slot.most[d] > 1) for slot in self.space.temporal[level:]
        )


def find_candidates(space: MapSpace, kept_dims: Ints, side: Ints) -> Candidates:
    """Return all unrollings; those of the same bounds are one, with all the arrangements that may cost differently.

    Parameters
    ----------
    kept_dims
        Dimensions that the search knows, the others have bound 1.
    side
        See `Unrolled.side`, over all dimensions of the problem.
    """
    levels, dims = len(space.temporal), len(space.problem.bounds)
    merging = _Merging(space, side)
    merged: dict[Signature, list[Unrolling]] = {}
    for unrolling in unrollings(space):
        merged.setdefault(merging.signature(unrolling.factors), []).append(unrolling)
    choices: list[tuple[Arrangement, ...]] = []
    runs = np.empty((len(merged), RUN), np.int64)
    for u, (signature, group) in enumerate(merged.items()):
        matters = [merging.matters(signature, level) for level in range(levels)]
        runs[u, FIRST] = len(choices)
        for unrolling in group if any(matters) else group[:1]:
            options = [
                _distinct(arrangements) if matters[level] else arrangements[:1]
                for level, arrangements in enumerate(unrolling.arrangements)
            ]
            choices += itertools.product(*options)
        runs[u, LAST] = len(choices)
        runs[u, ORDERED] = int(not matters[0])
    factors = np.array(list(merged), np.int64).reshape(len(merged), levels, dims)
    return Candidates(
        np.ascontiguousarray(factors[:, :, kept_dims]),
        runs,
        _as_arrays(choices, levels, dims, kept_dims),
        np.array(merging.origin, np.int64),
    )


def _distinct(arrangements: tuple[Arrangement, ...]) -> tuple[Arrangement, ...]:
    """Leave one arrangement of each order: on a mesh that holds them, the axes of loops change no count."""
    return tuple({tuple((d, f) for d, f, _ in loops): loops for loops in reversed(arrangements)}.values())[::-1]


def _as_arrays(choices: list[tuple[Arrangement, ...]], levels: int, dims: int, kept_dims: Ints) -> Arrangements:
    """Return arrangements by level as arrays, dimensions numbered as the search does."""
    place = np.zeros(dims, np.int64)
    place[kept_dims] = np.arange(len(kept_dims))
    counts = np.array([[len(placed) for placed in choice] for choice in choices], np.int64)
    loops = np.zeros((len(choices), levels, MAX_LOOPS, 3), np.int64)
    places = [
        (n, level, k)
        for n, choice in enumerate(choices)
        for level, placed in enumerate(choice)
        for k in range(len(placed))
    ]
    if places:
        loops[tuple(np.array(places).T)] = [loop for choice in choices for placed in choice for loop in placed]
    loops[..., DIM] = place[loops[..., DIM]]
    return Arrangements(counts.reshape(len(choices), levels), loops)
