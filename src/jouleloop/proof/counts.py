"""Words that one data space moves through one boundary of a nest, in whole numbers, remainders and all.

The loops outside the boundary are run as Timeloop runs them. Instance 0 keeps its last tile, the shift that led to it,
and what it fetched. A step fetches the difference of two tiles if its shift is the last one, else the whole tile.
Runs that begin alike are counted once. Source: Timeloop 3.0.3 ``src/loop-analysis/nest-analysis.cpp``.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from jouleloop.proof.design import Design, Factors, Nest

#: By rank of a data space, the coefficient of every dimension that moves it.
Ranks = Sequence[dict[int, int]]
Offset = tuple[int, ...]
#: Boxes, each by rank (first, one after the last).
Boxes = tuple[tuple[tuple[int, int], ...], ...]
Words = int | Fraction
#: Groups of transfers, peer-to-peer words, words by boxes, and the operations of one unit on average.
Moved = tuple[dict[tuple[int, int], Words], int, dict[tuple[Offset | None, ...], int], Fraction]
#: Walks that are kept, at most.
MOST_KNOWN = 50_000


class Loop(NamedTuple):
    """A loop: its end, its end in the last pass, and the indices that one iteration spans."""

    d: int
    end: int
    rest: int
    step: int
    spatial: bool


class State(NamedTuple):
    """What instance 0 remembers of the last step: its box, the last shift, what it fetched, and for how many units."""

    box: tuple[tuple[int, int], ...]
    shift: Offset | None
    fetched: Boxes
    units: Offset

    def moved(self, by: Offset) -> "State":
        """Return the state seen from another place."""
        if not any(by):
            return self
        box = tuple((a - n, b - n) for (a, b), n in zip(self.box, by, strict=True))
        boxes = tuple(tuple((a - n, b - n) for (a, b), n in zip(one, by, strict=True)) for one in self.fetched)
        return State(box, self.shift, boxes, self.units)


@dataclass
class Sums:
    """What some steps move."""

    groups: dict[tuple[bool, int, int], int] = field(default_factory=dict)
    """Words by multicast and scatter factor; first whether no peer-to-peer transfer was among the steps."""
    links: int = 0
    sent: dict[tuple[Offset | None, ...], int] = field(default_factory=dict)
    operations: int = 0

    def add(self, other: "Sums", times: int) -> None:
        """Add what other steps move, so many times."""
        self.links += other.links * times
        self.operations += other.operations * times
        for key, words in other.groups.items():
            self.groups[key] = self.groups.get(key, 0) + words * times
        for boxes, words in other.sent.items():
            self.sent[boxes] = self.sent.get(boxes, 0) + words * times

    def record(self, boxes: Counter[Offset], words: int, *, plain: bool) -> None:
        """Add words for every distinct box; those that equally many instances need form a group."""
        for size, number in Counter(boxes.values()).items():
            self.groups[plain, size, number] = words * number


@dataclass
class Flow:
    """What one data space moves below one level."""

    tile: int = 0
    """Words of the box held."""
    sibling: int = 0
    """Words of the box that all instances below span together; 0 where nothing is unrolled."""
    groups: dict[tuple[int, int], Words] = field(default_factory=dict)
    """Words by multicast and scatter factor."""
    links: int = 0
    """Words of peer-to-peer transfers."""
    sent: dict[tuple[Offset | None, ...], int] = field(default_factory=dict)
    """Words by the box of every instance; None where a neighbour hands it on."""
    carries: list[tuple[int, int, float]] = field(default_factory=list)
    """The groups in doubles: what Timeloop cuts to whole numbers hangs on its rounding."""
    partition: int = 0
    """Words that one instance of the level ever sees."""
    carried: tuple[int, int, Words, Words] | None = None
    """What instances send to each other's inner nodes: multicast, scatter, words, and words over those sent before."""

    def only(self) -> tuple[int, int, Words] | None:
        """Return the one group of transfers; None where there is none or several."""
        moving = [(*key, words) for key, words in self.groups.items() if words]
        return moving[0] if len(moving) == 1 else None

    def words(self) -> Words:
        """Return the words that leave the level."""
        return sum(self.groups.values())


def loops_of(nest: Nest, bounds: Factors) -> tuple[list[Loop], list[tuple[int, int]]]:
    """Return all loops innermost first, and where each level's spatial and temporal ones begin."""
    flat: list[tuple[int, int, bool]] = []
    start = []
    for temporal, spatial in zip(nest.temporal, nest.spatial, strict=True):
        own = [(d, end, True) for d, end, _ in reversed(spatial) if end > 1]
        start.append((len(flat), len(flat) + len(own)))
        flat += own + [(d, end, False) for d, end in reversed(temporal) if end > 1]
    start.append((len(flat), len(flat)))
    span = [1] * len(bounds)
    loops = []
    for d, end, spatial_loop in flat:
        passes = -(-bounds[d] // span[d])
        outside = -(-bounds[d] // (span[d] * end))
        loops.append(Loop(d, end, passes - end * (outside - 1), span[d], spatial_loop))
        span[d] *= end
    return loops, start


def flows_of(design: Design, nest: Nest, v: int, *, early: bool) -> tuple[list[Flow], Words]:
    """Return what a data space moves below each level, innermost first, and the operations of one unit on average.

    Parameters
    ----------
    early
        Whether some loop has a remainder.
    """
    ranks, bounds = design.ranks[v], design.bounds
    loops, start = loops_of(nest, bounds)
    flows: list[Flow] = []
    operations: Words = 0
    for k in range(len(design.levels)):
        begin, middle, after = *start[k], start[k + 1][0]
        flow = Flow(_largest(ranks, loops, bounds, after))
        if middle > begin:
            flow.sibling = _largest(ranks, loops, bounds, middle)
        if k == 0 and middle == begin:
            operations = _points(loops, len(bounds))
            flow.groups[1, 1] = operations
        elif early and k and middle == begin and not nest.keep[k - 1][v]:
            # Words pass here on their way only: as many as are asked for inside.
            flow.groups[1, 1] = 1
        else:
            flow.groups, flow.links, flow.sent, average = _walked(design, nest, v, k, loops, start, early=early)
            operations = average if k == 0 else operations
        flows.append(flow)
    return flows, operations


def _walked(
    design: Design, nest: Nest, v: int, k: int, loops: list[Loop], start: list[tuple[int, int]], *, early: bool
) -> Moved:
    """Return what moves below a level; nests that differ inside it alone share the walk."""
    begin, middle, after = *start[k], start[k + 1][0]
    mesh = mesh_of(design, nest, k)
    key = (
        v,
        k,
        early,
        middle - begin,
        after - begin,
        mesh,
        tuple(_spans(loops, design.bounds, begin)[0]),
        tuple(loops[begin:]),
    )
    known: dict[object, Moved] = design.walks
    if key not in known:
        if len(known) > MOST_KNOWN:
            known.clear()
        walk = Walk(design, v, loops, (begin, middle, after), mesh, early=early, stateless=k == 0)
        known[key] = walk.count()
    return known[key]


def mesh_of(design: Design, nest: Nest, k: int) -> tuple[int, int]:
    """Return columns and rows of the mesh below a level."""
    along = {"X": 1, "Y": 1}
    for _, end, axis in nest.spatial[k]:
        along[axis] *= end
    return max(along["X"], design.levels[k].fan_x), max(along["Y"], design.levels[k].fan_y)


def _spans(loops: Sequence[Loop], bounds: Factors, first: int) -> tuple[list[int], list[int]]:
    """Return how many indices the loops inside ``first`` span by dimension, in general and in the last pass."""
    extent = [1] * len(bounds)
    for loop in loops[:first]:
        extent[loop.d] *= loop.end
    return extent, [bound - size * (-(-bound // size) - 1) for bound, size in zip(bounds, extent, strict=True)]


def _sides(ranks: Ranks, extent: Sequence[int]) -> Offset:
    return tuple(1 + sum(c * (extent[d] - 1) for d, c in rank.items()) for rank in ranks)


def _largest(ranks: Ranks, loops: Sequence[Loop], bounds: Factors, first: int) -> int:
    """Return the words of the box that the loops inside ``first`` span at the first step."""
    extent, residual = _spans(loops, bounds, first)
    going = {loop.d for loop in loops[first:] if loop.rest > 1}
    return math.prod(_sides(ranks, [extent[d] if d in going else residual[d] for d in range(len(bounds))]))


def _points(loops: Sequence[Loop], dims: int) -> int:
    """Return how many points instance 0 computes."""
    inside, last = [1] * dims, [1] * dims
    for d, end, rest, _, spatial in loops:
        if spatial:
            last[d] = last[d] if rest == 1 else inside[d]
        else:
            last[d] += (rest - 1) * inside[d]
            inside[d] *= end
    return math.prod(last)


class Walk:
    """The steps of one boundary."""

    def __init__(
        self, design: Design, v: int, loops: list[Loop], at: tuple[int, int, int], mesh: tuple[int, int], *,
        early: bool, stateless: bool,
    ) -> None:  # fmt: skip
        begin, middle, after = at
        self.ranks, self.mesh, self.early, self.stateless = design.ranks[v], mesh, early, stateless
        self.resting = design.resting
        #: Whether the loop next to the boundary counts its iterations another way, as no loop is unrolled there.
        self.nearest = middle == begin and after > middle
        self.extent, self.residual = _spans(loops, design.bounds, begin)
        #: Outermost first.
        self.outer, self.spatial = loops[middle:][::-1], loops[begin:middle][::-1]
        self.most = 0
        self.known: dict[object, tuple[Sums, State | None]] = {}
        self.boxes: dict[frozenset[int], Offset] = {}
        moved = {loop.d for loop in self.spatial if any(loop.d in rank for rank in self.ranks)}
        self.relevant = moved
        self.shared = any(len(moved & rank.keys()) > 1 for rank in self.ranks)

    def count(self) -> Moved:
        """Return all transfers, and how many operations a unit does on average."""
        sums, _ = self.run(0, frozenset(range(len(self.extent))), None)
        groups: dict[tuple[int, int], Words] = {}
        # Timeloop adds groups up in this order, in doubles.
        for plain, multicast, scatter in sorted(sums.groups, key=lambda key: key[0]):
            words = sums.groups[plain, multicast, scatter]
            groups[multicast, scatter] = groups.get((multicast, scatter), 0) + words
        return groups, sums.links, sums.sent, Fraction(sums.operations, self.most)

    def run(self, depth: int, last: frozenset[int], state: State | None) -> tuple[Sums, State | None]:
        """Return what the loops from ``depth`` inward move, and the state after them; ``last``: dimensions in it."""
        if depth == len(self.outer):
            return self.step(last, state)
        key = depth, last, state
        if key in self.known:
            return self.known[key]
        loop = self.outer[depth]
        total = Sums()
        for index, times in self.iterations(loop, depth, loop.d in last):
            now = last if index + 1 >= loop.rest or not self.early else last - {loop.d}
            by = tuple(rank.get(loop.d, 0) * loop.step * index for rank in self.ranks)
            found, after = self.run(depth + 1, now, state and state.moved(by))
            state = after and after.moved(tuple(-n for n in by))
            if times:
                total.add(found, times)
        self.known[key] = total, state
        return total, state

    def iterations(self, loop: Loop, depth: int, last: bool) -> Sequence[tuple[int, int]]:
        """Return the iterations that are run, and for how many each counts."""
        end = 1 if loop.spatial else loop.rest if last else loop.end
        if not self.early:
            return [(0, 1), (1, end - 1)][:end]
        if end <= 3:
            return [(i, 1) for i in range(end)]
        if self.nearest and depth == len(self.outer) - 1:
            return [(0, 1), (1, end - 2), (end - 2, 0), (end - 1, 1)]
        return [(0, 1), (1, end - 3), (end - 2, 1), (end - 1, 1)]

    def step(self, last: frozenset[int], state: State | None) -> tuple[Sums, State]:
        """Return what one step moves, and the state after it."""
        short = last - {loop.d for loop in self.spatial if loop.rest > 1}
        if short not in self.boxes:
            spans = [self.residual[d] if d in short else n for d, n in enumerate(self.extent)]
            self.boxes[short] = _sides(self.ranks, spans)
        sides = self.boxes[short]
        box = tuple((0, side) for side in sides)
        fetched: Boxes = (box,)
        shift: Offset | None = None
        if state and not self.stateless:
            by = tuple(_centre(side - a - b) for side, (a, b) in zip(sides, state.box, strict=True))
            if self.resting and not any(by):
                fetched, shift = _less(box, state.box), state.shift
            elif state.shift in (None, by):
                fetched, shift = _less(box, state.box), by
        units = tuple(loop.rest if loop.d in last else loop.end for loop in self.spatial)
        count = math.prod(units)
        self.most = max(self.most, count)
        sums = Sums(operations=count)
        words = sum(math.prod(b - a for a, b in one) for one in fetched)
        if words:
            self.transfer(sums, words, fetched, units, state)
        return sums, State(box, shift, fetched, units)

    def transfer(self, sums: Sums, words: int, fetched: Boxes, units: Offset, state: State | None) -> None:
        """Add the words of one step: what neighbours held goes from peer to peer, each other box once to all of it."""
        offsets = self.offsets(units) if self.spatial else ()
        need = _same_but_moved(fetched, state.fetched) if state and self.spatial else None
        if state and need is not None:
            linked = handed_on(offsets, self.offsets(state.units), need, *self.mesh)
            left = Counter(offset for i, offset in enumerate(offsets) if i not in linked)
            if linked and len(left) < len(set(offsets)):
                sums.links = words * len(linked)
                sums.record(left, words, plain=self.early)
                if not self.early:
                    sums.sent[tuple(None if i in linked else one for i, one in enumerate(offsets))] = words
                return
        if self.spatial and not self.early:
            sums.sent[offsets] = words
        if self.shared:
            sums.record(Counter(offsets), words, plain=True)
            return
        ends = [(end, loop.d in self.relevant) for loop, end in zip(self.spatial, units, strict=True)]
        multicast, scatter = (math.prod(end for end, moved in ends if moved is kind) for kind in (False, True))
        sums.groups[True, multicast, scatter] = words * scatter

    def offsets(self, units: Offset) -> tuple[Offset, ...]:
        """Return the index offset of every instance, the innermost spatial loop running fastest."""
        steps = [tuple(rank.get(loop.d, 0) * loop.step for rank in self.ranks) for loop in self.spatial]
        return _offsets(tuple(zip(units, steps, strict=True)), len(self.ranks))


@cache
def _offsets(loops: tuple[tuple[int, Offset], ...], ranks: int) -> tuple[Offset, ...]:
    found: list[Offset] = [(0,) * ranks]
    for end, step in loops:
        found = [tuple(o + i * u for o, u in zip(at, step, strict=True)) for at in found for i in range(end)]
    return tuple(found)


@cache
def handed_on(
    offsets: tuple[Offset, ...], before: tuple[Offset, ...], need: Offset, columns: int, rows: int
) -> frozenset[int]:
    """Return the instances at ``offsets`` whose words a mesh neighbour held, when all were at ``before``."""
    found = set()
    for i, offset in enumerate(offsets):
        row, column = divmod(i, columns)
        if row >= rows:
            continue
        wanted = tuple(o + n for o, n in zip(offset, need, strict=True))
        sides = [(row >= 1, i - columns), (row + 1 < rows, i + columns)]
        sides += [(column >= 1, i - 1), (column + 1 < columns, i + 1)]
        if any(there and other < len(before) and before[other] == wanted for there, other in sides):
            found.add(i)
    return frozenset(found)


def _centre(twice: int) -> int:
    """Return half of a number, rounded away from zero: the shift of a centre."""
    return (abs(twice) + 1) // 2 * (-1 if twice < 0 else 1)


def _less(box: tuple[tuple[int, int], ...], other: tuple[tuple[int, int], ...]) -> Boxes:
    """Return ``box`` less ``other`` as slices (``AAHR::MultiSubtract``)."""
    if any(b <= c or d <= a for (a, b), (c, d) in zip(box, other, strict=True)):
        return (box,)
    middle, parts = list(box), []
    for r, (low, high) in enumerate(other):
        a, b = middle[r]
        if a < low:
            parts.append((*middle[:r], (a, low), *middle[r + 1 :]))
        if high < b:
            parts.append((*middle[:r], (high, b), *middle[r + 1 :]))
        middle[r] = max(a, low), min(b, high)
    return tuple(parts)


def _same_but_moved(parts: Boxes, before: Boxes) -> Offset | None:
    """Return by how much ``parts`` are ``before`` moved, if they are (``MultiAAHR::operator ==``)."""
    if len(parts) != len(before) or not parts:
        return None
    need = tuple(min(one[r][0] for one in parts) - min(one[r][0] for one in before) for r in range(len(parts[0])))
    moved = {tuple((a + n, b + n) for (a, b), n in zip(one, need, strict=True)) for one in before}
    return need if set(parts) <= moved else None
