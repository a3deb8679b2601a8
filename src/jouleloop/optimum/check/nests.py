"""What single nests cost, exactly: the model's symbolic rules on the certificate's own numbers.

What networks take is counted by `jouleloop.optimum.check.wires`, from the boxes that the symbolic rules send.
"""

import math
from fractions import Fraction
from typing import Any

from jouleloop.arch.architecture import Architecture, ComputeLevel, Network, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.symbolic import SymbolicEnergies, symbolic_energies
from jouleloop.optimum.check.design import Design, Factors, Keep, Order, energies_of
from jouleloop.optimum.check.lemmas import Loop
from jouleloop.optimum.check.wires import energy_of
from jouleloop.workload.problem import DataSpace, Problem, ProblemShape, Term


class Nests:
    """Evaluates complete nests of a certificate's design."""

    def __init__(self, design: Design, data: dict[str, Any]) -> None:
        self.design = design
        self.data = data
        self.problem = _problem(data["problem"])
        levels = data["architecture"]["levels"]
        self.arch = _architecture(levels)
        self.costs = EnergyCosts(
            "certificate",
            tuple(
                LevelEnergy(
                    level["name"],
                    level["read_pj"],
                    level["write_pj"],
                    "certificate",
                    later_pj=tuple(map(float, energies_of(level)[:3])),
                )
                for level in levels
            ),
            data["architecture"]["compute_pj"],
            "certificate",
        )
        self.semantics = data["semantics"]
        self.networks = {level.name: (level.ways, level.adds) for level in design.levels}
        self.written = {space.name for space in self.problem.data_spaces if space.read_write}

    def evaluate(self, mapping: Mapping) -> tuple[Fraction, int] | None:
        """Return energy [pJ] and cycles of a nest.

        None where it is no mapping: outputs overlap, or no M:N network takes what is sent.
        """
        counts = symbolic_energies(self.problem, self.arch, self.costs, mapping, self.semantics)
        if not counts.sound or any(words.value < 0 for counted in counts.words.values() for words in counted):
            return None
        total = Fraction(self.costs.compute_pj) * math.prod(self.design.bounds)
        for level, space in counts.words:
            total += counts.energy_pj(level, space)
        total += energy_of(counts, self.networks, self.written)
        cycles = self._cycles(counts, mapping)
        return total + self._leaked_pj(mapping, cycles), cycles

    def _leaked_pj(self, mapping: Mapping, cycles: int) -> Fraction:
        """Energy [pJ] that all utilized instances leak (Timeloop ``buffer.cpp``, ``ComputeLeaksPerCycle``)."""
        total, instances = Fraction(0), 1
        for level, placed in zip(self.design.levels[::-1], mapping.levels, strict=True):
            total += level.leak * self.design.unit_pj * instances * cycles
            instances *= math.prod(bound for _, bound, _ in placed.spatial)
        return total

    def _cycles(self, counts: SymbolicEnergies, mapping: Mapping) -> int:
        """Cycles of the slowest level (Timeloop ``buffer.cpp``, ``ComputePerformance``), in its own arithmetic."""
        steps = math.prod(bound for level in mapping.levels for _, bound in level.temporal)
        cycles = steps
        for level in self.arch.levels:
            reads = writes = 0.0
            for space in self.problem.data_spaces:
                if (level.name, space.name) in counts.words:
                    read, *write = (words.value for words in counts.words[level.name, space.name])
                    reads += float(read) / steps
                    writes += float(sum(write)) / steps
            slowdown = 1.0
            for limit, rate in (
                (level.read_bandwidth_words, reads),
                (level.write_bandwidth_words, writes),
                (level.shared_bandwidth_words, reads + writes),
            ):
                if limit is not None and limit < rate:
                    slowdown = min(slowdown, limit / rate)
            cycles = max(cycles, math.ceil(steps / slowdown))
        return cycles

    def nest(self, keep: Keep, loops: list[list[Loop]], spatial: tuple[Order, ...]) -> Mapping:
        """Return a mapping from loops by level, innermost level first."""
        names = self.design.dims
        levels = []
        for k in range(len(keep) - 1, -1, -1):
            kept = frozenset(space for space, there in zip(self.design.spaces, keep[k], strict=True) if there)
            temporal = tuple((names[d], bound) for d, bound, _ in loops[k])
            placed = tuple((names[d], factor, axis) for d, factor, axis in spatial[k])
            levels.append(LevelMapping(self.design.levels[k].name, temporal, placed, kept))
        return Mapping(tuple(levels))


def _problem(data: dict[str, Any]) -> Problem:
    coefficients: dict[str, int] = {}

    def term(d: str, c: int) -> Term:
        if c == 1:
            return Term(d)
        coefficients[f"times{c}"] = c
        return Term(d, f"times{c}")

    spaces = tuple(
        DataSpace(
            space["name"],
            tuple(tuple(term(d, c) for d, c in rank.items()) for rank in space["ranks"]),
            space["read_write"],
        )
        for space in data["data_spaces"]
    )
    shape = ProblemShape("certificate", tuple(data["dimensions"]), spaces, tuple(coefficients.items()))
    return Problem.build(shape, dict(zip(data["dimensions"], data["bounds"], strict=True)))


def _architecture(levels: list[dict[str, Any]]) -> Architecture:
    """Return the hardware: instances follow from the fan-outs, clusters are as given."""
    found = []
    x = y = 1
    for level in levels:
        found.append(
            StorageLevel(
                level["name"],
                level["name"],
                "",
                None,
                1,
                block_words=level["block_words"],
                cluster_size=max(1, x * y // level["clusters"]),
                mesh_x=x,
                mesh_y=y,
                read_bandwidth_words=level["read_bandwidth_words"],
                write_bandwidth_words=level["write_bandwidth_words"],
                shared_bandwidth_words=level["shared_bandwidth_words"],
                network=Network(spreads=level.get("spreads", False)),
            )
        )
        x, y = x * level["fanout"][0], y * level["fanout"][1]
    return Architecture("certificate", tuple(found), ComputeLevel("compute", "compute", "", 1, x, y))


def is_valid(design: Design, mapping: Mapping) -> str:
    """Return why a mapping is none of the design's mapspace, or an empty text."""
    if [level.level for level in mapping.levels] != [level.name for level in design.levels][::-1]:
        return "its levels are not those of the architecture"
    keep = tuple(tuple(space in level.keep for space in design.spaces) for level in reversed(mapping.levels))
    if keep not in design.keeps:
        return "the constraints do not admit what it keeps"
    extent = [1] * len(design.dims)
    for k, level in enumerate(reversed(mapping.levels)):
        fault = _admits(design, k, [(design.dims.index(d), b) for d, b, _ in level.spatial], spatial=True)
        fault = fault or _admits(design, k, [(design.dims.index(d), b) for d, b in level.temporal], spatial=False)
        if fault:
            return f"{level.level}: {fault}"
        for d, bound in [*((d, b) for d, b, _ in level.spatial), *level.temporal]:
            extent[design.dims.index(d)] *= bound
        size = tuple(map(min, extent, design.bounds))
        held = sum(design.words(v, size) for v in range(len(design.spaces)) if keep[k][v])
        limit = design.levels[k]
        if held < limit.least or (limit.capacity is not None and held > limit.capacity):
            return f"{level.level}: tiles of {held} words do not fit"
    return (
        ""
        if mapping.imperfect or tuple(extent) == design.bounds
        else "its factors do not multiply to the layer's bounds"
    )


def _admits(design: Design, k: int, loops: list[tuple[int, int]], *, spatial: bool) -> str:
    slot = design.levels[k].spatial if spatial else design.levels[k].temporal
    factors: Factors = tuple(math.prod(b for d, b in loops if d == e) for e in range(len(design.dims)))
    if slot is None:
        return "it does not fan out" if loops else ""
    if not all(slot.admits(d, factor) for d, factor in enumerate(factors)):
        return "the constraints do not admit its factors"
    if spatial:
        orders = (tuple((d, b) for d, b, _ in order) for order in design.spatial_orders(k, factors))
        return "" if tuple(loops) in orders else "no order and split of its spatial loops is admitted"
    order = tuple(d for d, _ in reversed(loops))
    return "" if order in slot.orders(sorted(order)) else "the constraints do not admit its order"
