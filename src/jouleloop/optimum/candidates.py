"""All unrollings of a mapspace as arrays, those that share their bounds merged, with the arrangements that can matter.

`docs/search.md` states the lemmas: *merged unrollings*, *arrangements*.
"""

import itertools
from typing import NamedTuple

import numpy as np

from jouleloop.mapspace.space import MapSpace
from jouleloop.mapspace.spatial import Arrangement, unrollings
from jouleloop.model.arrays import DIM, MAX_LOOPS, Bools, Ints
from jouleloop.optimum.arrays import HALO, IDLE, LAST, RUN, Arrangements


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
        #: By data space: which dimensions leave it in place, and the rank that each shares, or -1.
        self.sides = [
            (idle.tolist(), halo.tolist()) for idle, halo in zip(side[..., IDLE], side[..., HALO], strict=True)
        ]
        levels = len(space.temporal)
        #: Dimensions that share no rank.
        self.free = np.flatnonzero((side[:, :, HALO] < 0).all(axis=0))
        # Where a level does not reuse all, or networks take energy, it counts at which level a loop is unrolled.
        self.wired = any(level.wired for level in space.arch.levels)
        self.empty = [
            k
            for k, slot in enumerate(space.temporal[:-1])
            if all(f == 1 for f in slot.fixed) and not any(keep[k].any() for keep in space.keeps)
            if not self.wired and not any(space.reuse)
        ]
        self.origin = list(range(levels))
        for k in reversed(self.empty):
            self.origin[k] = self.origin[k + 1]
        self.linking = [self._linking(level) for level in range(levels)]

    def representatives(self, factors: Ints) -> Ints:
        """Return factors that are equal for all unrollings of the same bounds, shape as given."""
        reduced = factors.copy()
        for k in self.empty:
            reduced[:, k + 1, self.free] *= reduced[:, k, self.free]
            reduced[:, k, self.free] = 1
        return reduced

    def matters(self, factors: Ints) -> Bools:
        """Whether the order of spatial loops may matter, whatever the temporal loops, shape (unrollings, levels).

        It does where links below a level may serve a step.
        """
        found = np.zeros(factors.shape[:2], np.bool_)
        for level, (here, anywhere) in enumerate(self.linking):
            found[:, level] = (factors[:, level, here] > 1).any(axis=1)
            found[:, level] |= (factors[:, level : self.origin[level] + 1, anywhere] > 1).any(axis=(1, 2))
            # How far words go hangs on the order of all spatial loops.
            found[:, level] |= self.wired & (factors[:, level] > 1).any(axis=1)
        return found

    def _linking(self, level: int) -> tuple[list[int], list[int]]:
        """Return the dimensions that make links possible where they are unrolled at a level, and up to its origin.

        A shared rank does by itself. A dimension that leaves a data space in place lets instances hold one box, so that
        a step that stands still is handed on: at the units, which hold nothing, at a level that does not reuse it, or
        where two loops of a window cancel.
        """
        here: set[int] = set()
        anywhere: set[int] = set()
        for idle, halo in self.sides:
            shared = [d for d, rank in enumerate(halo) if rank >= 0]
            here.update(shared)
            looping = [halo[d] for d in shared if self._loops_outside(level, d)]
            stateless = level == 0 or bool(self.space.reuse[level - 1].no_temporal_reuse)
            if stateless or len(looping) > len(set(looping)):
                anywhere.update(d for d, rank in enumerate(halo) if idle[d] and rank < 0)
        return sorted(here), sorted(anywhere)

    def _loops_outside(self, level: int, d: int) -> bool:
        """Whether a dimension may have a temporal loop at a level or outside it."""
        return any(slot.may_loop(d) for slot in self.space.temporal[level:])


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
    found = list(unrollings(space))
    all_factors = np.array([unrolling.factors for unrolling in found], np.int64).reshape(len(found), levels, dims)
    reduced = merging.representatives(all_factors)
    groups: dict[bytes, list[int]] = {}
    for n, row in enumerate(reduced.reshape(len(found), levels * dims)):
        groups.setdefault(row.tobytes(), []).append(n)
    factors = reduced[[group[0] for group in groups.values()]]
    matters = merging.matters(factors)
    choices: list[tuple[Arrangement, ...]] = []
    runs = np.empty((len(groups), RUN), np.int64)
    for u, (group, here) in enumerate(zip(groups.values(), matters.tolist(), strict=True)):
        runs[u] = len(choices), 0, not here[0]
        for n in group if any(here) else group[:1]:
            options = [
                _distinct(arrangements) if matter else arrangements[:1]
                for matter, arrangements in zip(here, found[n].arrangements, strict=True)
            ]
            choices += itertools.product(*options)
        runs[u, LAST] = len(choices)
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
