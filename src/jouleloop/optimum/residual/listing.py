"""Every unrolling of loops that may end early, and the subproblems whose bounds are the least.

A subproblem is an unrolling under a choice of what is kept. As many are held as there is room for: of the others the
least bound is known, or what no mapping of the layer is below.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from jouleloop.mapspace.space import MapSpace
from jouleloop.mapspace.spatial import arrangements_of, early_arrangements, early_choices, fewest_passes
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
        bounds = space.problem.bounds
        self.sizes = np.array(bounds)[dims]
        listed = [
            [(1,) * len(bounds)]
            if slot is None
            else list(itertools.islice(early_choices(slot, bounds, fanout), MOST_CHOICES + 1))
            for slot, fanout in zip(space.spatial, self.fanout, strict=True)
        ]
        self.whole = max(map(len, listed)) <= MOST_CHOICES
        self._choices = [found[:MOST_CHOICES] for found in listed]
        self._shape = tuple(map(len, self._choices))
        self.count = math.prod(self._shape)
        self._tables = [np.array(found, np.int64).reshape(-1, len(bounds))[:, dims] for found in self._choices]
        #: By level and dimension that may leave units without work: how many work at least, by factor.
        self._fewest: dict[tuple[int, int], Ints] = {}
        for (level, slot), (i, d) in itertools.product(enumerate(space.spatial), enumerate(dims.tolist())):
            if slot is not None and (slot.both or slot.fixed[d] > 1):
                factors = range(1 + int(self._tables[level][:, i].max(initial=1)))
                fewest = [fewest_passes(slot, d, factor, self.fanout[level]) for factor in factors]
                self._fewest[level, i] = np.array(fewest, np.int64)
        self._arranged = lru_cache(maxsize=4096)(self._arrange)

    def rows(self, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all choices of which unrolled dimensions leave units without work in every step.

        These are the unrolling's place among the numbers, its factors, shape (choices, levels, dimensions), and how
        many units work at least where some never do, else 0.
        """
        places = np.unravel_index(numbers, self._shape)
        factors = np.stack([table[at] for table, at in zip(self._tables, places, strict=True)], axis=1)
        which, idle = np.arange(len(factors)), np.zeros(factors.shape, np.int64)
        for (level, i), fewest in self._fewest.items():
            may = fewest[factors[which, level, i]] > 0
            unused = idle[may]
            unused[:, level, i] = fewest[factors[which[may], level, i]]
            which, idle = np.concatenate([which, which[may]]), np.concatenate([idle, unused])
        sound = ((idle > 0) | (factors[which] <= self.sizes)).all(axis=(1, 2))
        return which[sound], factors[which[sound]], idle[sound]

    def row(self, number: int, nth: int) -> tuple[Ints, Ints, Records, Ints]:
        """Return one row of an unrolling, its arrangements by level, and how many loops and arrangements there are."""
        at: list[int] = []
        rest = number
        for count in reversed(self._shape):
            at.insert(0, rest % count)
            rest //= count
        found = [self._arranged(level, c) for level, c in enumerate(at)]
        numbers = np.array([one.shape[::-1] for one in found], np.int64)
        loops = np.zeros((len(found), max(map(len, found)), MAX_LOOPS), LOOP)
        for level, one in enumerate(found):
            if one.size:
                loops[level, : one.shape[0], : one.shape[1]] = one
        factors = np.array([table[c] for table, c in zip(self._tables, at, strict=True)])
        wide = nth > 0 or (factors > self.sizes).any()
        idle = self.rows(np.array([number]))[2][nth] if wide else np.zeros_like(factors)
        return factors, idle, loops, numbers

    def _arrange(self, level: int, choice: int) -> Records:
        """Return the arrangements of a choice of factors, of `LOOP`, shape (arrangements, loops)."""
        slot, factors = self.space.spatial[level], self._choices[level][choice]
        make = partial(arrangements_of, slot) if slot and not slot.both else early_arrangements
        several, place = make(factors, self.fanout[level]), {int(d): i for i, d in enumerate(self.dims)}
        found = [[(place[d], bound, axis) for d, bound, axis in one] for one in several]
        return np.array(found, np.int64).reshape(len(several), 3 * len(several[0])).view(LOOP)


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
    # Where nothing can be proven, less is looked at.
    most = MOST_BOUNDED if unrollings.count * len(keeps) <= MOST_BOUNDED else MOST_BOUNDED // 20

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
            whole = bounded <= most and not stopped()
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
