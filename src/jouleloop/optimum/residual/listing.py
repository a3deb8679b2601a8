"""Every unrolling of loops that may end early, and the subproblems whose bounds are the least.

A subproblem is an unrolling under a choice of what is kept. As many are held as there is room for: of the others the
least bound is known, or what no mapping of the layer is below.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from jouleloop.mapspace.space import MapSpace
from jouleloop.mapspace.spatial import Arrangement, arrangements_of, early_arrangements, early_choices, fewest_passes
from jouleloop.model.arrays import LOOP, MAX_LOOPS, Bools, Floats, Ints, Records

#: Choices of a level's factors, subproblems that are bounded and that are held at most, and unrollings at once.
MOST_CHOICES, MOST_BOUNDED, MOST_HELD, _AT_ONCE = 300_000, 200_000_000, 1_000_000, 65_536
#: A subproblem: its bound, its choice of what is kept, its unrolling, which of that unrolling's choices of units that
#: never work, and its place among all.
HELD = np.dtype([("bound", np.float64), *((name, np.int64) for name in ("keep", "number", "nth", "at"))])


class Unrollings:
    """All unrollings of a mapspace, by number: a choice of factors for each level."""

    def __init__(self, space: MapSpace, dims: Ints) -> None:
        self.space, self.dims, self.fanout = space, dims, space.arch.fanout[::-1]
        self.bounds = space.problem.bounds
        listed = [
            [(1,) * len(self.bounds)]
            if slot is None
            else list(itertools.islice(early_choices(slot, self.bounds, fanout), MOST_CHOICES + 1))
            for slot, fanout in zip(space.spatial, self.fanout, strict=True)
        ]
        self.whole = max(map(len, listed)) <= MOST_CHOICES
        self._choices = [found[:MOST_CHOICES] for found in listed]
        self._shape = tuple(map(len, self._choices))
        self.count = math.prod(self._shape)
        self._tables = [np.array(found, np.int64).reshape(-1, len(self.bounds))[:, dims] for found in self._choices]
        self._place = {int(d): i for i, d in enumerate(dims)}

    def rows(self, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all choices of which unrolled dimensions leave units without work in every step.

        These are the unrolling's place among the numbers, its factors, shape (choices, levels, dimensions), and how
        many units work at least where some never do, else 0.
        """
        places = np.unravel_index(numbers, self._shape)
        factors = np.stack([table[at] for table, at in zip(self._tables, places, strict=True)], axis=1)
        which, idle = np.arange(len(factors)), np.zeros(factors.shape, np.int64)
        for level, i in np.ndindex(factors.shape[1:]):
            slot, own = self.space.spatial[level], factors[:, level, i]
            if slot is None or not (slot.both or slot.fixed[self.dims[i]] > 1):
                continue
            fewest = np.zeros(1 + int(own.max()), np.int64)
            for factor in np.unique(own).tolist():
                fewest[factor] = fewest_passes(slot, int(self.dims[i]), factor, self.fanout[level])
            may = fewest[own[which]] > 0
            unused = idle[may]
            unused[:, level, i] = fewest[own[which[may]]]
            which, idle = np.concatenate([which, which[may]]), np.concatenate([idle, unused])
        sound = ((idle > 0) | (factors[which] <= np.array(self.bounds)[self.dims])).all(axis=(1, 2))
        return which[sound], factors[which[sound]], idle[sound]

    def arranged(self, number: int) -> tuple[Records, Ints]:
        """Return the arrangements of an unrolling by level, and how many loops and arrangements, see `Unrolled`."""
        found: list[tuple[Arrangement, ...]] = []
        at = np.unravel_index(number, self._shape)
        for slot, choices, c, fanout in zip(self.space.spatial, self._choices, at, self.fanout, strict=True):
            make = partial(arrangements_of, slot) if slot and not slot.both else early_arrangements
            found.append(make(choices[c], fanout))
        numbers = np.array([(len(several[0]), len(several)) for several in found], np.int64)
        loops = np.zeros((len(found), int(numbers[:, 1].max()), MAX_LOOPS), LOOP)
        for level, several in enumerate(found):
            own = [[(self._place[d], bound, axis) for d, bound, axis in one] for one in several]
            loops[level, : len(several), : len(several[0])] = np.array(own, LOOP).reshape(len(several), -1)
        return loops, numbers


def list_parts(
    unrollings: Unrollings,
    keeps: Sequence[Bools],
    bound: Callable[[Bools, Ints, Ints], Floats],
    stopped: Callable[[], object],
) -> tuple[Records, float, bool]:
    """Return the cheapest subproblems, of `HELD`, sorted; what others are not below; and whether all were bounded.

    Parameters
    ----------
    bound
        Returns the bounds of unrollings under a choice of what is kept, of what `Unrollings.rows` returns.
    stopped
        Whether no more are to be bounded.
    """
    bounded, first, left_out, whole, held = 0, 0, np.inf, True, np.zeros(0, HELD)
    waiting: list[Records] = []

    def cut() -> None:
        nonlocal held, left_out
        held = np.concatenate([held, *waiting])
        waiting.clear()
        if len(held) > MOST_HELD:
            order = np.argpartition(held["bound"], MOST_HELD)
            left_out = min(left_out, float(held["bound"][order[MOST_HELD]]))
            held = held[order[:MOST_HELD]]

    for start in range(0, unrollings.count, _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, unrollings.count))
        which, factors, idle = unrollings.rows(numbers)
        fresh = np.zeros(len(which), HELD)
        fresh["number"], fresh["at"] = numbers[which], first + np.arange(len(which))
        ordered = np.argsort(which, kind="stable")
        fresh["nth"][ordered] = np.arange(len(which)) - np.searchsorted(which[ordered], which[ordered])
        first += len(fresh)
        for n, keep in enumerate(keeps if len(fresh) else ()):
            bounded += len(fresh)
            whole = bounded <= MOST_BOUNDED and not stopped()
            if not whole:
                break
            fresh["keep"], fresh["bound"] = n, bound(keep, factors, idle)
            waiting.append(fresh[(fresh["bound"] < left_out) | (left_out == np.inf)])
            if len(held) + sum(map(len, waiting)) > 2 * MOST_HELD:
                cut()
        if not whole:
            break
    cut()
    return held[np.lexsort([held[name] for name in ("at", "keep", "bound")])], left_out, whole
