"""Words that one data space moves through one boundary of a nest, in whole numbers, remainders and all.

The loops outside the boundary are run as Timeloop runs them. Instance 0 keeps its last tile, the shift that led to it,
and what it fetched. A step fetches the difference of two tiles if its shift is the last one, else the whole tile.
Runs that begin alike are counted once. Source: Timeloop 3.0.3 ``src/loop-analysis/nest-analysis.cpp``.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from jouleloop.proof.boxes import Box, Boxes, Offset, handed_on, less, offsets_of, same_but_moved, shares, shifted
from jouleloop.proof.design import Design, Factors, Nest

Words = int | Fraction
#: Walks that are kept, at most.
MOST_KNOWN = 50_000


class Loop(NamedTuple):
    """A loop: its end, its end in the last pass, and the indices that one iteration spans."""

    d: int
    end: int
    rest: int
    step: int
    spatial: bool


class Boundary(NamedTuple):
    """What stands at the boundary below a level and outside it.

    ``extent``: indices inside it by dimension; ``residual``: the same in the last pass; ``inner``, ``outer``: the loops
    that are unrolled at it and all others, outermost first; ``looping``: whether the level itself has temporal loops;
    ``units``: whether the compute units are inside, which remember nothing; ``early``: whether some loop has a
    remainder.
    """

    extent: Factors
    residual: Factors
    inner: tuple[Loop, ...]
    outer: tuple[Loop, ...]
    looping: bool
    mesh: tuple[int, int]
    units: bool
    early: bool


class State(NamedTuple):
    """What instance 0 remembers of the last step: its box, the last shift, what it fetched, and for how many units."""

    box: Box
    shift: Offset | None
    fetched: Boxes
    units: Offset

    def moved(self, by: Offset) -> "State":
        """Return the state seen from a place that lies so far back."""
        if not any(by):
            return self
        return self._replace(box=shifted(self.box, by), fetched=tuple(shifted(one, by) for one in self.fetched))


@dataclass
class Sums:
    """What some steps move."""

    #: Words by multicast and scatter factor; first whether no peer-to-peer transfer was among the steps.
    groups: dict[tuple[bool, int, int], int] = field(default_factory=lambda: defaultdict(int))
    links: int = 0
    sent: dict[tuple[Offset | None, ...], int] = field(default_factory=lambda: defaultdict(int))
    operations: int = 0

    def add(self, other: "Sums", times: int) -> None:
        """Add what other steps move, so many times."""
        self.links += other.links * times
        self.operations += other.operations * times
        for key, words in other.groups.items():
            self.groups[key] += words * times
        for boxes, words in other.sent.items():
            self.sent[boxes] += words * times


@dataclass
class Flow:
    """What one data space moves below one level."""

    #: Words by multicast and scatter factor, and those of peer-to-peer transfers.
    groups: dict[tuple[int, int], Words] = field(default_factory=dict)
    links: int = 0
    #: Words by the box of every instance; None where a neighbour hands it on.
    sent: dict[tuple[Offset | None, ...], int] = field(default_factory=dict)
    #: Operations of one unit on average.
    operations: Words = 0
    #: Words of the box held, and of that which all instances below span together; 0 where nothing is unrolled.
    tile: int = 0
    sibling: int = 0
    #: The groups in doubles: what Timeloop cuts to whole numbers hangs on its rounding.
    carries: list[tuple[int, int, float]] = field(default_factory=list)
    #: Words that one instance of the level ever sees.
    partition: int = 0
    #: What instances send to each other's inner nodes: multicast, scatter, words, and words over those sent before.
    carried: tuple[int, int, Words, Words] | None = None

    def only(self) -> tuple[int, int, Words] | None:
        """Return the one group of transfers; None where there is none or several."""
        moving = [(*key, words) for key, words in self.groups.items() if words]
        return moving[0] if len(moving) == 1 else None

    def words(self) -> Words:
        """Return the words that leave the level."""
        return sum(self.groups.values())

    def received(self) -> Words:
        """Return the words that all instances below receive together."""
        return sum(words * multicast for (multicast, _), words in self.groups.items())


def flows_of(design: Design, nest: Nest, v: int, *, early: bool) -> list[Flow]:
    """Return what a data space moves below each level, innermost first; ``early``: whether a loop has a remainder."""
    ranks, bounds = design.ranks[v], design.bounds
    loops, start = _loops_of(nest, bounds)
    flows: list[Flow] = []
    for k, (begin, middle) in enumerate(start[:-1]):
        after = start[k + 1][0]
        if early and k and middle == begin and not nest.keep[k - 1][v]:
            # Words pass here on their way only: as many as are asked for inside.
            flow = Flow({(1, 1): 1})
        else:
            inner, outer = tuple(loops[begin:middle][::-1]), tuple(loops[middle:][::-1])
            mesh, inside = mesh_of(design, nest, k), _spans(loops, bounds, begin)
            flow = _walked(design, v, Boundary(*inside, inner, outer, after > middle, mesh, k == 0, early))
        sibling = _largest(ranks, loops, bounds, middle) if middle > begin else 0
        flows.append(replace(flow, tile=_largest(ranks, loops, bounds, after), sibling=sibling))
    return flows


def _loops_of(nest: Nest, bounds: Factors) -> tuple[list[Loop], list[tuple[int, int]]]:
    """Return all loops innermost first, and where each level's spatial and temporal ones begin."""
    loops: list[Loop] = []
    start = []
    span = [1] * len(bounds)
    for temporal, spatial in zip(nest.temporal, nest.spatial, strict=True):
        own = [(d, end, True) for d, end, _ in reversed(spatial) if end > 1]
        start.append((len(loops), len(loops) + len(own)))
        for d, end, unrolled in [*own, *((d, end, False) for d, end in reversed(temporal) if end > 1)]:
            outside = -(-bounds[d] // (span[d] * end))
            loops.append(Loop(d, end, -(-bounds[d] // span[d]) - end * (outside - 1), span[d], unrolled))
            span[d] *= end
    return loops, [*start, (len(loops), len(loops))]


def mesh_of(design: Design, nest: Nest, k: int) -> tuple[int, int]:
    """Return columns and rows of the mesh below a level."""
    along = {"X": 1, "Y": 1}
    for _, end, axis in nest.spatial[k]:
        along[axis] *= end
    columns, rows = design.levels[k].fanout
    return max(along["X"], columns), max(along["Y"], rows)


def _spans(loops: Sequence[Loop], bounds: Factors, first: int) -> tuple[Factors, Factors]:
    """Return how many indices the loops inside ``first`` span by dimension, in general and in the last pass."""
    extent = [1] * len(bounds)
    for loop in loops[:first]:
        extent[loop.d] *= loop.end
    last = (bound - size * (-(-bound // size) - 1) for bound, size in zip(bounds, extent, strict=True))
    return tuple(extent), tuple(last)


def _sides(ranks: Sequence[dict[int, int]], extent: Sequence[int]) -> Offset:
    return tuple(1 + sum(c * (extent[d] - 1) for d, c in rank.items()) for rank in ranks)


def _largest(ranks: Sequence[dict[int, int]], loops: Sequence[Loop], bounds: Factors, first: int) -> int:
    """Return the words of the box that the loops inside ``first`` span at the first step."""
    extent, residual = _spans(loops, bounds, first)
    going = {loop.d for loop in loops[first:] if loop.rest > 1}
    return math.prod(_sides(ranks, [extent[d] if d in going else residual[d] for d in range(len(bounds))]))


def _walked(design: Design, v: int, at: Boundary) -> Flow:
    """Return what moves below a level; nests that differ inside it alone share the walk."""
    known: dict[tuple[int, Boundary], Flow] = design.walks
    if (v, at) not in known:
        if len(known) > MOST_KNOWN:
            known.clear()
        known[v, at] = Walk(design, v, at).count()
    return known[v, at]


class Walk:
    """The steps of one boundary."""

    def __init__(self, design: Design, v: int, at: Boundary) -> None:
        self.ranks, self.resting, self.at = design.ranks[v], design.resting, at
        self.most = 0
        self.known: dict[object, tuple[Sums, State | None]] = {}
        self.sides: dict[frozenset[int], Offset] = {}

    def count(self) -> Flow:
        """Return all transfers, and how many operations a unit does on average."""
        sums, _ = self.run(0, frozenset(range(len(self.at.extent))), None)
        groups: dict[tuple[int, int], Words] = defaultdict(int)
        # Timeloop adds groups up in this order, in doubles.
        for key in sorted(sums.groups, key=lambda key: key[0]):
            groups[key[1:]] += sums.groups[key]
        return Flow(groups, sums.links, sums.sent, Fraction(sums.operations, self.most))

    def run(self, depth: int, last: frozenset[int], state: State | None) -> tuple[Sums, State | None]:
        """Return what the loops from ``depth`` inward move, and the state after them; ``last``: dimensions in it."""
        if depth == len(self.at.outer):
            return self.step(last, state)
        key = depth, last, state
        if key in self.known:
            return self.known[key]
        loop = self.at.outer[depth]
        total = Sums()
        for index, times in self.iterations(loop, depth, loop.d in last):
            now = last if index + 1 >= loop.rest or not self.at.early else last - {loop.d}
            by = tuple(rank.get(loop.d, 0) * loop.step * index for rank in self.ranks)
            found, after = self.run(depth + 1, now, state and state.moved(tuple(-n for n in by)))
            state = after and after.moved(by)
            if times:
                total.add(found, times)
        self.known[key] = total, state
        return total, state

    def iterations(self, loop: Loop, depth: int, last: bool) -> Sequence[tuple[int, int]]:
        """Return the iterations that are run, and for how many each counts."""
        end = 1 if loop.spatial else loop.rest if last else loop.end
        if not self.at.early:
            return [(0, 1), (1, end - 1)][:end]
        if end <= 3:
            return [(i, 1) for i in range(end)]
        if depth == len(self.at.outer) - 1 and self.at.looping and not self.at.inner:
            # The loop next to the boundary counts its iterations another way, as no loop is unrolled there.
            return [(0, 1), (1, end - 2), (end - 2, 0), (end - 1, 1)]
        return [(0, 1), (1, end - 3), (end - 2, 1), (end - 1, 1)]

    def step(self, last: frozenset[int], state: State | None) -> tuple[Sums, State | None]:
        """Return what one step moves, and the state after it."""
        at = self.at
        short = last - {loop.d for loop in at.inner if loop.rest > 1}
        if short not in self.sides:
            spans = [at.residual[d] if d in short else size for d, size in enumerate(at.extent)]
            self.sides[short] = _sides(self.ranks, spans)
        sides = self.sides[short]
        box = tuple((0, side) for side in sides)
        fetched: Boxes = (box,)
        shift: Offset | None = None
        if state and not at.units:
            by = tuple(_centre(side - a - b) for side, (a, b) in zip(sides, state.box, strict=True))
            if self.resting and not any(by):
                fetched, shift = less(box, state.box), state.shift
            elif state.shift in (None, by):
                fetched, shift = less(box, state.box), by
        units = tuple(loop.rest if loop.d in last else loop.end for loop in at.inner)
        sums = Sums(operations=math.prod(units))
        self.most = max(self.most, sums.operations)
        words = sum(math.prod(b - a for a, b in one) for one in fetched)
        if words:
            self.transfer(sums, words, fetched, units, state)
        # Units remember what their neighbours ask for alone.
        return sums, State(box, shift, fetched, units) if at.inner or not at.units else None

    def transfer(self, sums: Sums, words: int, fetched: Boxes, units: Offset, state: State | None) -> None:
        """Add the words of one step: what neighbours held goes from peer to peer, each other box once to all of it."""
        at, offsets = self.at, self._offsets(units)
        linked: frozenset[int] = frozenset()
        need = same_but_moved(fetched, state.fetched) if state and at.inner else None
        if state and need is not None:
            linked = handed_on(offsets, self._offsets(state.units), need, at.mesh)
        if linked and len(set(offsets)) == len({one for place, one in enumerate(offsets) if place not in linked}):
            linked = frozenset()
        sums.links = words * len(linked)
        for size, number in shares(offsets, linked):
            sums.groups[at.early or not linked, size, number] = words * number
        if at.inner and not at.early:
            sums.sent[tuple(None if i in linked else one for i, one in enumerate(offsets))] = words

    def _offsets(self, units: Offset) -> tuple[Offset, ...]:
        """Return the index offset of every instance, the innermost spatial loop running fastest."""
        steps = [tuple(rank.get(loop.d, 0) * loop.step for rank in self.ranks) for loop in self.at.inner]
        return offsets_of(tuple(zip(units, steps, strict=True)), len(self.ranks))


def _centre(twice: int) -> int:
    """Return half of a number, rounded away from zero: the shift of a centre."""
    return (abs(twice) + 1) // 2 * (-1 if twice < 0 else 1)
