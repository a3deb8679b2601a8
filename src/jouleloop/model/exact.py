"""What a mapping truly costs: every iteration of every instance, in closed form; no instance stands for another.

Timeloop follows one instance, and counts all others as if they worked as long (docs/residual-loops.md). Here every
dimension is followed by itself. The loops outside a tile give it positions; an instance has those below the bound, and
works where all dimensions have one. So what a step moves depends, dimension by dimension, on where the tile was and
where it is: steps alike are counted together (`_Axis.steps`), and all combinations are added up (`count_boundary`).

The rules of movement are those of Timeloop 3.0.3. A tile is kept until the next one. A step fetches what the next one
has more, if it moves the tile as the step of a loop inside did just before, or if no loop inside stepped; else it
fetches the whole. What instances below one instance hold in common is read once, and goes to those that work.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import MAX_LOOPS, SPATIAL, TEMPORAL, Ints, LayerArrays, NestArrays, Records
from jouleloop.model.residual import FLAT, flatten_loops

#: Steps alike: shift of the tile; its indices before and after; which loop stepped just before inside of this one
#: (`_NONE` if none) and how far; how many instances the words go to.
_STEPS = np.dtype([(name, np.int64) for name in ("shift", "before", "after", "inside", "pace", "sharers")])
_NONE = 1 << 30


class Moved(NamedTuple):
    """Words read for all tiles below a level, and words that reach them, over all instances and all time."""

    read: int
    received: int


class Loops(NamedTuple):
    """A nest as one list of loops, innermost first, as `flatten_loops` writes it, and where each level's begin."""

    table: Ints
    start: Ints


def flat_loops(bounds: Ints, nest: NestArrays) -> Loops:
    """Return the loops of a nest."""
    levels = nest.counts.shape[0]
    table, start = np.empty(levels * 2 * MAX_LOOPS, FLAT), np.empty((levels + 1, 2), np.int64)
    total = flatten_loops(bounds, nest, table, start)
    start[levels] = total
    return Loops(table[:total], start)


@dataclass(frozen=True)
class _Axis:
    """One dimension outside a tile."""

    bound: int
    extent: int
    """Indices of a whole tile."""
    loops: tuple[tuple[int, int, int], ...]
    """(place, end, step) of the temporal loops, outermost first."""
    starts: tuple[int, ...]
    """First index of each instance that is followed; it is less than ``bound``."""
    sharers: Ints
    """How far other instances are, which hold the same; at least the instance itself."""

    def positions(self, start: int) -> Ints:
        """Return where the tile begins, in the order of time, while the instance at ``start`` works."""
        found = np.array([start], np.int64)
        for _, end, step in self.loops:
            found = (found[:, None] + step * np.arange(end)).ravel()
        return found[: np.searchsorted(found, self.bound)]

    def lengths(self, positions: Ints) -> Ints:
        """Return how many indices the tiles have; the last one may have fewer."""
        return np.minimum(self.extent, self.bound - positions)

    def steps(self, place: int) -> tuple[Records, Ints]:
        """Return the different ways in which a step of the loop at ``place`` moves the tile, and how often each is.

        A loop of another dimension begins all loops inside of it anew. Where ``place`` is outside of all loops there is
        no step, but for each instance the first tile: ``after`` and ``sharers``.
        """
        inside = [loop for loop in self.loops if loop[0] < place]
        own = next((end for at, end, _ in self.loops if at == place), 0)
        size = math.prod(end for _, end, _ in inside)
        rows = []
        for start in self.starts:
            at = self.positions(start)
            first = np.arange(0, len(at), size)
            last = np.minimum(first + size, len(at)) - 1
            after = first
            if own:
                goes_on = np.flatnonzero(np.arange(1, len(first)) % own)
                first, last, after = first[goes_on], last[goes_on], first[goes_on + 1]
            row = np.empty(len(first), _STEPS)
            row["shift"] = at[after] - at[last]
            row["before"], row["after"] = self.lengths(at[last]), self.lengths(at[after])
            row["inside"] = _last_step(last - first, inside)
            row["pace"] = np.where(last > first, at[last] - at[last - 1], 0)
            row["sharers"] = (at[after][:, None] + self.sharers < self.bound).sum(axis=1)
            rows.append(row)
        return np.unique(np.concatenate(rows), return_counts=True)


def _last_step(steps: Ints, loops: Sequence[tuple[int, int, int]]) -> Ints:
    """Return the place of the loop whose step was the last of so many, `_NONE` where there was none."""
    found, rest = np.full(len(steps), _NONE), steps.copy()
    for place, end, _ in reversed(loops):
        here = (found == _NONE) & (rest % end > 0)
        found[here] = place
        rest //= end
    return found


def count_boundary(layer: LayerArrays, space: int, loops: Loops, outer: int, inner: int) -> Moved:
    """Return what moves between level ``outer`` and the next one that keeps a data space, -1 for the compute units."""
    axes = _axes(layer, space, loops, outer, inner)
    places = [place for axis in axes for place, _, _ in axis.loops]
    read = received = 0
    for place in [*places, len(loops.table)]:
        found = [axis.steps(place) for axis in axes]
        shape = [len(counts) for _, counts in found]
        index = [part.ravel() for part in np.indices(shape)]
        rows = np.stack([rows[at] for (rows, _), at in zip(found, index, strict=True)])
        # Whole numbers of any size: a large layer has more steps than 64 bits hold.
        counts = np.ones(len(index[0]), object)
        for (_, times), at in zip(found, index, strict=True):
            counts *= times[at].astype(object)
        words = _move_words(layer.coef[space], rows, whole=inner < 0 or place == len(loops.table)) * counts
        read += int(words.sum())
        received += int((words * rows["sharers"].prod(axis=0)).sum())
    return Moved(read, received)


def _axes(layer: LayerArrays, space: int, loops: Loops, outer: int, inner: int) -> list[_Axis]:
    table, total = loops.table, len(loops.table)
    begin, middle = int(loops.start[inner + 1, SPATIAL]), int(loops.start[outer, TEMPORAL])
    axes = []
    for d, bound in enumerate(layer.bounds.tolist()):
        mine = [k for k in range(total) if table[k]["dim"] == d]
        extent = math.prod(int(table[k]["bound"]) for k in mine if k < begin)
        near = [k for k in mine if begin <= k < middle and table[k]["kind"] == SPATIAL]
        far = [k for k in mine if k >= middle and table[k]["kind"] == SPATIAL]
        moves = bool(layer.coef[space, :, d].any())
        starts = [at for at in _offsets(table, [*near, *far] if moves else far) if at < bound]
        time = tuple(
            (k, int(table[k]["bound"]), int(table[k]["step"]))
            for k in reversed(mine)
            if k >= begin and table[k]["kind"] == TEMPORAL
        )
        sharers = np.array([0] if moves else _offsets(table, near), np.int64)
        axes.append(_Axis(bound, extent, time, tuple(starts), sharers))
    return axes


def _offsets(table: Ints, places: Sequence[int]) -> list[int]:
    """Return the first index of every instance that the loops at ``places`` unroll."""
    reach = [range(0, int(table[k]["bound"] * table[k]["step"]), int(table[k]["step"])) for k in places]
    return [sum(choice) for choice in product(*reach)]


def _move_words(coef: Ints, rows: Records, *, whole: bool) -> Ints:
    """Return the words of every step.

    ``coef`` has the shape (ranks, dimensions), ``rows`` of `_STEPS` (dimensions, steps).
    """
    after: Ints = 1 + coef @ (rows["after"] - 1)
    words: Ints = after.prod(axis=0)
    if whole:
        return words
    before = 1 + coef @ (rows["before"] - 1)
    move = coef @ rows["shift"]
    inside = rows["inside"].min(axis=0)
    pace = coef @ np.where(rows["inside"] == inside, rows["pace"], 0)
    slides = (inside == _NONE) | (move == pace).all(axis=0)
    shared = np.maximum(0, np.minimum(before, move + after) - np.maximum(0, move)).prod(axis=0)
    fetched: Ints = words - np.where(slides, shared, 0)
    return fetched


def words_ever_seen(layer: LayerArrays, space: int, loops: Loops, level: int) -> int:
    """Return how many different words the instances of a level see, added up."""
    coef = layer.coef[space]
    axes = _axes(layer, space, loops, level, level)
    words = math.prod(len(axis.starts) for axis, moves in zip(axes, coef.any(axis=0), strict=True) if not moves)
    for rank in coef:
        moving = np.flatnonzero(rank)
        size = 1 + int(rank @ (layer.bounds - 1))
        seen = 0
        for starts in product(*(axes[d].starts for d in moving)):
            # The first words of all tiles along this rank, and how many follow.
            first, more = np.zeros(1, np.int64), np.zeros(1, np.int64)
            for d, start in zip(moving, starts, strict=True):
                at = axes[d].positions(start)
                first = np.add.outer(first, rank[d] * at).ravel()
                more = np.add.outer(more, rank[d] * (axes[d].lengths(at) - 1)).ravel()
            edges = np.bincount(first, minlength=size + 1) - np.bincount(first + more + 1, minlength=size + 1)
            seen += int((edges.cumsum() > 0).sum())
        words *= seen
    return words


def steps_of_all(layer: LayerArrays, loops: Loops) -> int:
    """Return how many steps the whole array takes: instance 0 works as long as any other."""
    return math.prod(len(axis.positions(0)) for axis in _axes(layer, 0, loops, 0, -1))
