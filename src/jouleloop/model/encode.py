"""Problem, hardware and mapping as the arrays that the kernels read; levels from the innermost outward."""

import numpy as np

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.arrays import SPEC, HardwareArrays, LayerArrays, NestArrays
from jouleloop.model.kernel import MAX_LOOPS
from jouleloop.workload.problem import Problem


def encode_layer(problem: Problem) -> LayerArrays:
    """Return the arrays of a problem."""
    return LayerArrays(
        problem.projection_array,
        np.array([space.read_write for space in problem.data_spaces], np.bool_),
        np.array(problem.bounds, np.int64),
    )


def encode_hardware(arch: Architecture, costs: EnergyCosts) -> HardwareArrays:
    """Return the arrays of an architecture; energies are matched to levels by name."""
    levels = len(arch.levels)
    spec = np.empty((levels, SPEC))
    capacity = np.empty(levels, np.int64)
    min_words = np.zeros(levels)
    by_name = {entry.level: entry for entry in costs.levels}
    for index, level in enumerate(reversed(arch.levels)):
        entry = by_name[level.name]
        bandwidths = (level.read_bandwidth_words, level.write_bandwidth_words, level.shared_bandwidth_words)
        spec[index] = (
            entry.read_pj,
            entry.write_pj,
            level.block_words,
            max(1, level.instances // level.cluster_size),
            *(np.inf if value is None else value for value in bandwidths),
        )
        capacity[index] = -1 if level.effective_words is None else level.effective_words
        if level.effective_words is not None:
            min_words[index] = level.effective_words * level.min_utilization
    fanout = np.array(arch.fanout[::-1], np.int64)
    return HardwareArrays(spec, fanout, capacity, min_words, costs.compute_pj)


def encode_mapping(problem: Problem, arch: Architecture, mapping: Mapping) -> NestArrays:
    """Return the arrays of a mapping.

    Raises
    ------
    MappingError
        Where its levels are not those of the architecture, its factors do not multiply to the layer, it unrolls more
        than the fan-out, or a data space is kept nowhere.
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
    shape = (levels, MAX_LOOPS)
    t_dim, t_bound = np.zeros(shape, np.int64), np.ones(shape, np.int64)
    s_dim, s_bound, s_axis = np.zeros(shape, np.int64), np.ones(shape, np.int64), np.zeros(shape, np.int64)
    t_count, s_count = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    keep = np.zeros((levels, len(spaces)), np.bool_)
    faults: list[Fault] = []
    for index, level in enumerate(reversed(mapping.levels)):
        temporal = [(d, b) for d, b in level.temporal if b > 1]
        spatial = [(d, b, axis) for d, b, axis in level.spatial if b > 1]
        if max(len(temporal), len(spatial)) > MAX_LOOPS:
            faults.append(Fault("too many loops", field=level.level, allowed=f"at most {MAX_LOOPS}"))
            continue
        used = {"X": 1, "Y": 1}
        for k, (dimension, bound) in enumerate(temporal):
            t_dim[index, k], t_bound[index, k] = dims[dimension], bound
        for k, (dimension, bound, axis) in enumerate(spatial):
            s_dim[index, k], s_bound[index, k], s_axis[index, k] = dims[dimension], bound, "XY".index(axis)
            used[axis] *= bound
        t_count[index], s_count[index] = len(temporal), len(spatial)
        for axis, limit in zip("XY", arch.fanout[levels - 1 - index], strict=True):
            if used[axis] > limit:
                faults.append(
                    Fault(
                        f"spatial loops on {axis} unroll {used[axis]} instances",
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
    return NestArrays(t_count, t_dim, t_bound, s_count, s_dim, s_bound, s_axis, keep)
