"""Evaluate mappings: one with everything that is known of it, or many of one layer in bulk."""

from collections.abc import Sequence

import numba as nb
import numpy as np

from jouleloop.arch.architecture import Architecture
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.collapse import FILLS, PARTITION, READS, RECORD, REDUCTIONS, TILE, UPDATES, collapse
from jouleloop.model.encode import Hardware, Nest, encode_hardware, encode_mapping
from jouleloop.model.evaluation import DataStats, Evaluation, LevelStats, NetworkStats
from jouleloop.model.kernel import MAX_GROUPS, MULTICAST, WORDS, Bools, Floats, Ints, count_transfers
from jouleloop.model.price import price, temporal_iterations, utilized
from jouleloop.workload.problem import Problem

#: Whether the first fill of an output is left out, by version of the semantics.
FIRST_FILLS_ELIDED = {"timeloop-3.0.3": True, "timeloop-2023-04": False}


def first_fills_elided(semantics: str) -> bool:
    """Return whether ``semantics`` leaves the first fills of outputs out."""
    if semantics not in FIRST_FILLS_ELIDED:
        allowed = ", ".join(FIRST_FILLS_ELIDED)
        raise MappingError(Fault("unknown semantics", field="semantics", value=semantics, allowed=allowed))
    return FIRST_FILLS_ELIDED[semantics]


@nb.njit(cache=True)
def evaluate_nest(
    coef: Ints,
    read_write: Bools,
    spec: Floats,
    fanout_xy: Ints,
    compute_pj: float,
    elided: bool,
    t_count: Ints,
    t_dim: Ints,
    t_bound: Ints,
    s_count: Ints,
    s_dim: Ints,
    s_bound: Ints,
    s_axis: Ints,
    keep: Bools,
    tile: Ints,
    sibling: Ints,
    groups: Floats,
    group_count: Ints,
    links: Floats,
    access: Ints,
    energy_pj: Floats,
    throttle: Floats,
    level_cycles: Ints,
    fanout: Ints,
    instances: Ints,
) -> tuple[float, int, int, int]:
    """Run the whole model on one nest; return energy [pJ], cycles, utilized units and operations of one unit."""
    levels = t_count.shape[0]
    mesh = np.empty((levels, 2), np.int64)
    for level in range(levels):
        x = 1
        y = 1
        for s in range(s_count[level]):
            if s_axis[level, s] == 0:
                x *= s_bound[level, s]
            else:
                y *= s_bound[level, s]
        mesh[level, 0] = max(x, fanout_xy[level, 0])
        mesh[level, 1] = max(y, fanout_xy[level, 1])
    units = utilized(s_count, s_bound, fanout, instances)
    steps = temporal_iterations(t_count, t_bound)
    count_transfers(
        coef, t_count, t_dim, t_bound, s_count, s_dim, s_bound, mesh, tile, sibling, groups, group_count, links
    )
    collapse(read_write, keep, fanout, instances, elided, tile, sibling, groups, group_count, links, access)
    total_pj, cycles = price(
        spec, compute_pj, keep, instances, steps, steps * units, access, energy_pj, throttle, level_cycles
    )
    return total_pj, cycles, units, steps


class _Buffers:
    """The work arrays of one evaluation."""

    def __init__(self, levels: int, spaces: int) -> None:
        self.tile = np.zeros((levels, spaces), np.int64)
        self.sibling = np.zeros((levels, spaces), np.int64)
        self.groups = np.zeros((levels, spaces, MAX_GROUPS, 3))
        self.group_count = np.zeros((levels, spaces), np.int64)
        self.links = np.zeros((levels, spaces))
        self.access = np.zeros((levels, spaces, RECORD), np.int64)
        self.energy_pj = np.zeros((levels, spaces))
        self.throttle = np.ones(levels)
        self.level_cycles = np.zeros(levels, np.int64)
        self.fanout = np.ones(levels, np.int64)
        self.instances = np.ones(levels, np.int64)

    def arrays(self) -> tuple[Ints | Floats, ...]:
        """Return the arrays in the order `evaluate_nest` takes them."""
        return (
            self.tile,
            self.sibling,
            self.groups,
            self.group_count,
            self.links,
            self.access,
            self.energy_pj,
            self.throttle,
            self.level_cycles,
            self.fanout,
            self.instances,
        )


def _read_write(problem: Problem) -> Bools:
    return np.array([space.read_write for space in problem.data_spaces], np.bool_)


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

    Parameters
    ----------
    semantics
        Which Timeloop is followed: ``timeloop-3.0.3`` or ``timeloop-2023-04`` (first output fills counted).
    check_capacity
        Whether a tile that does not fit its level is an error.

    Raises
    ------
    MappingError
        Where it is no mapping of this problem onto this architecture.
    """
    nest = encode_mapping(problem, arch, mapping)
    hardware = encode_hardware(arch, costs)
    levels, spaces = nest.keep.shape
    work = _Buffers(levels, spaces)
    total_pj, cycles, units, steps = evaluate_nest(
        problem.projection_array,
        _read_write(problem),
        hardware.spec,
        hardware.fanout_xy,
        hardware.compute_pj,
        first_fills_elided(semantics),
        *_nest_arrays(nest),
        *work.arrays(),
    )
    if check_capacity:
        _check_capacity(problem, arch, nest, hardware, work)
    return _evaluation(problem, arch, costs, nest, work, total_pj, cycles, units, steps)


def _nest_arrays(nest: Nest) -> tuple[Ints | Bools, ...]:
    return (
        nest.t_count,
        nest.t_dim,
        nest.t_bound,
        nest.s_count,
        nest.s_dim,
        nest.s_bound,
        nest.s_axis,
        nest.keep,
    )


def _check_capacity(problem: Problem, arch: Architecture, nest: Nest, hardware: Hardware, work: _Buffers) -> None:
    faults = []
    for index, level in enumerate(reversed(arch.levels)):
        limit = int(hardware.capacity_words[index])
        needed = int(work.tile[index][nest.keep[index]].sum())
        if limit >= 0 and needed > limit:
            faults.append(
                Fault(f"tiles of {needed} words do not fit", field=level.name, allowed=f"at most {limit} words")
            )
    if faults:
        raise MappingError(faults)


def _evaluation(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    nest: Nest,
    work: _Buffers,
    total_pj: float,
    cycles: int,
    units: int,
    steps: int,
) -> Evaluation:
    spaces = [space.name for space in problem.data_spaces]
    levels = []
    networks: dict[str, dict[str, NetworkStats]] = {}
    names = [*arch.level_names, arch.compute.name]
    count = len(arch.levels)
    for position, level in enumerate(arch.levels):
        index = count - 1 - position
        instances = int(work.instances[index])
        clusters = min(instances, max(1, level.instances // level.cluster_size))
        data = {}
        for v, space in enumerate(spaces):
            if not nest.keep[index, v]:
                continue
            record = work.access[index, v]
            data[space] = DataStats(
                tile_words=int(record[TILE]),
                partition_words=int(record[PARTITION]),
                instances=instances,
                clusters=clusters,
                reads=int(record[READS]),
                updates=int(record[UPDATES]),
                fills=int(record[FILLS]),
                reductions=int(record[REDUCTIONS]),
                energy_pj=float(work.energy_pj[index, v]),
            )
        levels.append(LevelStats(level.name, int(work.level_cycles[index]), float(work.throttle[index]), data))
        if work.fanout[index] > 1:
            networks[f"{names[position]}<==>{names[position + 1]}"] = {
                space: _network(problem, work, index, v) for v, space in enumerate(spaces)
            }
    computes = steps * units
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


def _network(problem: Problem, work: _Buffers, index: int, v: int) -> NetworkStats:
    groups = work.groups[index, v, : work.group_count[index, v]]
    ingress = tuple(sorted((int(m), int(s), float(w)) for m, s, w in groups if w > 0))
    reductions = float(sum((g[MULTICAST] - 1) * g[WORDS] for g in groups)) if problem.data_spaces[v].read_write else 0.0
    return NetworkStats(int(work.fanout[index]), ingress, float(work.links[index, v]), reductions)


@nb.njit(cache=True)
def _evaluate_bulk(
    coef: Ints,
    read_write: Bools,
    spec: Floats,
    fanout_xy: Ints,
    compute_pj: float,
    elided: bool,
    t_count: Ints,
    t_dim: Ints,
    t_bound: Ints,
    s_count: Ints,
    s_dim: Ints,
    s_bound: Ints,
    s_axis: Ints,
    keep: Bools,
    energies_pj: Floats,
    cycles: Ints,
) -> None:
    levels = t_count.shape[1]
    spaces = coef.shape[0]
    tile = np.zeros((levels, spaces), np.int64)
    sibling = np.zeros((levels, spaces), np.int64)
    groups = np.zeros((levels, spaces, MAX_GROUPS, 3))
    group_count = np.zeros((levels, spaces), np.int64)
    links = np.zeros((levels, spaces))
    access = np.zeros((levels, spaces, RECORD), np.int64)
    energy_pj = np.zeros((levels, spaces))
    throttle = np.ones(levels)
    level_cycles = np.zeros(levels, np.int64)
    fanout = np.ones(levels, np.int64)
    instances = np.ones(levels, np.int64)
    for n in range(t_count.shape[0]):
        energies_pj[n], cycles[n], _, _ = evaluate_nest(
            coef,
            read_write,
            spec,
            fanout_xy,
            compute_pj,
            elided,
            t_count[n],
            t_dim[n],
            t_bound[n],
            s_count[n],
            s_dim[n],
            s_bound[n],
            s_axis[n],
            keep[n],
            tile,
            sibling,
            groups,
            group_count,
            links,
            access,
            energy_pj,
            throttle,
            level_cycles,
            fanout,
            instances,
        )


def evaluate_many(
    problem: Problem,
    arch: Architecture,
    costs: EnergyCosts,
    mappings: Sequence[Mapping],
    semantics: str = "timeloop-3.0.3",
) -> tuple[Floats, Ints]:
    """Return total energy [pJ] and cycles of many mappings of one layer, both of shape (mappings,)."""
    nests = [encode_mapping(problem, arch, mapping) for mapping in mappings]
    return evaluate_nests(problem, encode_hardware(arch, costs), nests, semantics)


def evaluate_nests(
    problem: Problem, hardware: Hardware, nests: Sequence[Nest], semantics: str = "timeloop-3.0.3"
) -> tuple[Floats, Ints]:
    """Return total energy [pJ] and cycles of encoded nests of one layer, both of shape (nests,)."""
    energies_pj, cycles = np.empty(len(nests)), np.empty(len(nests), np.int64)
    if nests:
        columns = [np.stack(arrays) for arrays in zip(*(_nest_arrays(nest) for nest in nests), strict=True)]
        _evaluate_bulk(
            problem.projection_array,
            _read_write(problem),
            hardware.spec,
            hardware.fanout_xy,
            hardware.compute_pj,
            first_fills_elided(semantics),
            *columns,
            energies_pj,
            cycles,
        )
    return energies_pj, cycles
