"""Evaluate a mapping: accesses, energy and cycles of every level."""

import logging
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jouleloop.arch.architecture import MESH, Architecture, StorageLevel
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError, raise_all
from jouleloop.jit import njit
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Encoded, NestArrays, Records, WorkArrays, new_work
from jouleloop.model.collapse import collapse
from jouleloop.model.encode import encode, encode_mapping
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats, NetworkStats
from jouleloop.model.kernel import count_transfers, held_words
from jouleloop.model.network import is_wired, price_networks
from jouleloop.model.price import price, utilize
from jouleloop.model.residual import count_residual_transfers, share_instances
from jouleloop.model.semantics import Rules, rules_of
from jouleloop.model.support import AskedFeature, Use, check_supported, found_in_networks
from jouleloop.workload.problem import Problem

_LOG = logging.getLogger("jouleloop.model")


@njit(apart=True)
def count_nest(target: Encoded, nest: NestArrays, work: WorkArrays) -> tuple[float, int, int, int]:
    """Run the whole model on one nest; return energy [pJ], cycles, utilized units and operations of one unit.

    The energy is infinite where the counts of an overlapping output make no sense, see `collapse`.
    """
    layer, hardware = target.layer, target.hardware
    units, steps = utilize(hardware.levels, nest, work)
    count_transfers(layer, nest, work, is_wired(hardware.networks))
    sound = collapse(layer.read_write, layer.reuse, nest.keep, target.elided, work)
    total_pj, cycles = price(hardware, target.compute_pj, nest.keep, steps, steps * units, work)
    total_pj += price_networks(hardware, layer.read_write, work)
    if not sound:
        total_pj = np.inf
    return total_pj, cycles, units, steps


@njit(apart=True)
def evaluate_residual_nest(target: Encoded, nest: NestArrays, work: WorkArrays) -> tuple[float, int, int, int, int]:
    """Run the whole model on one nest of which a loop ends early, as `count_nest`; also return all operations.

    All units count that any step uses: what is idle in the last run is paid for (``CollectWorkingSets``); Timeloop 4
    pays for a mean. The steps are those of loops that run to their ends (``max_temporal_iterations``).
    """
    layer, hardware = target.layer, target.hardware
    units, steps = utilize(hardware.levels, nest, work)
    working = share_instances(layer.bounds, nest, work) if layer.reuse[0, 0].averaging else units
    computes = int(count_residual_transfers(layer, nest, work, False) * working)
    sound = collapse(layer.read_write, layer.reuse, nest.keep, target.elided, work)
    total_pj, cycles = price(hardware, target.compute_pj, nest.keep, steps, computes, work)
    if not sound:
        total_pj = np.inf
    return total_pj, cycles, units, steps, computes


class _Totals(NamedTuple):
    """What is counted of all levels together."""

    units: int
    computes: int
    steps: int
    cycles: int
    total_pj: float


def evaluate_mapping(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    mapping: Mapping,
    semantics: str = "timeloop-3.0.3",
    *,
    check_capacity: bool = True,
) -> Evaluation:
    """Return accesses, energy and cycles of one mapping.

    Raises `MappingError` where it is no mapping of this problem onto this architecture.

    Parameters
    ----------
    semantics
        Which Timeloop is followed, of `jouleloop.model.semantics.RULES`.
    check_capacity
        Whether tiles that do not fit their level, or fill less of it than it asks for, are an error.
    """
    rules = rules_of(semantics)
    nest = encode_mapping(problem, arch, mapping)
    target = encode(problem, arch, costs, rules, [level.reuse for level in reversed(mapping.levels)])
    work = new_work(*nest.keep.shape)
    if check_capacity and arch.auto_bypass:
        mapping = _bypassing(arch, target, nest, mapping)
        nest = encode_mapping(problem, arch, mapping)
    _check_supported(arch, costs, mapping, rules)
    _check_reuse(mapping)
    _check_outside(mapping, rules)
    if mapping.imperfect:
        total_pj, cycles, units, steps, computes = evaluate_residual_nest(target, nest, work)
    else:
        total_pj, cycles, units, steps = count_nest(target, nest, work)
        computes = steps * units
    _check_gaps(problem, arch, work)
    if check_capacity:
        _check_capacity(arch, nest, target.hardware.levels, work)
    if total_pj == np.inf:
        text = "outputs overlap: fewer words move than a level sees, where Timeloop stops"
        apart = "outputs overlap, or words go to different numbers of instances, which no M:N network of Timeloop takes"
        raise MappingError(Fault(apart if arch.spreading else text))
    return _evaluation(problem, arch, costs, nest, work, _Totals(units, computes, steps, cycles, total_pj))


def _check_reuse(mapping: Mapping) -> None:
    """Refuse words that pass through every level that keeps them."""
    through = {space for reuse in mapping.reuse.values() for space in reuse.no_coalesce}
    faults = [
        Fault("words pass through every level that keeps a data space, where Timeloop ends", field=space)
        for space in sorted(through)
        if not any(space in level.keep - level.reuse.no_coalesce for level in mapping.levels)
    ]
    raise_all(faults, MappingError)


def _check_outside(mapping: Mapping, rules: Rules) -> None:
    """Refuse unrolled loops that end early while none of their dimension stands outside, where Timeloop 4 ends.

    Source: Timeloop 4 ``src/loop-analysis/nest-analysis.cpp``, ``NestAnalysis::InitNumSpatialElems``.
    """
    faults: list[Fault] = []
    outside: set[str] = set()
    ends = mapping.residual_ends() if rules.averages_remainders else ()
    for level, (_, spatial) in zip(mapping.levels, ends, strict=False):
        outside.update(dimension for dimension, end in level.temporal if end > 1)
        for (dimension, end, _), residual in zip(level.spatial, spatial, strict=True):
            if residual != end and dimension not in outside:
                text = "an unrolled loop ends early and none of its dimension is outside, where Timeloop 4 ends"
                faults.append(Fault(text, field=f"{level.level}.{dimension}", value=f"{end},{residual}"))
            if end > 1:
                outside.add(dimension)
    raise_all(faults, MappingError)


def _check_supported(arch: Architecture, costs: EnergyCosts, mapping: Mapping, rules: Rules) -> None:
    """Refuse what the model does not follow of a mapping."""
    reuse = mapping.reuse.items()
    newer = [] if rules.knows_no_coalesce else [(level, one) for level, one in reuse if one.later]
    found = [AskedFeature("newer_keywords", level, one.as_dict()) for level, one in newer]
    check_supported(Use.EVALUATION, found, MappingError)
    if mapping.imperfect:
        found = [*found_in_networks(arch, costs)]
        if not rules.averages_remainders:
            found += [AskedFeature("reuse", level, one.as_dict()) for level, one in reuse]
        check_supported(Use.REMAINDERS, found, MappingError)


def _check_gaps(problem: Problem, arch: Architecture, work: WorkArrays) -> None:
    """Refuse outputs with gaps, of which a level holds more words than are ever written.

    Source: Timeloop ``src/loop-analysis/tiling.cpp``, ``ComputeReadUpdateReductionAccesses_Legacy``: it ends where
    reads would fall below 0, and its fills then wrap around.
    """
    if min(work.access["reads"].min(), work.access["fills"].min()) >= 0:
        return
    raise_all(
        [
            Fault(
                "holds more words than are ever written; Timeloop ends there, or its counts wrap around",
                field=f"{level.name}.{space.name}",
            )
            for index, level in enumerate(reversed(arch.levels))
            for v, space in enumerate(problem.data_spaces)
            if min(work.access[index, v]["reads"], work.access[index, v]["fills"]) < 0
        ],
        MappingError,
    )


def _check_capacity(arch: Architecture, nest: NestArrays, levels: Records, work: WorkArrays) -> None:
    faults: list[Fault] = []
    held = (work.access["tile"] * nest.keep).sum(axis=1).tolist()
    limits = levels[["capacity_words", "least_words"]].tolist()
    for level, needed, (limit, least) in zip(reversed(arch.levels), held, limits, strict=True):
        if needed > limit:
            faults.append(
                Fault(f"tiles of {needed} words do not fit", field=level.name, allowed=f"at most {limit:.0f} words")
            )
        if needed < least:
            text = f"tiles of {needed} words fill too little"
            allowed = f"at least {least:g} words, min-utilization {level.min_utilization:g}"
            faults.append(Fault(text, field=level.name, allowed=allowed))
    raise_all(faults, MappingError)


def _bypassing(arch: Architecture, target: Encoded, nest: NestArrays, mapping: Mapping) -> Mapping:
    """Return the mapping without anything kept in levels that its tiles do not fit, or fill too little.

    Source: Timeloop ``src/applications/model/model.cpp``, ``Model::Run``, and ``src/model/buffer.cpp``,
    ``PreEvaluationCheck``, the same in all versions. It knows tiles before anything is counted: as if no loop ended
    early, and as if a level that distributes multicasts had the room of all its instances. What is evaluated after
    that has to fit as ever.
    """
    names = set()
    extent = np.ones(len(target.layer.bounds), np.int64)
    for index, level in enumerate(reversed(arch.levels)):
        for kind in (SPATIAL, TEMPORAL):
            for loop in nest.loops[index, kind, : nest.counts[index, kind]]:
                extent[loop["dim"]] *= loop["bound"]
        held = held_words(target.layer.coef, nest.keep[index], extent)
        shared = level.instances if level.network.spreads else 1
        own = target.hardware.levels[index]
        if not own["least_words"] <= held <= own["capacity_words"] * shared:
            names.add(level.name)
    if not names:
        return mapping
    _LOG.warning("auto_bypass_on_failure: what does not fit is bypassed, as by Timeloop: %s", ", ".join(sorted(names)))
    levels = [replace(level, keep=frozenset()) if level.level in names else level for level in mapping.levels]
    return replace(mapping, levels=tuple(levels))


def _evaluation(
    problem: Problem, arch: Architecture, costs: EnergyCosts, nest: NestArrays, work: WorkArrays, totals: _Totals
) -> Evaluation:
    units, computes, steps, cycles, total_pj = totals
    spaces = [space.name for space in problem.data_spaces]
    levels = []
    networks: dict[str, dict[str, NetworkStats]] = {}
    names = [*arch.level_names, arch.compute.name]
    count = len(arch.levels)
    kept = nest.keep.tolist()
    for position, level in enumerate(arch.levels):
        index = count - 1 - position
        status = work.status[index]
        instances = int(status["instances"])
        clusters = min(int(status["expanded"]), max(1, level.instances // level.cluster_size))
        data = {}
        for v, space in enumerate(spaces):
            if not kept[index][v]:
                continue
            record = work.access[index, v]
            data[space] = DataStats(
                tile_words=int(record["tile"]),
                partition_words=int(record["partition"]),
                instances=instances,
                clusters=clusters,
                reads=int(record["reads"]),
                updates=int(record["updates"]),
                fills=int(record["fills"]),
                reductions=int(record["reductions"]),
                energy_pj=float(work.flow[index, v]["energy_pj"]),
            )
        levels.append(LevelStats(level.name, int(status["cycles"]), float(work.throttle[index]), data))
        if status["fanout"] > 1 or work.flow[index]["network_pj"].any():
            between = f"{names[position]}<==>{names[position + 1]}"
            for way in range(len(level.networks)):
                networks[between + " back" * way] = {
                    space: _network(problem, level, way, work, index, v, kept=any(one[v] for one in kept[index:]))
                    for v, space in enumerate(spaces)
                }
    return Evaluation(
        levels=tuple(levels),
        networks=networks,
        compute_name=arch.compute.name,
        compute_instances=units,
        computes=computes,
        compute_cycles=steps,
        compute_energy_pj=computes * costs.compute_pj,
        cycles=int(cycles),
        utilization=computes / arch.compute.instances / cycles,
        energy_pj=float(total_pj),
    )


def _network(
    problem: Problem, level: StorageLevel, way: int, work: WorkArrays, index: int, v: int, *, kept: bool
) -> NetworkStats:
    """Return the traffic of a data space on a network below a level, in or back.

    Source: Timeloop ``src/model/network-legacy.cpp`` and its kin.

    ``kept`` tells whether the level or one outside keeps it.
    """
    network, brings_back = level.networks[way], way + 1 == len(level.networks)
    written = problem.data_spaces[v].read_write and brings_back
    # A level that cannot add reads outputs back and sends them out again, but for the first time.
    twice = written and network.kind == MESH and not level.reduces
    times, spared = (2, work.access[index, v]["partition"]) if twice else (1, 0)
    groups = work.groups[index, v, : work.access[index, v]["groups"]]
    if network.kind == MESH:
        groups = np.append(groups, work.spread[index, v])
    kinds = groups[["multicast", "scatter", "words"]].tolist()
    ingress = tuple(sorted((int(m), int(s), float(times * w - spared)) for m, s, w in kinds if w > 0))
    reductions: int = 0
    for multicast, _, words in ingress if written else ():
        # Timeloop adds to a whole number, which cuts every sum; what was spared is taken off every group, and below 0
        # the number wraps around, as the conversion of processors of today does.
        total = reductions + (multicast - 1) * words
        reductions = 0 if total >= 2.0**64 else int(total) % 2**64
    # Outside the outermost level that keeps it a data space has no network (``MaskTiles``).
    fanout = int(work.status[index]["fanout"]) if kept else 0
    links, energy_pj = float(work.flow[index, v]["links"]), float(work.flow[index, v]["network_pj"][way])
    return NetworkStats(fanout, ingress, links, float(reductions), energy_pj, network.kind)
