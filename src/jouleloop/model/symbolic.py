"""The model's counts as polynomials in the loop bounds: the same rules as the kernels', written for symbols.

A mapping's counts are sums of products of loop bounds. `symbolic_energies` runs the model's rules on polynomials whose
symbols are the bounds of the nest (and the strides); decisions are taken on the bounds' values, so the result holds on
every nest of the same loops that decides alike, and on the nest at hand always. It shares no code with the kernels, and
tests compare the two.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluate import first_fills_elided
from jouleloop.model.polynomial import Polynomial
from jouleloop.model.symbolic_accesses import Flow, collapse_flows
from jouleloop.workload.problem import Problem

ONE = Polynomial.constant(1)
ZERO = Polynomial.constant(0)
Box = list[Polynomial]


@dataclass(frozen=True)
class Symbol:
    """What a symbol stands for.

    Attributes
    ----------
    dimension
        The dimension of a loop; the name of a coefficient (a stride) otherwise.
    level
        Position of the loop's level, outermost first; -1 for a coefficient.
    value
        Bound of the loop, or value of the coefficient.
    """

    dimension: str
    level: int
    value: int


@dataclass(frozen=True)
class SymbolicEnergies:
    """What one nest accesses, as polynomials in its symbols, and what an access costs.

    Attributes
    ----------
    symbols
        Coefficients of the problem first, then the loops, outermost first.
    accesses
        By level and data space: vector reads, and vector writes (fills and updates), of all instances together.
    access_pj
        By level: energy of a vector read and of a vector write.
    operations
        Multiply-accumulates.
    """

    symbols: tuple[Symbol, ...]
    accesses: dict[tuple[str, str], tuple[Polynomial, Polynomial]]
    access_pj: dict[str, tuple[Fraction, Fraction]]
    operations: Polynomial

    def energy_pj(self, level: str, space: str) -> Polynomial:
        """Return the energy of one data space at one level."""
        counts, costs = self.accesses[level, space], self.access_pj[level]
        return counts[0].times(costs[0]) + counts[1].times(costs[1])


@dataclass(frozen=True)
class _Loop:
    dim: int
    bound: Polynomial
    step: Polynomial = ONE


@dataclass
class _Level:
    """Loops of a level, outermost first, and the mesh below it."""

    temporal: list[_Loop]
    spatial: list[_Loop]
    columns: int
    rows: int


def symbolic_energies(
    problem: Problem, arch: Architecture, costs: EnergyCosts, mapping: Mapping, semantics: str = "timeloop-3.0.3"
) -> SymbolicEnergies:
    """Return the energies of ``mapping`` as polynomials in its loop bounds.

    The mapping is taken to be valid (see `jouleloop.mapping.validate`).
    """
    symbols, coefficients, levels = _nest(problem, arch, mapping)
    flows = [
        _transfers(_projection(problem, position, coefficients), levels, len(problem.shape.dimensions))
        for position in range(len(problem.data_spaces))
    ]
    fanout = [_product([loop.bound for loop in level.spatial]) for level in levels]
    instances = [_product(fanout[index + 1 :]) for index in range(len(levels))]
    keep = [level.keep for level in reversed(mapping.levels)]
    elided = first_fills_elided(semantics)
    counted: dict[tuple[str, str], tuple[Polynomial, Polynomial]] = {}
    for space, flow in zip(problem.data_spaces, flows, strict=True):
        kept = [space.name in names for names in keep]
        accesses = collapse_flows(flow, kept, fanout, instances, read_write=space.read_write, elided=elided)
        for index, level in enumerate(reversed(arch.levels)):
            if not kept[index]:
                continue
            clusters, most = instances[index], max(1, level.instances // level.cluster_size)
            if clusters.value > most:
                clusters = Polynomial.constant(most)
            words = accesses[index]
            writes = _vectors(words.fills, level.block_words) + _vectors(words.updates, level.block_words)
            counted[level.name, space.name] = (_vectors(words.reads, level.block_words) * clusters, writes * clusters)
    operations = _product([loop.bound for level in levels for loop in (*level.temporal, *level.spatial)])
    access_pj = {entry.level: (Fraction(entry.read_pj), Fraction(entry.write_pj)) for entry in costs.levels}
    return SymbolicEnergies(symbols, counted, access_pj, operations)


def _vectors(words: Polynomial, block_words: int) -> Polynomial:
    return words.times(Fraction(1, block_words)).rounded(math.ceil)


def _product(factors: list[Polynomial]) -> Polynomial:
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def _nest(
    problem: Problem, arch: Architecture, mapping: Mapping
) -> tuple[tuple[Symbol, ...], dict[str, Polynomial], list[_Level]]:
    """Return the symbols, the coefficients by name, and the levels from the innermost outward."""
    symbols: list[Symbol] = []

    def symbol(name: str, level: int, value: int) -> Polynomial:
        symbols.append(Symbol(name, level, value))
        return Polynomial.symbol(len(symbols) - 1, value)

    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    coefficients = {name: symbol(name, -1, value) for name, value in problem.coefficient.items()}
    levels = []
    for position, level in enumerate(mapping.levels):
        along = {"X": 1, "Y": 1}
        temporal = [_Loop(dims[d], symbol(d, position, b)) for d, b in level.temporal if b > 1]
        spatial = []
        for d, b, axis in level.spatial:
            if b > 1:
                spatial.append(_Loop(dims[d], symbol(d, position, b)))
                along[axis] *= b
        x, y = arch.fanout[position]
        levels.append(_Level(temporal, spatial, max(along["X"], x), max(along["Y"], y)))
    return tuple(symbols), coefficients, levels[::-1]


def _projection(problem: Problem, position: int, coefficients: dict[str, Polynomial]) -> list[dict[int, Polynomial]]:
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    return [
        {dims[t.dimension]: ONE if t.coefficient is None else coefficients[t.coefficient] for t in rank}
        for rank in problem.data_spaces[position].projection
    ]


def _sides(coef: list[dict[int, Polynomial]], extent: Box) -> Box:
    sides = []
    for rank in coef:
        side = ONE
        for d, factor in rank.items():
            side = side + factor * (extent[d] - 1)
        sides.append(side)
    return sides


def _transfers(coef: list[dict[int, Polynomial]], levels: list[_Level], dims: int) -> list[Flow]:
    """Return what one data space moves below each level: tile, sibling box, groups of transfers, links."""
    extent = [ONE] * dims
    inner: list[Box] = []
    steps: list[tuple[list[_Loop], list[_Loop]]] = []
    boxes: list[tuple[Polynomial, Polynomial | None]] = []
    for level in levels:
        inner.append(list(extent))
        placed: list[list[_Loop]] = []
        sibling = None
        for loops in (level.spatial, level.temporal):
            done = []
            for loop in reversed(loops):
                done.append(_Loop(loop.dim, loop.bound, extent[loop.dim]))
                extent[loop.dim] = extent[loop.dim] * loop.bound
            placed.append(done)
            if loops is level.spatial and loops:
                sibling = _product(_sides(coef, extent))
        boxes.append((_product(_sides(coef, extent)), sibling))
        steps.append((placed[0][::-1], placed[1]))
    flows = []
    for index, level in enumerate(levels):
        outer = [loop for _, temporal in steps[index:] for loop in temporal]
        spatial = steps[index][0]
        flow = _Boundary(coef, inner[index], outer, spatial, level, stateless=index == 0).flow()
        flow.tile, flow.sibling = boxes[index]
        flows.append(flow)
    return flows


class _Boundary:
    """Transfers of one data space through one boundary; see `jouleloop.model.kernel` for the rules."""

    def __init__(
        self,
        coef: list[dict[int, Polynomial]],
        inner: Box,
        outer: list[_Loop],
        spatial: list[_Loop],
        level: _Level,
        *,
        stateless: bool,
    ) -> None:
        self.coef, self.outer, self.spatial, self.level, self.stateless = coef, outer, spatial, level, stateless
        self.side = _sides(coef, inner)
        self.moves = [self._move(j) for j in range(len(outer))]
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
            return self.side, nothing, _product(self.side)
        moved = [r for r, value in enumerate(self.moves[0]) if value.value]
        if not moved:
            return self.side, nothing, ZERO
        r = moved[0]
        if len(moved) > 1 or abs(self.moves[0][r].value) >= self.side[r].value:
            return self.side, nothing, _product(self.side)
        part, at = list(self.side), list(nothing)
        part[r], at[r] = self.moves[0][r], self.side[r] - self.moves[0][r]
        return part, at, _product(part)

    def flow(self) -> Flow:
        """Return the groups of transfers, and the words that mesh links carry."""
        full = _product(self.side)
        later = [ONE]
        for loop in reversed(self.outer):
            later.insert(0, later[0] * loop.bound)
        calls = [(loop.bound - 1) * later[j + 1] for j, loop in enumerate(self.outer)]
        matches = [
            not self.stateless and all(a.value == b.value for a, b in zip(move, self.moves[0], strict=True))
            for move in self.moves
        ]
        whole = _total([ONE, *(c for c, same in zip(calls[1:], matches[1:], strict=True) if not same)])
        matched = _total([c for c, same in zip(calls[1:], matches[1:], strict=True) if same])
        flow = Flow()
        if not self.spatial:
            first = calls[0] if calls else ZERO
            words = later[0] * full if self.stateless else whole * full + (matched + first) * self.part_words
            flow.add(ONE, ONE, words)
            return flow
        offsets = self._offsets()
        plain_whole, plain_part = ONE, ZERO
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
                elif now_whole:
                    plain_whole = plain_whole + number
                else:
                    plain_part = plain_part + number
        words = plain_whole * full + plain_part * self.part_words
        if words.value:
            self._broadcast(flow, offsets, words)
        return flow

    def _broadcast(self, flow: Flow, offsets: list[tuple[int, ...]], words: Polynomial) -> None:
        """Add transfers that no neighbour serves: each distinct box once, to all instances that need it."""
        relevant = [loop for loop in self.spatial if any(loop.dim in rank for rank in self.coef)]
        shared = any(
            a.dim in rank and b.dim in rank and a.dim != b.dim
            for rank in self.coef
            for a in relevant
            for b in relevant
        )
        if shared:
            flow.record(Counter(offsets), words)
            return
        irrelevant = [loop for loop in self.spatial if loop not in relevant]
        multicast, scatter = (_product([loop.bound for loop in loops]) for loops in (irrelevant, relevant))
        flow.add(multicast, scatter, words * scatter)

    def _offsets(self) -> list[tuple[int, ...]]:
        """Return the index offset of every instance, the innermost spatial loop running fastest."""
        offsets: list[tuple[int, ...]] = [(0,) * len(self.coef)]
        for loop in self.spatial:
            unit = [int(rank[loop.dim].value * loop.step.value) if loop.dim in rank else 0 for rank in self.coef]
            offsets = [
                tuple(o + i * u for o, u in zip(offset, unit, strict=True))
                for offset in offsets
                for i in range(int(loop.bound.value))
            ]
        return offsets

    def _linked(
        self, offsets: list[tuple[int, ...]], j: int, *, now_whole: bool, before_whole: bool
    ) -> frozenset[int]:
        """Return the instances whose words a mesh neighbour held one step before."""
        now = self.side if now_whole else self.part
        before = self.side if before_whole else self.part
        if any(a.value != b.value for a, b in zip(now, before, strict=True)):
            return frozenset()
        if not before_whole and not self.part_words.value:
            return frozenset()
        need = tuple(
            int(
                move.value
                + (0 if now_whole else self.part_at[r].value)
                - (0 if before_whole else self.part_at[r].value)
            )
            for r, move in enumerate(self.moves[j])
        )
        columns, rows, n = self.level.columns, self.level.rows, len(offsets)
        found = set()
        for i, offset in enumerate(offsets):
            row, column = divmod(i, columns)
            if row >= rows:
                continue
            wanted = tuple(o + d for o, d in zip(offset, need, strict=True))
            sides = [(row >= 1, i - columns), (row + 1 < rows, i + columns)]
            sides += [(column >= 1, i - 1), (column + 1 < columns, i + 1)]
            if any(there and other < n and offsets[other] == wanted for there, other in sides):
                found.add(i)
        return frozenset(found)


def _total(parts: list[Polynomial]) -> Polynomial:
    result = ZERO
    for part in parts:
        result = result + part
    return result
