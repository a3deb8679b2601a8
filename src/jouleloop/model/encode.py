"""Problem, hardware and mapping as the arrays that the kernels read; levels from the innermost outward."""

import math
from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache

import numpy as np

from jouleloop.arch.architecture import MESH, MULTICAST, TREE, Architecture, Network, StorageLevel
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapping.reuse import ALL_REUSE, Reuse
from jouleloop.model.arrays import (
    CHARGED,
    LEVEL,
    MAX_LOOPS,
    MESH_BACK,
    MESH_IN,
    NETWORK,
    REUSE,
    SPATIAL,
    TEMPORAL,
    TRANSFER,
    TREE_BACK,
    WAYS,
    Bools,
    Encoded,
    HardwareArrays,
    Ints,
    LayerArrays,
    NestArrays,
    Records,
    new_nest,
)
from jouleloop.model.network import takes_energy
from jouleloop.model.semantics import RULES, Rules
from jouleloop.model.support import AskedFeature, Use, check_supported
from jouleloop.workload.problem import Problem


def encode_reuse(problem: Problem, reuse: Sequence[Reuse]) -> Records:
    """Return which data spaces each level does not reuse, of `REUSE`, shape (levels, data spaces), levels as given."""
    found = np.zeros((len(reuse), len(problem.data_spaces)), REUSE)
    for level, rules in enumerate(reuse):
        for rule in fields(rules) if rules else ():
            found[rule.name][level] = [space.name in getattr(rules, rule.name) for space in problem.data_spaces]
    return found


def encode_layer(
    problem: Problem, reuse: Sequence[Reuse], rules: Rules = RULES["timeloop-3.0.3"], arch: Architecture | None = None
) -> LayerArrays:
    """Return the arrays of a problem, and of what every level does not reuse, innermost level first.

    ``arch`` tells the levels whose instances send words to each other's inner nodes (``M:N``).

    Raises `InputError` where a dimension moves a data space along two ranks: Timeloop then sends the exact difference
    of two boxes that overlap at a corner, and the kernels know only boxes that overlap along one rank.
    """
    crossing = [(space, d) for space in problem.data_spaces for d in space.crossing if problem.bound[d] > 1]
    found = [
        AskedFeature("two_ranks", f"{space.name}.projection", dimension, problem.name) for space, dimension in crossing
    ]
    check_supported(Use.EVALUATION, found, InputError)
    reused = encode_reuse(problem, reuse)
    reused["resting"] = rules.zero_shift_keeps_last
    reused["averaging"] = rules.averages_remainders
    for level, place in enumerate(reversed(arch.levels if arch else ())):
        reused["spreading"][level] = place.network.spreads
    return LayerArrays(
        problem.projection_array,
        np.array([space.read_write for space in problem.data_spaces], np.bool_),
        np.array(problem.bounds, np.int64),
        reused,
    )


def encode(
    problem: Problem, arch: Architecture, costs: EnergyCosts, rules: Rules, reuse: Sequence[Reuse] | None = None
) -> Encoded:
    """Return what the kernels read of a layer, hardware, energies and rules.

    ``reuse`` says what each level does not reuse, innermost level first; none: every level reuses all.
    """
    layer = encode_layer(problem, [ALL_REUSE] * len(arch.levels) if reuse is None else reuse, rules, arch)
    hardware = encode_hardware(arch, costs, rules, [space.name for space in problem.data_spaces])
    return Encoded(layer, hardware, float(costs.compute_pj), rules.first_fills_elided)


def narrowed(target: Encoded, dims: Ints) -> Encoded:
    """Return a layer on its hardware with some of its dimensions alone, given by number."""
    layer = target.layer
    coef = np.ascontiguousarray(layer.coef[:, :, dims])
    return target._replace(layer=layer._replace(coef=coef, bounds=layer.bounds[dims]))


def encode_hardware(
    arch: Architecture, costs: EnergyCosts, rules: Rules = RULES["timeloop-3.0.3"], spaces: Sequence[str] = ()
) -> HardwareArrays:
    """Return the levels and networks of an architecture; energies are matched to levels by name.

    ``spaces`` names the data spaces. Layers of a sweep share the arrays: they are only read.
    """
    return _hardware(arch, costs, rules, tuple(spaces))


@lru_cache(maxsize=16)
def _hardware(arch: Architecture, costs: EnergyCosts, rules: Rules, spaces: tuple[str, ...]) -> HardwareArrays:
    levels = np.zeros(len(arch.levels), LEVEL)
    networks = np.zeros((len(arch.levels), WAYS), NETWORK)
    by_name = {entry.level: entry for entry in costs.levels}
    charged = [table.name for table in costs.networks]
    scale = np.ones((len(arch.levels), len(spaces)))
    for index, (level, fanout) in enumerate(zip(reversed(arch.levels), reversed(arch.fanout), strict=True)):
        entry = by_name[level.name]
        limits = (
            level.read_bandwidth_words,
            level.write_bandwidth_words,
            level.shared_bandwidth_words,
            level.effective_words,
        )
        scale[index] = _scales(level, rules, spaces)
        levels[index] = (
            *entry.charged_pj(later=rules.charges_updates),
            level.block_words,
            max(1, level.instances // level.cluster_size),
            *(np.inf if value is None else value for value in limits),
            0.0 if level.effective_words is None else level.effective_words * level.min_utilization,
            *fanout,
            level.reduces,
            entry.leak_pj * rules.counts_leakage,
            level.latency_cycles,
            scale[index].min(initial=1.0),
        )
        both = level.back is None
        for way, network in enumerate(level.networks):
            if network.takes or network.name in charged:
                networks[index, way] = _network(network, back=both or network is level.back)
    if not rules.charges_networks and takes_energy(networks):
        check_supported(
            Use.EVALUATION, [AskedFeature("older_network_energy", "semantics", "timeloop-2023-04")], InputError
        )
    return HardwareArrays(levels, networks, _transfers(arch, costs, spaces), scale)


def _scales(level: StorageLevel, rules: Rules, spaces: Sequence[str]) -> list[float]:
    """Return how much a word of each data space counts in the bandwidths of a level.

    Source: Timeloop 4 ``src/model/buffer.cpp``, ``BufferLevel::ParseSpecs`` and ``ComputePerformance``.
    """
    stated = dict(level.bandwidth_scale) if rules.scales_bandwidths else {}
    unknown_spaces = sorted(set(stated) - set(spaces))
    if unknown_spaces and spaces:
        text = "scales the bandwidth of no data space of the layer, where Timeloop ends"
        where = f"{level.name}.attributes.per_dataspace_bandwidth_consumption_scale"
        raise InputError(Fault(text, None, where, ", ".join(unknown_spaces), ", ".join(spaces)))
    return [stated.get(space, 1.0) for space in spaces]


def _network(network: Network, *, back: bool) -> tuple[float, ...]:
    """Return the fields of a network that takes energy; ``back``: it brings words back."""
    kind = {MESH: MESH_BACK if back else MESH_IN, TREE: TREE_BACK, MULTICAST: CHARGED}[network.kind]
    return kind, network.hop_pj, network.router_pj, network.ingress_pj, network.adder_pj


def _transfers(arch: Architecture, costs: EnergyCosts, spaces: Sequence[str]) -> Records:
    """Return `HardwareArrays.transfers`."""
    tables = {table.name: table for table in costs.networks}
    rows = {
        (index, way, v): tables[network.name].rows(network, space)
        for index, level in enumerate(reversed(arch.levels))
        for way, network in enumerate(level.networks)
        if network.name in tables
        for v, space in enumerate(spaces)
    }
    most = max(map(len, rows.values()), default=0)
    found = np.zeros((len(arch.levels), WAYS, len(spaces), most), TRANSFER)
    found["multicast"] = -1.0
    for place, pairs in rows.items():
        found[place][: len(pairs)] = pairs
    return found


def encode_mapping(problem: Problem, arch: Architecture, mapping: Mapping) -> NestArrays:
    """Return the arrays of a mapping.

    Raises `MappingError` where its levels are not those of the architecture, its factors do not multiply to the layer,
    it unrolls more than the fan-out, or a data space is kept nowhere.
    """
    names = tuple(level.level for level in mapping.levels)
    if names != arch.level_names:
        raise MappingError(
            Fault("levels are not those of the architecture", value=names, allowed=str(arch.level_names))
        )
    mapping.check_factors(problem)
    spaces = [space.name for space in problem.data_spaces]
    dims = {name: index for index, name in enumerate(problem.shape.dimensions)}
    levels = len(names)
    temporal = [[(dims[d], bound) for d, bound in level.temporal if bound > 1] for level in reversed(mapping.levels)]
    spatial = [
        [(dims[d], bound, "XY".index(axis)) for d, bound, axis in level.spatial if bound > 1]
        for level in reversed(mapping.levels)
    ]
    keep = np.zeros((levels, len(spaces)), np.bool_)
    faults: list[Fault] = []
    for index, level in enumerate(reversed(mapping.levels)):
        if max(len(temporal[index]), len(spatial[index])) > MAX_LOOPS:
            faults.append(Fault("too many loops", field=level.level, allowed=f"at most {MAX_LOOPS}"))
            continue
        for axis, limit in enumerate(arch.fanout[levels - 1 - index]):
            used = math.prod(bound for _, bound, on in spatial[index] if on == axis)
            if used > limit:
                faults.append(
                    Fault(
                        f"spatial loops on {'XY'[axis]} unroll {used} instances",
                        field=level.level,
                        allowed=f"at most {limit}",
                    )
                )
        for name in level.keep:
            if name in spaces:
                keep[index, spaces.index(name)] = True
            else:
                faults.append(Fault("unknown data space", field=level.level, value=name, allowed=", ".join(spaces)))
    for s, name in enumerate(spaces):
        if not keep[:, s].any():
            faults.append(Fault("data space is kept at no level", value=name))
    if faults:
        raise MappingError(faults)
    return nest_arrays(temporal, spatial, keep)


def nest_arrays(
    temporal: Sequence[Sequence[tuple[int, int]]], spatial: Sequence[Sequence[tuple[int, int, int]]], keep: Bools
) -> NestArrays:
    """Return the arrays of a nest whose levels stand innermost first, the loops of a level outermost first."""
    nest = new_nest(np.ascontiguousarray(keep))
    for level in range(len(temporal)):
        nest.counts[level] = len(temporal[level]), len(spatial[level])
        for i, (d, end) in enumerate(temporal[level]):
            nest.loops[level, TEMPORAL, i] = d, end, 0
        for i, loop in enumerate(spatial[level]):
            nest.loops[level, SPATIAL, i] = loop
    return nest
