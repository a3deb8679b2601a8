"""Transfers of a nest whose loops need not divide, in symbols: the rules of `jouleloop.model.residual`.

The symbols are the ends of the loops, and for every loop how many steps its dimension takes from there outward: for a
bound B and a tile of t indices inside the loop, that is ⌈B / t⌉. A residual end follows from them: the steps less those
of all runs but the last. So sums over runs that end early and runs that do not become products of such steps.

The kernel visits all iterations that Timeloop executes. Here a run of loops is visited once for all the times that it
begins alike: with the same dimensions in their last iteration, and the last box in the same place beside the new one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jouleloop.model.polynomial import Polynomial
from jouleloop.model.symbolic_accesses import SymbolicFlow
from jouleloop.model.symbolic_transfers import (
    ONE,
    ZERO,
    Projection,
    SymbolicLevel,
    SymbolicLoop,
    box_sides,
    handed_on,
    less,
    multicast_of,
    offsets_of,
    product,
    subtracts,
)

#: Dimensions that are in their last iteration.
Last = frozenset[int]
#: Parts of a box by rank, (first, one after the last); numbers, relative to where the loops outside stand.
Parts = tuple[tuple[tuple[int, int], ...], ...]
_Key = tuple[tuple[int, int], ...]


class _State(NamedTuple):
    """What a level remembers of the last step: place, size and last move of its box, what it fetched, and for whom."""

    low: tuple[Polynomial, ...]
    early: Last
    move: tuple[int, ...] | None
    parts: Parts
    ends: tuple[int, ...]

    def shifted(self, by: Sequence[Polynomial]) -> "_State":
        """Return the state seen from another place."""
        numbers = [int(shift.value) for shift in by]
        if not any(numbers):
            return self
        parts = tuple(tuple((a - n, b - n) for (a, b), n in zip(part, numbers, strict=True)) for part in self.parts)
        low = tuple(at - shift for at, shift in zip(self.low, by, strict=True))
        return self._replace(low=low, parts=parts)

    def key(self) -> tuple[object, ...]:
        """Return what tells states apart."""
        return (*(frozenset(at.terms.items()) for at in self.low), *self[1:])


@dataclass
class _Sum:
    """What some steps transfer: words by multicast and scatter factors, words on links, and operations."""

    groups: dict[object, tuple[Polynomial, Polynomial, Polynomial]] = field(default_factory=dict)
    links: Polynomial = ZERO
    operations: Polynomial = ZERO

    def add(self, multicast: Polynomial, scatter: Polynomial, words: Polynomial) -> None:
        """Add transfers to those of the same factors."""
        key = frozenset(multicast.terms.items()), frozenset(scatter.terms.items())
        _, _, before = self.groups.get(key, (multicast, scatter, ZERO))
        self.groups[key] = (multicast, scatter, before + words)

    def add_all(self, other: "_Sum", times: Polynomial | None) -> None:
        """Add what other steps transfer, so many times."""
        for key, (multicast, scatter, words) in other.groups.items():
            _, _, before = self.groups.get(key, (multicast, scatter, ZERO))
            self.groups[key] = (multicast, scatter, before + (words if times is None else words * times))
        self.links = self.links + (other.links if times is None else other.links * times)
        self.operations = self.operations + (other.operations if times is None else other.operations * times)


class _Early(NamedTuple):
    """A loop with its residual end."""

    dim: int
    end: Polynomial
    rest: Polynomial
    step: Polynomial
    spatial: bool


def residual_transfers(
    coef: Projection, levels: list[SymbolicLevel], bounds: Sequence[Polynomial], passes: Sequence[Sequence[Polynomial]],
    kept: Sequence[bool],
) -> tuple[list[SymbolicFlow], Polynomial]:  # fmt: skip
    """Return what one data space moves below each level, and the operations of one unit, on average.

    Parameters
    ----------
    bounds
        By dimension.
    passes
        By level, innermost first: the steps of every loop's dimension from that loop outward, spatial loops first, each
        kind outermost first, as in ``levels``.
    kept
        By level: whether the data space is kept.
    """
    loops, start = _flatten(levels, passes, len(bounds))
    flows = []
    operations = ZERO
    for index, level in enumerate(levels):
        begin, middle, after = start[index][0], start[index][1], start[index + 1][0]
        flow = SymbolicFlow(_largest(coef, loops, bounds, after, after))
        if middle > begin:
            flow.sibling = _largest(coef, loops, bounds, middle, middle)
        if index == 0 and middle == begin:
            operations = _points(loops, len(bounds))
            flow.add(ONE, ONE, operations)
        elif index and middle == begin and not kept[index - 1]:
            # Words pass here on their way only: as many as are asked for inside.
            flow.add(ONE, ONE, ONE)
        else:
            nearest = middle if middle == begin and after > middle else -1
            walk = _Walk(coef, loops, bounds, (begin, middle), nearest, level, stateless=index == 0)
            found, average = walk.count()
            flow.groups, flow.links = list(found.groups.values()), found.links
            if index == 0:
                operations = average
        flows.append(flow)
    return flows, operations


def _flatten(
    levels: list[SymbolicLevel], passes: Sequence[Sequence[Polynomial]], dims: int
) -> tuple[list[_Early], list[tuple[int, int]]]:
    """Return all loops innermost first, and where each level's spatial and temporal ones begin."""
    flat: list[tuple[SymbolicLoop, Polynomial, bool]] = []
    start = []
    for level, steps in zip(levels, passes, strict=True):
        start.append((len(flat), len(flat) + len(level.spatial)))
        inside = len(level.spatial)
        flat += [(loop, n, True) for loop, n in reversed([*zip(level.spatial, steps[:inside], strict=True)])]
        flat += [(loop, n, False) for loop, n in reversed([*zip(level.temporal, steps[inside:], strict=True)])]
    start.append((len(flat), len(flat)))
    outward = [ONE] * dims
    loops = []
    for loop, steps_here, spatial in reversed(flat):
        rest = steps_here - loop.bound * (outward[loop.dim] - 1)
        outward[loop.dim] = steps_here
        loops.append(_Early(loop.dim, loop.bound, rest, ONE, spatial))
    loops.reverse()
    extent = [ONE] * dims
    for k, one in enumerate(loops):
        loops[k] = one._replace(step=extent[one.dim])
        extent[one.dim] = extent[one.dim] * one.end
    return loops, start


def _spans(loops: list[_Early], bounds: Sequence[Polynomial], first: int) -> tuple[list[Polynomial], list[Polynomial]]:
    """Return how many indices the loops inside ``first`` span by dimension, in general and at the last."""
    extent, runs = [ONE] * len(bounds), [ONE] * len(bounds)
    for loop in loops[:first]:
        extent[loop.dim] = extent[loop.dim] * loop.end
    for loop in reversed(loops[first:]):
        # Steps of all runs, the last of which ends early.
        runs[loop.dim] = (runs[loop.dim] - 1) * loop.end + loop.rest
    return extent, [bound - size * (run - 1) for bound, size, run in zip(bounds, extent, runs, strict=True)]


def _largest(
    coef: Projection, loops: list[_Early], bounds: Sequence[Polynomial], first: int, outside: int
) -> Polynomial:
    """Return the words of the largest box that the loops inside ``first`` span; it is that of the first step."""
    extent, residual = _spans(loops, bounds, first)
    last = _last_at_start(loops[outside:], len(bounds))
    return product(box_sides(coef, [residual[d] if d in last else extent[d] for d in range(len(bounds))]))


def _last_at_start(loops: list[_Early], dims: int) -> Last:
    return frozenset(range(dims)) - {loop.dim for loop in loops if loop.rest.value > 1}


def _points(loops: list[_Early], dims: int) -> Polynomial:
    """Return how many points instance 0 computes."""
    inside, inside_last = [ONE] * dims, [ONE] * dims
    for loop in loops:
        d = loop.dim
        if loop.spatial:
            inside_last[d] = inside_last[d] if loop.rest.value == 1 else inside[d]
        else:
            inside_last[d] = (loop.rest - 1) * inside[d] + inside_last[d]
            inside[d] = inside[d] * loop.end
    return product(inside_last)


class _Walk:
    """The steps of one boundary."""

    def __init__(
        self, coef: Projection, loops: list[_Early], bounds: Sequence[Polynomial], at: tuple[int, int], nearest: int,
        level: SymbolicLevel, *, stateless: bool,
    ) -> None:  # fmt: skip
        self.coef, self.level, self.stateless, self.nearest = coef, level, stateless, nearest
        begin, self.middle = at
        self.extent, self.residual = _spans(loops, bounds, begin)
        self.dims = len(bounds)
        #: Outermost first.
        self.outer = loops[self.middle :][::-1]
        self.spatial = loops[begin : self.middle][::-1]
        self.most = ZERO
        self._known: dict[object, tuple[_Sum, _State | None]] = {}
        self._instances: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self._boxes: dict[Last, list[Polynomial]] = {}

    def count(self) -> tuple[_Sum, Polynomial]:
        """Return all transfers, and how many operations a unit does on average."""
        found, _ = self._run(0, frozenset(range(self.dims)), None)
        return found, found.operations.over(self.most)

    def _run(self, depth: int, last: Last, state: _State | None) -> tuple[_Sum, _State | None]:
        """Return what the loops from ``depth`` inward transfer, and the state after them."""
        if depth == len(self.outer):
            return self._step(last, state)
        key = depth, last, state and state.key()
        if key in self._known:
            return self._known[key]
        loop = self.outer[depth]
        end = loop.rest if loop.dim in last else loop.end
        if loop.spatial:
            end = ONE
        total = _Sum()
        for index, times in self._positions(end, nearest=depth == len(self.outer) - 1 and self.nearest >= 0):
            now = last if index.value + 1 >= loop.rest.value else last - {loop.dim}
            shift = [rank[loop.dim] * loop.step * index if loop.dim in rank else ZERO for rank in self.coef]
            found, after = self._run(depth + 1, now, state and state.shifted(shift))
            state = after and after.shifted([ZERO - one for one in shift])
            if times is None or times.value:
                total.add_all(found, times)
        self._known[key] = total, state
        return total, state

    def _positions(self, end: Polynomial, *, nearest: bool) -> Sequence[tuple[Polynomial, Polynomial | None]]:
        """Return the iterations that are executed, and for how many each stands; None is once."""
        if end.value <= 3:
            return [(Polynomial.constant(i), None) for i in range(int(end.value) - 1)] + [(end - 1, None)]
        between = (ONE, end - (2 if nearest else 3)), (end - 2, ZERO if nearest else None)
        return [(ZERO, None), *between, (end - 1, None)]

    def _step(self, last: Last, state: _State | None) -> tuple[_Sum, _State | None]:
        """Return the transfers of one step, and the state after it."""
        early = last - {loop.dim for loop in self.spatial if loop.rest.value > 1}
        sides = self._sides(early)
        low = (ZERO,) * len(sides)
        parts, move = [list(zip(low, sides, strict=True))], None
        if state and not self.stateless:
            before = [(a, a + side) for a, side in zip(state.low, self._sides(state.early), strict=True)]
            steps = tuple(_centre_move(int(side.value), a, b) for side, (a, b) in zip(sides, before, strict=True))
            if subtracts(steps, state.move):
                parts, move = less(parts[0], before), steps
        ends = [loop.rest if loop.dim in last else loop.end for loop in self.spatial]
        numbers = tuple(int(end.value) for end in ends)
        fetched: Parts = tuple(tuple((int(a.value), int(b.value)) for a, b in part) for part in parts)
        words = ZERO
        for part in parts:
            words = words + product([b - a for a, b in part])
        found = _Sum()
        instances = product(ends)
        found.operations = instances
        if instances.value > self.most.value:
            self.most = instances
        if words.value:
            self._transfer(found, words, fetched, ends, numbers, state)
        return found, _State(low, early, move, fetched, numbers)

    def _transfer(
        self, found: _Sum, words: Polynomial, fetched: Parts, ends: list[Polynomial], numbers: tuple[int, ...],
        state: _State | None,
    ) -> None:  # fmt: skip
        """Add the words of one step: what neighbours hold goes over links, each other box once to all that share."""
        if state and self.spatial:
            need = _same_but_moved(fetched, state.parts)
            if need is not None:
                offsets = self._offsets(numbers)
                linked = handed_on(offsets, self._offsets(state.ends), need, self.level.columns, self.level.rows)
                left = Counter(offset for i, offset in enumerate(offsets) if i not in linked)
                if linked and len(left) < len(set(offsets)):
                    found.links = words.times(len(linked))
                    _record(found, left, words)
                    return
        loops = [(loop.dim, end) for loop, end in zip(self.spatial, ends, strict=True)]
        factors = multicast_of(self.coef, loops)
        if factors is None:
            _record(found, Counter(self._offsets(numbers)), words)
        else:
            found.add(*factors, words * factors[1])

    def _sides(self, early: Last) -> list[Polynomial]:
        if early not in self._boxes:
            spans = [self.residual[d] if d in early else self.extent[d] for d in range(self.dims)]
            self._boxes[early] = box_sides(self.coef, spans)
        return self._boxes[early]

    def _offsets(self, ends: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the index offset of every instance, the innermost spatial loop running fastest."""
        if ends not in self._instances:
            unrolled = [(loop.dim, loop.step, end) for loop, end in zip(self.spatial, ends, strict=True)]
            self._instances[ends] = offsets_of(self.coef, unrolled)
        return self._instances[ends]


def _record(found: _Sum, boxes: Counter[tuple[int, ...]], words: Polynomial) -> None:
    for size, number in Counter(boxes.values()).items():
        found.add(Polynomial.constant(size), Polynomial.constant(number), words.times(number))


def _centre_move(side: int, low: Polynomial, high: Polynomial) -> int:
    """Return by how much the centre of a box moved to that of one at 0, rounded half away from zero."""
    twice = side - int(low.value) - int(high.value)
    return (abs(twice) + 1) // 2 * (-1 if twice < 0 else 1)


def _same_but_moved(parts: Parts, before: Parts) -> tuple[int, ...] | None:
    """Return by how much ``parts`` are ``before`` moved, if they are (``MultiAAHR::operator ==``)."""
    if len(parts) != len(before) or not parts:
        return None
    need = tuple(min(part[r][0] for part in parts) - min(part[r][0] for part in before) for r in range(len(parts[0])))
    moved = {tuple((a + n, b + n) for (a, b), n in zip(part, need, strict=True)) for part in before}
    return need if set(parts) <= moved else None
