"""Problem, hardware and mapping as the arrays that the kernels read; levels from the innermost outward."""

import math
from collections.abc import Collection, Sequence
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
    LATER,
    MAX_LOOPS,
    MESH_BACK,
    MESH_IN,
    NO_ENERGY,
    RESTING,
    REUSE,
    SPATIAL,
    SPEC,
    SPREADING,
    TEMPORAL,
    TREE_BACK,
    WAYS,
    Bools,
    Encoded,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
)
from jouleloop.model.network import takes_energy
from jouleloop.model.semantics import RULES, Rules
from jouleloop.model.support import AskedFeature, Use, check_supported
from jouleloop.workload.problem import Problem


def encode_reuse(problem: Problem, reuse: Sequence[Reuse]) -> Bools:
    """Return which data spaces each level does not reuse, shape (levels, data spaces, REUSE), levels as given."""
    found = np.zeros((len(reuse), len(problem.data_spaces), REUSE), np.bool_)
    for level, rules in enumerate(reuse):
        for place, rule in enumerate(fields(rules) if rules else ()):
            found[level, :, place] = [space.name in getattr(rules, rule.name) for space in problem.data_spaces]
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
    reused[..., RESTING] = rules.zero_shift_keeps_last
    reused[..., LATER] = rules.averages_remainders
    for level, place in enumerate(reversed(arch.levels if arch else ())):
        reused[level, :, SPREADING] = place.network.spreads
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
    spec = encode_hardware(arch, costs, rules, [space.name for space in problem.data_spaces])
    return Encoded(layer, spec, float(costs.compute_pj), rules.first_fills_elided)


def narrowed(target: Encoded, dims: Ints) -> Encoded:
    """Return a layer on its hardware with some of its dimensions alone, given by number."""
    layer = target.layer
    coef = np.ascontiguousarray(layer.coef[:, :, dims])
    return target._replace(layer=layer._replace(coef=coef, bounds=layer.bounds[dims]))


def encode_hardware(
    arch: Architecture, costs: EnergyCosts, rules: Rules = RULES["timeloop-3.0.3"], spaces: Sequence[str] = ()
) -> Floats:
    """Return the specification of every level, shape (levels, SPEC); energies are matched to levels by name.

    ``spaces`` names the data spaces; where a table charges networks, what each pays follows in every row, and last,
    where their words do not count alike in bandwidths, how they do. Layers of a sweep share the array: it is only read.
    """
    return _hardware(arch, costs, rules, tuple(spaces))


@lru_cache(maxsize=16)
def _hardware(arch: Architecture, costs: EnergyCosts, rules: Rules, spaces: tuple[str, ...]) -> Floats:
    spec = np.zeros((len(arch.levels), SPEC))
    by_name = {entry.level: entry for entry in costs.levels}
    charged = [table.name for table in costs.networks]
    scaled: list[list[float]] = []
    for index, (level, fanout) in enumerate(zip(reversed(arch.levels), reversed(arch.fanout), strict=True)):
        entry = by_name[level.name]
        limits = (
            level.read_bandwidth_words,
            level.write_bandwidth_words,
            level.shared_bandwidth_words,
            level.effective_words,
        )
        both = level.back is None
        networks = [_network(one, both or one is level.back, charged) for one in level.networks]
        spec[index] = (
            *entry.charged_pj(later=rules.charges_updates),
            level.block_words,
            max(1, level.instances // level.cluster_size),
            *(np.inf if value is None else value for value in limits),
            0.0 if level.effective_words is None else level.effective_words * level.min_utilization,
            *fanout,
            level.reduces,
            entry.leak_pj * rules.counts_leakage,
            level.latency_cycles,
            min([1.0, *(scales := _scales(level, rules, spaces))]),
            *networks[0],
            *(networks[-1] if level.back else _NO_NETWORK),
        )
        scaled.append(scales)
    if not rules.charges_networks and takes_energy(spec):
        check_supported(
            Use.EVALUATION, [AskedFeature("older_network_energy", "semantics", "timeloop-2023-04")], InputError
        )
    spec = _with_charges(spec, arch, costs, spaces) if costs.networks else spec
    return np.hstack([spec, np.array(scaled)]) if any(scale != 1.0 for scales in scaled for scale in scales) else spec


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


_NO_NETWORK = (NO_ENERGY, 0.0, 0.0, 0.0, 0.0)


def _network(network: Network, back: bool, charged: Collection[str]) -> tuple[float, ...]:
    """Return the `WAY` numbers of a network; ``back``: it brings words back; ``charged`` are networks with a table."""
    if not network.takes and network.name not in charged:
        return _NO_NETWORK
    kind = {MESH: MESH_BACK if back else MESH_IN, TREE: TREE_BACK, MULTICAST: CHARGED}[network.kind]
    return kind, network.hop_pj, network.router_pj, network.ingress_pj, network.adder_pj


def _with_charges(spec: Floats, arch: Architecture, costs: EnergyCosts, spaces: Sequence[str]) -> Floats:
    """Return the specification with what tables charge: by network and data space a number of pairs, and these.

    A pair is a multicast factor, 0 for any, and the energy [pJ] of a transfer.
    """
    tables = {table.name: table for table in costs.networks}
    rows = [
        [
            [0.0]
            if way >= len(level.networks) or level.networks[way].name not in tables
            else tables[level.networks[way].name].encoded(level.networks[way], space)
            for way in range(WAYS)
            for space in spaces
        ]
        for level in reversed(arch.levels)
    ]
    width = max(len(entry) for row in rows for entry in row)
    padded = [[number for entry in row for number in (*entry, *[0.0] * (width - len(entry)))] for row in rows]
    return np.hstack([spec, np.array(padded)])


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
    levels = len(temporal)
    counts, loops = np.zeros((levels, 2), np.int64), np.zeros((levels, 2, MAX_LOOPS, 3), np.int64)
    for level in range(levels):
        counts[level] = len(temporal[level]), len(spatial[level])
        for i, (d, end) in enumerate(temporal[level]):
            loops[level, TEMPORAL, i] = d, end, 0
        for i, loop in enumerate(spatial[level]):
            loops[level, SPATIAL, i] = loop
    return NestArrays(counts, loops, np.ascontiguousarray(keep))
