"""Transfers through the boundaries of a nest in symbols: the rules of `jouleloop.model.kernel`, for polynomials."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.model.polynomial import Polynomial
from jouleloop.model.symbolic_accesses import SymbolicFlow

ONE = Polynomial.constant(1)
ZERO = Polynomial.constant(0)
Box = list[Polynomial]
Slices = list[tuple[Polynomial, Polynomial]]
#: By rank of a data space: the factor of every dimension that moves it.
Projection = list[dict[int, Polynomial]]


@dataclass(frozen=True)
class SymbolicLoop:
    """A loop over a dimension, with the index step of one iteration."""

    dim: int
    bound: Polynomial
    step: Polynomial = ONE


@dataclass
class SymbolicLevel:
    """Loops of a level, outermost first, and the mesh below it."""

    temporal: list[SymbolicLoop]
    spatial: list[SymbolicLoop]
    columns: int
    rows: int


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product of polynomials."""
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def box_sides(coef: Projection, extent: Box) -> Box:
    """Return the sides of the box that so many indices of every dimension span, by rank."""
    sides = []
    for rank in coef:
        side = ONE
        for d, factor in rank.items():
            side = side + factor * (extent[d] - 1)
        sides.append(side)
    return sides


def transfers(coef: Projection, levels: list[SymbolicLevel], dims: int, *, resting: bool = False) -> list[SymbolicFlow]:
    """Return what one data space moves below each level: tile, sibling box, groups of transfers, links.

    ``resting``: a step that moves nothing is none, as in Timeloop 4.
    """
    extent = [ONE] * dims
    inner: list[Box] = []
    steps: list[tuple[list[SymbolicLoop], list[SymbolicLoop]]] = []
    boxes: list[tuple[Polynomial, Polynomial | None]] = []
    for level in levels:
        inner.append(list(extent))
        placed: list[list[SymbolicLoop]] = []
        sibling = None
        for loops in (level.spatial, level.temporal):
            done = []
            for loop in reversed(loops):
                done.append(SymbolicLoop(loop.dim, loop.bound, extent[loop.dim]))
                extent[loop.dim] = extent[loop.dim] * loop.bound
            placed.append(done)
            if loops is level.spatial and loops:
                sibling = product(box_sides(coef, extent))
        boxes.append((product(box_sides(coef, extent)), sibling))
        steps.append((placed[0][::-1], placed[1]))
    flows = []
    for index, level in enumerate(levels):
        outer = [loop for _, temporal in steps[index:] for loop in temporal]
        spatial = steps[index][0]
        stands = resting and index > 0
        flow = _Boundary(coef, inner[index], outer, spatial, level, stateless=index == 0, resting=stands).flow()
        flow.tile, flow.sibling = boxes[index]
        flows.append(flow)
    return flows


class _Boundary:
    """Transfers of one data space through one boundary; see `jouleloop.model.kernel` for the rules."""

    def __init__(
        self,
        coef: Projection,
        inner: Box,
        outer: list[SymbolicLoop],
        spatial: list[SymbolicLoop],
        level: SymbolicLevel,
        *,
        stateless: bool,
        resting: bool,
    ) -> None:
        self.coef, self.outer, self.spatial, self.level, self.stateless = coef, outer, spatial, level, stateless
        self.side = box_sides(coef, inner)
        self.moves = [self._move(j) for j in range(len(outer))]
        #: Whether the innermost loops move nothing and so count for none; and which steps are none.
        self.waits = resting and bool(outer) and not _moves(self.moves[0])
        while resting and self.outer and not _moves(self.moves[0]):
            self.outer, self.moves = self.outer[1:], self.moves[1:]
        self.rests = [resting and not _moves(move) for move in self.moves]
        self.part, self.part_at, self.part_words = self._part()

    def _move(self, j: int) -> Box:
        """Return the index step when loop j advances and all inner ones fall back to their start."""
        move = []
        for rank in self.coef:
            total = ZERO
            for i, loop in enumerate(self.outer[: j + 1]):
                if loop.dim in rank:
                    step = rank[loop.dim] * loop.step
                    total = total + step if i == j else total - step
            move.append(total)
        return move

    def _part(self) -> tuple[Box, Box, Polynomial]:
        """Return sides, offset and words of what the innermost loop's step fetches beyond the last box."""
        nothing = [ZERO] * len(self.side)
        if not self.outer or self.stateless:
            return self.side, nothing, product(self.side)
        moved = [r for r, value in enumerate(self.moves[0]) if value.value]
        if not moved:
            return self.side, nothing, ZERO
        r = moved[0]
        if len(moved) > 1 or not -self.side[r].value < self.moves[0][r].value < self.side[r].value:
            return self.side, nothing, product(self.side)
        part, at = list(self.side), list(nothing)
        part[r], at[r] = self.moves[0][r], self.side[r] - self.moves[0][r]
        return part, at, product(part)

    def flow(self) -> SymbolicFlow:
        """Return the groups of transfers, and the words that mesh links carry."""
        full = product(self.side)
        later = [ONE]
        for loop in reversed(self.outer):
            later.insert(0, later[0] * loop.bound)
        calls = [(loop.bound - 1) * later[j + 1] for j, loop in enumerate(self.outer)]
        calls = [ZERO if rest else own for own, rest in zip(calls, self.rests, strict=True)]
        matches = [
            not self.stateless and subtracts([one.value for one in move], [one.value for one in self.moves[0]])
            for move in self.moves
        ]
        whole = _total([ONE, *(c for c, same in zip(calls[1:], matches[1:], strict=True) if not same)])
        matched = _total([c for c, same in zip(calls[1:], matches[1:], strict=True) if same])
        flow = SymbolicFlow()
        if not self.spatial:
            first = calls[0] if calls else ZERO
            words = later[0] * full if self.stateless else whole * full + (matched + first) * self.part_words
            flow.add(ONE, ONE, words)
            return flow
        offsets = offsets_of(self.coef, [(loop.dim, loop.step, int(loop.bound.value)) for loop in self.spatial])
        plain_whole, plain_part = ONE, ZERO
        if any(self.rests):
            # Steps of loop 0 after one that fetched nothing.
            plain_part = (self.outer[0].bound - 1) * (later[1] - whole - matched)
        for j, loop in enumerate(self.outer):
            # Loop 0 advances after a whole box, or after a part; the others always after a part.
            variants = [(calls[j], not self.stateless and not matches[j], self.stateless)]
            if j == 0:
                once = loop.bound - 1
                variants = [(once * whole, False, True), (once * matched, False, self.stateless)]
            for number, now, before in variants:
                now_whole = now or self.stateless
                words = full if now_whole else self.part_words
                if not number.value or not words.value:
                    continue
                linked = self._linked(offsets, j, now_whole=now_whole, before_whole=before)
                left = Counter(offset for i, offset in enumerate(offsets) if i not in linked)
                if linked and len(left) < len(set(offsets)):
                    flow.links = flow.links + (words * number).times(len(linked))
                    flow.record(left, words * number)
                    chosen = [None if i in linked else offset for i, offset in enumerate(offsets)]
                    flow.sent.append((chosen, words * number))
                elif now_whole:
                    plain_whole = plain_whole + number
                else:
                    plain_part = plain_part + number
        words = plain_whole * full + plain_part * self.part_words
        if words.value:
            self._broadcast(flow, offsets, words)
        return flow

    def _broadcast(self, flow: SymbolicFlow, offsets: list[tuple[int, ...]], words: Polynomial) -> None:
        """Add transfers that no neighbour serves: each distinct box once, to all instances that need it."""
        flow.sent.append(([*offsets], words))
        factors = multicast_of(self.coef, [(loop.dim, loop.bound) for loop in self.spatial])
        if factors is None:
            flow.record(Counter(offsets), words)
        else:
            flow.add(*factors, words * factors[1])

    def _linked(self, offsets: list[tuple[int, ...]], j: int, *, now_whole: bool, before_whole: bool) -> frozenset[int]:
        """Return the instances whose words a mesh neighbour held one step before."""
        now = self.side if now_whole else self.part
        before = self.side if before_whole else self.part
        if any(a.value != b.value for a, b in zip(now, before, strict=True)):
            return frozenset()
        if self.waits or (not before_whole and not self.part_words.value):
            return frozenset()
        need = tuple(
            int(
                move.value
                + (0 if now_whole else self.part_at[r].value)
                - (0 if before_whole else self.part_at[r].value)
            )
            for r, move in enumerate(self.moves[j])
        )
        return handed_on(offsets, offsets, need, self.level.columns, self.level.rows)


def subtracts(move: Sequence[int | Fraction], last: Sequence[int | Fraction] | None) -> bool:
    """Whether a step fetches what is new in its box alone: it moves as the last step did, or is the first after one."""
    return last is None or tuple(move) == tuple(last)


def _moves(move: Box) -> bool:
    """Whether a step moves a box."""
    return any(rank.value for rank in move)


def multicast_of(coef: Projection, loops: Sequence[tuple[int, Polynomial]]) -> tuple[Polynomial, Polynomial] | None:
    """Return the multicast and the scatter factor of spatial loops, of which dimension and end are given.

    None where several dimensions move one rank: then boxes may coincide, and are counted one by one.
    """
    moving = {dim for dim, _ in loops if any(dim in rank for rank in coef)}
    if any(len(moving & rank.keys()) > 1 for rank in coef):
        return None
    multicast, scatter = (product([end for dim, end in loops if (dim in moving) is moved]) for moved in (False, True))
    return multicast, scatter


def offsets_of(coef: Projection, loops: Iterable[tuple[int, Polynomial, int]]) -> list[tuple[int, ...]]:
    """Return the index offset of every instance that spatial loops unroll, the innermost of them running fastest.

    ``loops`` have dimension, index step and end, outermost first.
    """
    offsets: list[tuple[int, ...]] = [(0,) * len(coef)]
    for dim, step, end in loops:
        unit = [int(rank[dim].value * step.value) if dim in rank else 0 for rank in coef]
        offsets = [
            tuple(o + i * u for o, u in zip(offset, unit, strict=True)) for offset in offsets for i in range(end)
        ]
    return offsets


def less(box: Slices, other: Slices) -> list[Slices]:
    """Return ``box`` less ``other``, by rank first index and the one after the last, as slices."""
    if any(b.value <= c.value or d.value <= a.value for (a, b), (c, d) in zip(box, other, strict=True)):
        return [box]
    middle = list(box)
    parts = []
    for r, (low, high) in enumerate(other):
        if middle[r][0].value < low.value:
            parts.append([*middle[:r], (middle[r][0], low), *middle[r + 1 :]])
            middle[r] = low, middle[r][1]
        if high.value < middle[r][1].value:
            parts.append([*middle[:r], (high, middle[r][1]), *middle[r + 1 :]])
            middle[r] = middle[r][0], high
    return parts


def handed_on(
    offsets: list[tuple[int, ...]], before: list[tuple[int, ...]], need: tuple[int, ...], columns: int, rows: int
) -> frozenset[int]:
    """Return the instances at ``offsets`` whose words a mesh neighbour held, when all were at ``before``."""
    found = set()
    for i, offset in enumerate(offsets):
        row, column = divmod(i, columns)
        if row >= rows:
            continue
        wanted = tuple(o + d for o, d in zip(offset, need, strict=True))
        sides = [(row >= 1, i - columns), (row + 1 < rows, i + columns)]
        sides += [(column >= 1, i - 1), (column + 1 < columns, i + 1)]
        if any(there and other < len(before) and before[other] == wanted for there, other in sides):
            found.add(i)
    return frozenset(found)


def _total(parts: list[Polynomial]) -> Polynomial:
    result = ZERO
    for part in parts:
        result = result + part
    return result
