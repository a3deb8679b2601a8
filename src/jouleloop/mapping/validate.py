"""Whether a mapping is one of this problem on this architecture: factors, levels, fan-outs, bypasses."""

from jouleloop.arch.architecture import Architecture
from jouleloop.errors import Fault, MappingError, raise_all, unknown
from jouleloop.mapping.mapping import AXES, Mapping, factor_faults
from jouleloop.workload.problem import Problem


def check_mapping(mapping: Mapping, problem: Problem, arch: Architecture) -> None:
    """Raise `MappingError` with all faults unless the mapping is one of this problem on this architecture.

    Checked are the levels, dimensions, products of factors, the fan-out along X and Y, and that some level keeps each
    data space. Whether tiles fit their buffers is for the model to say.
    """
    faults: list[Fault] = []
    names = tuple(level.level for level in mapping.levels)
    if names != arch.level_names:
        for name in names:
            if name not in arch.level_names:
                faults.append(unknown(name, arch.level_names, "level", field="mapping"))
        if not faults:
            text = f"has the levels {', '.join(names)}, wanted are {', '.join(arch.level_names)}"
            faults.append(Fault(text, field="mapping"))
        raise MappingError(faults)
    dimensions = problem.shape.dimensions
    spaces = {space.name for space in problem.data_spaces}
    for position, level in enumerate(mapping.levels):
        used = {"X": 1, "Y": 1}
        for dimension, bound, axis in [*((d, b, "") for d, b in level.temporal), *level.spatial]:
            if dimension not in dimensions:
                faults.append(unknown(dimension, dimensions, "dimension", field=level.level))
                continue
            if bound < 1:
                faults.append(Fault(f"factor of {dimension} must be a positive integer", None, level.level, bound))
                continue
            if axis and axis not in AXES:
                faults.append(Fault("unknown axis", None, level.level, axis, "X, Y"))
            elif axis:
                used[axis] *= bound
        for axis, limit in zip(AXES, arch.fanout[position], strict=True):
            if used[axis] > limit:
                text = f"spatial factors multiply to {used[axis]} along {axis}, the fan-out is {limit}"
                faults.append(Fault(text, None, level.level, allowed=f"at most {limit}"))
        faults += [unknown(name, spaces, "data space", field=level.level) for name in sorted(level.keep - spaces)]
    faults += factor_faults(mapping, problem)
    missing = sorted(spaces - frozenset().union(*(level.keep for level in mapping.levels)))
    if missing:
        faults.append(Fault(f"no level keeps {', '.join(missing)}", None, names[0]))
    raise_all(faults, MappingError)
