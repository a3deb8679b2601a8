"""From accesses to energy and cycles.

Source: Timeloop 3.0.3 ``src/model/buffer.cpp``: ``ComputeVectorAccesses``, ``ComputeBufferEnergy``,
``FinalizeBufferEnergy``, ``ComputePerformance``; ``topology.cpp``, ``ComputeStats``. Levels are indexed from the
innermost storage level outward.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Bools, HardwareArrays, NestArrays, Record, Records, WorkArrays
from jouleloop.model.links import mesh_below


@njit(apart=True)
def utilize(levels: Records, nest: NestArrays, work: WorkArrays) -> tuple[int, int]:
    """Write fan-outs, instances and meshes to ``work.status``; return the utilized units and the operations of one."""
    units = 1
    steps = 1
    for level in range(nest.counts.shape[0] - 1, -1, -1):
        work.status[level].instances = units
        work.status[level].expanded = units
        work.status[level].fanout = 1
        for s in range(nest.counts[level, SPATIAL]):
            work.status[level].fanout *= nest.loops[level, SPATIAL, s].bound
        columns, rows = mesh_below(levels[level], nest.loops[level, SPATIAL, : nest.counts[level, SPATIAL]])
        work.status[level].columns, work.status[level].rows = columns, rows
        units *= work.status[level].fanout
        for t in range(nest.counts[level, TEMPORAL]):
            steps *= nest.loops[level, TEMPORAL, t].bound
    return units, steps


@njit
def fits(level: Record, words: float) -> bool:
    """Whether tiles of so many words fit a level, and fill as much of it as they have to."""
    return bool(level.least_words <= words <= level.capacity_words)


@njit
def _vectors(words: int, block_words: int) -> float:
    return math.ceil(words / block_words)


@njit
def _price_level(level: int, hardware: HardwareArrays, keep: Bools, compute_cycles: int, work: WorkArrays) -> float:
    """Write the energy of every data space at a level; return the share of full speed that its bandwidth allows."""
    own, expanded = hardware.levels[level], work.status[level].expanded
    clusters = min(expanded, own.clusters)
    # How many times as many instances as work on average are there (``scaling_ratio``).
    spare = expanded / work.status[level].instances
    spaces, read_rate, write_rate = keep.shape[1], 0.0, 0.0
    for v in range(spaces):
        work.flow[level, v].energy_pj = 0.0
        if not keep[level, v]:
            continue
        reads = work.access[level, v].reads
        fills = work.access[level, v].fills
        updates = work.access[level, v].updates
        cluster_pj = _vectors(reads, own.block_words) * own.read_pj
        cluster_pj += (_vectors(fills, own.block_words) + _vectors(updates, own.block_words)) * own.write_pj
        cluster_pj += _vectors(updates, own.block_words) * (own.update_pj - own.write_pj)
        if spare != 1.0:
            cluster_pj /= spare
            reads = math.ceil(reads / spare)
            fills, updates = math.ceil((fills + updates) / spare), 0
        work.flow[level, v].energy_pj = cluster_pj * clusters
        # Each data space is divided by the cycles before they are added, as Timeloop does: the sum of quotients can
        # differ from the quotient of the sum in the last bit, and a ceiling follows.
        scale = hardware.scale[level, v]
        read_rate += reads / compute_cycles * scale
        write_rate += (fills + updates) / compute_cycles * scale
    slowdown = 1.0
    if own.read_words_per_cycle < read_rate:
        slowdown = min(slowdown, own.read_words_per_cycle / read_rate)
    if own.written_words_per_cycle < write_rate:
        slowdown = min(slowdown, own.written_words_per_cycle / write_rate)
    if own.shared_words_per_cycle < read_rate + write_rate:
        slowdown = min(slowdown, own.shared_words_per_cycle / (read_rate + write_rate))
    return slowdown


@njit
def price(
    hardware: HardwareArrays, compute_pj: float, keep: Bools, compute_cycles: int, computes: int, work: WorkArrays
) -> tuple[float, int]:
    """Write energy, throttling and cycles of every level; return the total energy in pJ and the total cycles.

    Parameters
    ----------
    compute_cycles, computes
        Operations of one unit, and of all units.
    work
        As `collapse` leaves it.
    """
    total_pj = computes * compute_pj
    cycles = compute_cycles
    for level in range(hardware.levels.shape[0]):
        work.throttle[level] = _price_level(level, hardware, keep, compute_cycles, work)
        for v in range(keep.shape[1]):
            total_pj += work.flow[level, v].energy_pj
        work.status[level].cycles = math.ceil(compute_cycles / work.throttle[level])
        cycles = max(cycles, work.status[level].cycles)
    latency = 0
    for level in range(hardware.levels.shape[0]):
        total_pj += hardware.levels[level].leak_pj * work.status[level].instances * cycles
        latency += hardware.levels[level].latency_cycles
    return total_pj, cycles + latency
