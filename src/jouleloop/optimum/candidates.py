"""All unrollings of a mapspace as arrays, those that share their bounds merged, with the arrangements that can matter.

A space may have millions of unrollings, so an unrolling is a row of numbers, one a level, and the arrangements of its
spatial loops are made when it is searched. Lemmas: *merged unrollings* (`docs/proof.md`), *arrangements*
(`docs/search.md`).
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from operator import floordiv

import numpy as np

from jouleloop.mapspace.space import FactorSlot, MapSpace
from jouleloop.mapspace.spatial import Arrangement, Factors, arrangements_of, fitting_choices
from jouleloop.model.arrays import LOOP, MAX_LOOPS, Ints, Records
from jouleloop.optimum.mirror import Mirror, firsts

#: Most unrollings that are listed; a space of more is searched in part.
MOST_UNROLLINGS = 4_000_000
#: Unrollings that are listed though the search has to stop.
_FEW = 256


class _Merging:
    """Which unrollings share their bounds, and where the order of spatial loops can matter.

    Parameters
    ----------
    side
        See `Unrolled.side`, over all dimensions of the problem.
    leaks, takes, wired
        Whether instances that are used leak, whether networks take energy, and whether it hangs on where words go.
    gaps
        Whether words of outputs lie apart.
    """

    def __init__(self, space: MapSpace, side: Records, *, leaks: bool, takes: bool, wired: bool, gaps: bool) -> None:
        self.space = space
        #: By data space: which dimensions leave it in place, and the rank that each shares, or -1.
        self.sides = [(idle.tolist(), halo.tolist()) for idle, halo in zip(side["idle"], side["halo"], strict=True)]
        levels = len(space.temporal)
        #: Dimensions that share no rank.
        self.is_free = tuple(map(bool, np.all(side["halo"] < 0, axis=0)))
        # Where a level does not reuse all or leaks, or networks take energy or distribute, it counts what is unrolled
        # where. So it does where outputs have gaps: partitions are cut to whole words level by level.
        self.wired = wired
        fixed = takes or leaks or gaps or any(space.reuse) or bool(space.arch.spreading)
        self.empty = [
            k
            for k, slot in enumerate(space.temporal[:-1])
            if not fixed and all(f == 1 for f in slot.fixed) and not any(column[:, k].any() for column in space.columns)
        ]
        self.origin = list(range(levels))
        for k in reversed(self.empty):
            self.origin[k] = self.origin[k + 1]
        #: By level, whether each dimension may have a temporal loop there or outside.
        self.loops_outside = np.logical_or.accumulate(
            [list(map(slot.may_loop, range(side.shape[1]))) for slot in reversed(space.temporal)]
        )[::-1].tolist()
        self.linking = [self._linking(level) for level in range(levels)]

    def matters(self, factors: list[Factors]) -> list[bool]:
        """Whether the order of spatial loops may matter at each level, whatever the temporal loops.

        It does where links below a level may serve a step. How far words go hangs on the order of all spatial loops.
        """
        return [
            any(factors[level][d] > 1 for d in here)
            or any(factors[k][d] > 1 for k in range(level, self.origin[level] + 1) for d in anywhere)
            or (self.wired and any(f > 1 for f in factors[level]))
            for level, (here, anywhere) in enumerate(self.linking)
        ]

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
            looping = [halo[d] for d in shared if self.loops_outside[level][d]]
            stateless = level == 0 or bool(self.space.reuse[level - 1].no_temporal_reuse)
            if stateless or len(looping) > len(set(looping)):
                anywhere.update(d for d, rank in enumerate(halo) if idle[d] and rank < 0)
        return sorted(here), sorted(anywhere)


@lru_cache(maxsize=65536)
def _moved_out(inside: Factors, outside: Factors, is_free: tuple[bool, ...]) -> tuple[Factors, Factors]:
    """Return the factors of a level and of the next outside, those that share no rank moved outward."""
    moved = list(zip(inside, outside, is_free, strict=True))
    return tuple([1 if f else a for a, _, f in moved]), tuple([a * b if f else b for a, b, f in moved])


class Candidates:
    """Every unrolling to be searched; of those that share their bounds one.

    Attributes
    ----------
    ids
        By unrolling and level the number of its spatial factors among those of the level.
    row
        Spatial factors by level, number and dimension. Of merged unrollings, the factors of dimensions that share no
        rank stand at the outermost level where they may be.
    origin
        By level, the outermost level whose factors merging may have taken from there.
    mirrored
        How many unrollings were left out as symmetric to others.
    whole
        Whether these are all: there are not too many, and the listing was not stopped.
    """

    def __init__(
        self,
        space: MapSpace,
        kept_dims: Ints,
        side: Records,
        stopped: Callable[[], bool],
        mirrors: Sequence[Mirror] = (),
        **takes: bool,
    ) -> None:
        self.space = space
        self.dims = kept_dims
        self.place = np.zeros(len(space.problem.bounds), np.int64)
        self.place[kept_dims] = np.arange(len(kept_dims))
        self.merging = _Merging(space, side, **takes)
        self.origin = np.array(self.merging.origin, np.int64)
        listed = _Listing(space, stopped)
        self.whole = listed.whole
        #: What each member has, and by unrolling its members: places in ``members``.
        self.members, self._own = listed.ids, listed.rows
        self.rows: list[list[Factors]] = listed.rows
        self.ids = listed.ids
        self.group = np.arange(len(self.ids))
        self.group_end = self.group + 1
        if self.merging.empty:
            self._merge()
            # What stands for several has an image where all of them have.
            mirrors = [mirror for mirror in mirrors if not mirror.turned.any()]
        self.mirrored = self._leave_out(mirrors) if self.whole else 0
        self._tables: dict[tuple[int, int, bool], tuple[int, int]] = {}
        self._loops: list[Arrangement] = []

    @cached_property
    def row(self) -> Ints:
        """Spatial factors by level, number and dimension."""
        found = np.ones((len(self.rows), max(map(len, self.rows)), len(self.dims)), np.int64)
        for level, rows in enumerate(self.rows):
            if rows:
                found[level, : len(rows)] = np.array(rows, np.int64)[:, self.dims]
        return found

    @property
    def factors(self) -> Ints:
        """Spatial factors of all unrollings, shape (unrollings, levels, dimensions)."""
        return self.row[np.arange(len(self.rows)), self.ids]

    def _merge(self) -> None:
        """Let one of all unrollings of the same bounds stand for them."""
        ids = self.ids.copy()
        rows = [list(own) for own in self.rows]
        for k in self.merging.empty:
            number = [{factors: n for n, factors in enumerate(own)} for own in rows[k : k + 2]]
            pairs, first = np.unique(ids[:, k] * np.int64(len(rows[k + 1])) + ids[:, k + 1], return_inverse=True)
            moved = np.empty((len(pairs), 2), np.int64)
            for n, pair in enumerate(pairs.tolist()):
                a, b = divmod(pair, len(rows[k + 1]))
                for side, factors in enumerate(_moved_out(rows[k][a], rows[k + 1][b], self.merging.is_free)):
                    moved[n, side] = number[side].setdefault(factors, len(number[side]))
            rows[k], rows[k + 1] = list(number[0]), list(number[1])
            ids[:, k : k + 2] = moved[first]
        code = np.zeros(len(ids), np.int64)
        for level, own in enumerate(rows):
            if code.max(initial=0) > np.iinfo(np.int64).max // (2 * max(1, len(own))):
                code = np.unique(code, return_inverse=True)[1]
            code = code * len(own) + ids[:, level]
        _, first, group = np.unique(code, return_index=True, return_inverse=True)
        # Numbered by their first members.
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        group = rank[group]
        self.members = self.members[np.argsort(group, kind="stable")]
        self.group_end = np.cumsum(np.bincount(group, minlength=len(order)))
        self.group = np.concatenate([[0], self.group_end[:-1]])
        self.ids, self.rows = ids[first[order]], rows

    def _leave_out(self, mirrors: Sequence[Mirror]) -> int:
        """Leave out unrollings that are symmetric to earlier ones; return how many."""
        splits = [slot is not None and slot.split is not None for slot in self.space.spatial]
        kept = firsts(self.rows, self.ids, mirrors, splits)
        self.ids, self.group, self.group_end = self.ids[kept], self.group[kept], self.group_end[kept]
        return int((~kept).sum())

    def arrange(self, u: int) -> tuple[Ints, bool]:
        """Return where the arrangements of an unrolling are, by member and level, and whether one order is enough.

        That is one order of the innermost loops. First and last place are those in `arrangements`.
        """
        here = self.merging.matters([own[n] for own, n in zip(self.rows, self.ids[u].tolist(), strict=True)])
        last = self.group_end[u] if any(here) else self.group[u] + 1
        places = [
            [self._arranged(level, n, matter) for level, (n, matter) in enumerate(zip(member, here, strict=True))]
            for member in self.members[self.group[u] : last].tolist()
        ]
        return np.array(places, np.int64), not here[0]

    @property
    def arrangements(self) -> int:
        """How many arrangements of spatial loops were asked for."""
        return len(self._loops)

    @property
    def loops(self) -> tuple[Ints, Records]:
        """All arrangements that were asked for."""
        return self.loops_after(np.zeros(0, np.int64), np.zeros((0, MAX_LOOPS), LOOP))

    def arranged(self, level: int, n: int) -> tuple[int, int]:
        """Return where all arrangements of some factors of a level are, the first and the one after the last."""
        return self._arranged(level, n, any(f > 1 for f in self._own[level][n]))

    def _arranged(self, level: int, n: int, matter: bool) -> tuple[int, int]:
        key = (level, n, matter)
        if key not in self._tables:
            slot, factors = self.space.spatial[level], self._own[level][n]
            options: tuple[Arrangement, ...] = ((),)
            if slot is not None:
                options = arrangements_of(slot, factors, self.space.arch.fanout[-1 - level])
                options = _distinct(options) if matter else options[:1]
            first = len(self._loops)
            self._loops += options
            self._tables[key] = first, first + len(options)
        return self._tables[key]

    def loops_after(self, counts: Ints, loops: Records) -> tuple[Ints, Records]:
        """Return `Arrangements.counts` and `Arrangements.loops` with all that `arrange` has added since these."""
        if len(counts) == len(self._loops):
            return counts, loops
        own, more = self.loops_of(len(counts), len(self._loops))
        return np.append(counts, own), np.concatenate([loops, more])

    def loops_of(self, first: int, last: int) -> tuple[Ints, Records]:
        """Return `Arrangements.counts` and `Arrangements.loops` of some arrangements."""
        some = self._loops[first:last]
        found = np.zeros((len(some), MAX_LOOPS), LOOP)
        for n, placed in enumerate(some):
            found[n, : len(placed)] = list(placed)
        found["dim"] = self.place[found["dim"]]
        return np.array([len(placed) for placed in some], np.int64), found


class _Listing:
    """All choices of spatial factors that fan-outs and constraints admit, in the order of `unrollings`."""

    def __init__(self, space: MapSpace, stopped: Callable[[], bool]) -> None:
        self.space, self.stopped, self.whole = space, stopped, True
        bounds, time = space.problem.bounds, space.temporal
        fixed = [math.prod(slot.fixed[d] for slot in time if not slot.is_open(d)) for d in range(len(bounds))]
        lefts: list[Factors] = [tuple([bound // f for bound, f in zip(bounds, fixed, strict=True)])]
        ones = (1,) * len(bounds)
        #: What is left of every unrolling so far: its place in ``lefts``.
        left: Ints = np.zeros(1, np.int64)
        ids: list[Ints] = []
        self.rows: list[list[Factors]] = []
        closed = [d for d in range(len(bounds)) if not any(slot.is_open(d) for slot in time)]
        for level, slot in enumerate(space.spatial):
            if slot is None:
                self.rows.append([ones])
                ids.append(np.zeros(len(left), np.int64))
                continue
            counts, row, after, lefts = self._extend(slot, space.arch.fanout[-1 - level], lefts)
            left, ids = self._spread(left, ids, counts, row, after)
        done = np.array([all(rest[d] == 1 for d in closed) for rest in lefts], np.bool_)[left]
        if space.min_parallelism:
            # Multiplied as Timeloop does, level by level from the innermost.
            share = np.ones(len(left))
            for level, one in enumerate(ids):
                units = math.prod(space.arch.fanout[-1 - level])
                share *= np.array([math.prod(factors) / units for factors in self.rows[level]])[one]
            done &= share >= space.min_parallelism
        self.ids: Ints = np.stack([one[done] for one in ids], axis=1)

    def _extend(
        self, slot: FactorSlot, fanout: tuple[int, int], lefts: list[Factors]
    ) -> tuple[Ints, Ints, Ints, list[Factors]]:
        """Return how many factors of a level each rest admits, their numbers, what they leave, and all such rests."""
        number: dict[Factors, int] = {}
        rests: dict[Factors, int] = {}
        row: list[int] = []
        after: list[int] = []
        counts = np.zeros(len(lefts), np.int64)
        for n, left in enumerate(lefts):
            before = len(row)
            for factors in fitting_choices(slot, left, fanout):
                row.append(number.setdefault(factors, len(number)))
                rest = tuple(map(floordiv, left, factors))
                after.append(rests.setdefault(rest, len(rests)))
            counts[n] = len(row) - before
            if len(row) > _FEW and self.stopped():
                self.whole = False
                break
        self.rows.append(list(number))
        return counts, np.array(row, np.int64), np.array(after, np.int64), list(rests)

    def _spread(self, left: Ints, ids: list[Ints], counts: Ints, row: Ints, after: Ints) -> tuple[Ints, list[Ints]]:
        """Return what is left of every unrolling with one level more, and the numbers of its factors by level."""
        many = counts[left]
        total = np.cumsum(many)
        if len(total) and total[-1] > MOST_UNROLLINGS:
            self.whole = False
            kept = max(1, int(np.searchsorted(total, MOST_UNROLLINGS)))
            left, many, ids, total = left[:kept], many[:kept], [one[:kept] for one in ids], total[:kept]
        parent = np.repeat(np.arange(len(left)), many)
        within = np.arange(len(parent)) - (total - many)[parent]
        at = (np.cumsum(counts) - counts)[left[parent]] + within
        return after[at], [*(one[parent] for one in ids), row[at]]


def _distinct(arrangements: tuple[Arrangement, ...]) -> tuple[Arrangement, ...]:
    """Leave one arrangement of each order: on a mesh that holds them, the axes of loops change no count."""
    return tuple({tuple((d, f) for d, f, _ in loops): loops for loops in reversed(arrangements)}.values())[::-1]
