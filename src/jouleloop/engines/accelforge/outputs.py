"""From what accelforge answers to an evaluation, and to a mapping where the loop nest is one of Timeloop's kind."""

import itertools
import math
from collections.abc import Mapping as Answer
from dataclasses import dataclass, replace
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.engines.accelforge.inputs import COMPUTE, EINSUM, dimensions, fanout_name, level_name, rank_variable
from jouleloop.errors import EngineError, Fault
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats
from jouleloop.workload.problem import Problem

_SEPARATOR = "<SEP>"
#: accelforge computes in single precision.
_PRECISION = 1e-6


@dataclass(frozen=True)
class ForgeLoop:
    """One loop over ``extent`` elements of its dimension, ``tile`` at a time; a temporal loop has no ``axis``."""

    dimension: str
    extent: int
    tile: int
    axis: str = ""
    fanout: int = -1

    @property
    def bound(self) -> int:
        """How often it runs; in its last run fewer elements than a tile may be left."""
        return -(-self.extent // self.tile)


@dataclass(frozen=True)
class ForgeNest:
    """accelforge's mapping: all loops outermost first, and how many of them are outside each stored tile."""

    loops: tuple[ForgeLoop, ...]
    places: dict[tuple[int, str], int]
    """By level position and data space."""

    def compact(self, arch: Architecture) -> str:
        """Return the nest on one line: storage in brackets, loops between."""
        parts: list[str] = []
        for count in range(len(self.loops) + 1):
            stored = sorted(key for key, place in self.places.items() if place == count)
            for position, group in itertools.groupby(stored, key=lambda key: key[0]):
                parts.append(f"[{arch.level_names[position]}: {' '.join(space for _, space in group)}]")
            if count < len(self.loops):
                loop = self.loops[count]
                parts.append(f"{loop.dimension}{loop.bound}{loop.axis}")
        return " ".join(parts)


def read_nest(problem: Problem, arch: Architecture, nodes: list[dict[str, Any]]) -> ForgeNest:
    """Return the loop nest of an answer; raise `EngineError` where it is none of this problem and architecture."""
    names = {level_name(arch, position): position for position in range(len(arch.levels))}
    fanouts = {fanout_name(position): position for position in range(len(arch.levels))}
    by_variable = {rank_variable(d): d for d in dimensions(problem)}
    extent = {d: problem.bound[d] for d in by_variable.values()}
    loops: list[ForgeLoop] = []
    places: dict[tuple[int, str], int] = {}
    try:
        for node in nodes:
            if node["kind"] == "storage":
                for space in node["tensors"]:
                    places[names[node["level"]], space] = len(loops)
                continue
            dimension, tile = by_variable[node["dimension"]], int(node["tile"])
            placed = (node["axis"], fanouts[node["level"]]) if node["kind"] == "spatial" else ()
            loop = ForgeLoop(dimension, extent[dimension], tile, *placed)
            extent[dimension] = tile
            if loop.bound > 1:
                loops.append(loop)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise EngineError(Fault(f"accelforge answered with a mapping that cannot be read: {error!r}")) from error
    if any(value != 1 for value in extent.values()):
        raise EngineError(Fault("accelforge answered with a mapping that does not cover the layer", value=extent))
    return ForgeNest(tuple(loops), places)


def as_mapping(problem: Problem, arch: Architecture, nest: ForgeNest) -> Mapping | None:
    """Return the same nest as a mapping with loops by level, or None where there is no such mapping.

    A stored tile may be moved past temporal loops that do not concern its data space: the tile is the same. A nest in
    which no such move brings all tiles of every level together is uneven, and Timeloop has no word for it. Nor has it
    one for two loops over one dimension at a level.

    A loop that does not divide its extent ends early. accelforge's tiles may be smaller than the loops inside them
    span; Timeloop's are what they span. A loop outside then runs as often as such tiles need.
    """
    count = len(arch.levels)
    spaces = {space.name: space.dimensions for space in problem.data_spaces}

    def fits(position: int, start: int) -> bool:
        for (level, space), place in nest.places.items():
            moved = nest.loops[min(place, start) : max(place, start)] if level == position else ()
            if any(loop.axis or loop.dimension in spaces[space] for loop in moved):
                return False
        return True

    def choose(position: int, start: int) -> list[int] | None:
        """Return where each level from ``position`` on begins."""
        if position == count:
            return [] if start == len(nest.loops) else None
        if not fits(position, start):
            return None
        for end in range(start, len(nest.loops) + 1):
            own = nest.loops[start:end]
            if any(loop.axis and loop.fanout != position for loop in own):
                break
            if _level(arch.level_names[position], own, frozenset()) is None:
                continue
            rest = choose(position + 1, end)
            if rest is not None:
                return [start, *rest]
        return None

    starts = choose(0, 0)
    if starts is None:
        return None
    ends = [*starts[1:], len(nest.loops)]
    levels = []
    for position, (start, end) in enumerate(zip(starts, ends, strict=True)):
        keep = frozenset(space for level, space in nest.places if level == position)
        level = _level(arch.level_names[position], nest.loops[start:end], keep)
        if level is None:
            return None
        levels.append(level)
    return as_often_as_needed(problem, levels)


def as_often_as_needed(problem: Problem, levels: list[LevelMapping]) -> Mapping:
    """Return the mapping of ``levels``, from inside no loop longer than its dimension needs."""
    passes, product = dict(problem.bound), dict.fromkeys(problem.bound, 1)

    def needed(dimension: str, bound: int) -> int:
        end = min(bound, passes[dimension])
        passes[dimension] = -(-passes[dimension] // end)
        product[dimension] *= end
        return end

    found = []
    for level in reversed(levels):
        spatial = [(d, needed(d, bound), axis) for d, bound, axis in reversed(level.spatial)]
        temporal = [(d, needed(d, bound)) for d, bound in reversed(level.temporal)]
        kept_spatial = tuple(loop for loop in reversed(spatial) if loop[1] > 1)
        kept_temporal = tuple(loop for loop in reversed(temporal) if loop[1] > 1)
        found.append(replace(level, temporal=kept_temporal, spatial=kept_spatial))
    early = sorted((d, bound) for d, bound in problem.bound.items() if product[d] != bound)
    return Mapping(tuple(reversed(found)), tuple(early))


def _level(name: str, loops: tuple[ForgeLoop, ...], keep: frozenset[str]) -> LevelMapping | None:
    """Return the loops of one level, neighbours over one dimension joined; None where one dimension has two loops."""
    temporal: list[ForgeLoop] = []
    spatial = [loop for loop in loops if loop.axis]
    for loop in loops:
        if loop.axis:
            continue
        if temporal and temporal[-1].dimension == loop.dimension:
            outer = temporal[-1]
            # Units may share the dimension in between: what they take off is no run of the loop.
            extent = outer.extent if outer.tile == loop.extent else outer.bound * loop.bound * loop.tile
            temporal[-1] = replace(outer, extent=extent, tile=loop.tile)
        else:
            temporal.append(loop)
    for kind in (temporal, spatial):
        if len({loop.dimension for loop in kind}) < len(kind):
            return None
    return LevelMapping(
        name,
        tuple((loop.dimension, loop.bound) for loop in temporal),
        tuple((loop.dimension, loop.bound, loop.axis) for loop in spatial),
        keep,
    )


def read_evaluation(problem: Problem, arch: Architecture, nest: ForgeNest, numbers: Answer[str, float]) -> Evaluation:
    """Return accelforge's own counts as an evaluation; raise `EngineError` where a number is missing or impossible.

    accelforge counts accesses over all instances; here they are divided by the instances in use. It does not tell
    fills from updates: what is written of a read-write data space is ``updates``, of another ``fills``. ``cycles`` are
    those of the compute units alone, since no bandwidths are passed on.
    """
    levels = []
    for position, level in enumerate(arch.levels):
        data = {}
        for space in problem.data_spaces:
            place = nest.places.get((position, space.name))
            if place is None:
                continue
            outside = nest.loops[:place]
            instances = math.prod(loop.bound for loop in outside if loop.axis)
            tile, partition = _extents(problem, space.name, outside)
            reads, writes = (
                round(
                    _number(numbers, "action", level_name(arch, position), space.name, action)
                    * level.block_words
                    / instances
                )
                for action in ("read", "write")
            )
            energy = sum(
                _number(numbers, "energy", level_name(arch, position), space.name, action)
                for action in ("read", "write")
            )
            data[space.name] = DataStats(
                tile_words=tile,
                partition_words=partition,
                instances=instances,
                clusters=min(instances, max(1, level.instances // level.cluster_size)),
                reads=reads,
                updates=writes if space.read_write else 0,
                fills=0 if space.read_write else writes,
                reductions=0,
                energy_pj=energy,
            )
        levels.append(LevelStats(level.name, 0, 1.0, data))
    units = math.prod(loop.bound for loop in nest.loops if loop.axis)
    computes = _number(numbers, "action", COMPUTE, "None", "compute")
    cycles = math.ceil(_total(numbers, "latency"))
    if not math.isclose(computes, problem.macs, rel_tol=_PRECISION) or cycles < 1:
        raise EngineError(
            Fault("accelforge counted another number of operations", value=computes, allowed=str(problem.macs))
        )
    return Evaluation(
        levels=tuple(levels),
        networks={},
        compute_name=arch.compute.name,
        compute_instances=units,
        computes=problem.macs,
        compute_cycles=cycles,
        compute_energy_pj=_number(numbers, "energy", COMPUTE, "None", "compute"),
        cycles=cycles,
        utilization=problem.macs / arch.compute.instances / cycles,
        energy_pj=_total(numbers, "energy"),
    )


def _extents(problem: Problem, name: str, outside: tuple[ForgeLoop, ...]) -> tuple[int, int]:
    """Return the words of a tile inside the loops ``outside``, and the words one instance ever sees."""
    space = next(space for space in problem.data_spaces if space.name == name)
    tile, partition = 1, 1
    for dimension in space.dimensions:
        inside = [loop.tile for loop in outside if loop.dimension == dimension]
        tile *= inside[-1] if inside else problem.bound[dimension]
        spread = math.prod(loop.bound for loop in outside if loop.dimension == dimension and loop.axis)
        partition *= math.ceil(problem.bound[dimension] / spread)
    return tile, partition


def _number(numbers: Answer[str, float], kind: str, level: str, tensor: str, action: str) -> float:
    # accelforge leaves out what does not happen.
    return _finite(numbers.get(_SEPARATOR.join((EINSUM, kind, level, tensor, action)), 0.0))


def _total(numbers: Answer[str, float], kind: str) -> float:
    key = _SEPARATOR.join(("Total", kind))
    if key not in numbers:
        raise EngineError(Fault("accelforge's answer lacks a number", value=key))
    return _finite(numbers[key])


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise EngineError(Fault("accelforge answered with a number that is none", value=value))
    return float(value)
