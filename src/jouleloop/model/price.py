"""From accesses to energy and cycles.

Source: Timeloop 3.0.3 ``src/model/buffer.cpp``: ``ComputeVectorAccesses``, ``ComputeBufferEnergy``,
``FinalizeBufferEnergy``, ``ComputePerformance``; ``topology.cpp``, ``ComputeStats``. Levels are indexed from the
innermost storage level outward.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    AXIS,
    BLOCK_WORDS,
    BOUND,
    CLUSTERS,
    FANOUT_X,
    FANOUT_Y,
    LATENCY_CYCLES,
    LEAK_PJ,
    READ_BANDWIDTH,
    READ_PJ,
    SHARED_BANDWIDTH,
    SPATIAL,
    SPEC,
    TEMPORAL,
    UPDATE_PJ,
    WAYS,
    WRITE_BANDWIDTH,
    WRITE_PJ,
    Bools,
    Floats,
    NestArrays,
    WorkArrays,
)


@njit(apart=True)
def utilize(spec: Floats, nest: NestArrays, work: WorkArrays) -> tuple[int, int]:
    """Write fan-outs, instances and meshes to ``work.status``; return the utilized units and the operations of one."""
    units = 1
    steps = 1
    for level in range(nest.counts.shape[0] - 1, -1, -1):
        work.status[level].instances = units
        work.status[level].expanded = units
        along_x = 1
        along_y = 1
        for s in range(nest.counts[level, SPATIAL]):
            if nest.loops[level, SPATIAL, s, AXIS] == 0:
                along_x *= nest.loops[level, SPATIAL, s, BOUND]
            else:
                along_y *= nest.loops[level, SPATIAL, s, BOUND]
        work.status[level].fanout = along_x * along_y
        work.status[level].columns = max(along_x, int(spec[level, FANOUT_X]))
        work.status[level].rows = max(along_y, int(spec[level, FANOUT_Y]))
        units *= along_x * along_y
        for t in range(nest.counts[level, TEMPORAL]):
            steps *= nest.loops[level, TEMPORAL, t, BOUND]
    return units, steps


@njit
def _vectors(words: int, block_words: float) -> float:
    return math.ceil(words / block_words)


@njit
def _price_level(level: int, spec: Floats, keep: Bools, compute_cycles: int, scaled: bool, work: WorkArrays) -> float:
    """Write the energy of every data space at a level; return the share of full speed that its bandwidth allows."""
    block = spec[level, BLOCK_WORDS]
    expanded = work.status[level].expanded
    clusters = min(float(expanded), spec[level, CLUSTERS])
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
        cluster_pj = _vectors(reads, block) * spec[level, READ_PJ]
        cluster_pj += (_vectors(fills, block) + _vectors(updates, block)) * spec[level, WRITE_PJ]
        cluster_pj += _vectors(updates, block) * (spec[level, UPDATE_PJ] - spec[level, WRITE_PJ])
        if spare != 1.0:
            cluster_pj /= spare
            reads = math.ceil(reads / spare)
            fills, updates = math.ceil((fills + updates) / spare), 0
        work.flow[level, v].energy_pj = cluster_pj * clusters
        # Each data space is divided by the cycles before they are added, as Timeloop does: the sum of quotients can
        # differ from the quotient of the sum in the last bit, and a ceiling follows.
        scale = spec[level, spec.shape[1] - spaces + v] if scaled else 1.0
        read_rate += reads / compute_cycles * scale
        write_rate += (fills + updates) / compute_cycles * scale
    slowdown = 1.0
    if spec[level, READ_BANDWIDTH] < read_rate:
        slowdown = min(slowdown, spec[level, READ_BANDWIDTH] / read_rate)
    if spec[level, WRITE_BANDWIDTH] < write_rate:
        slowdown = min(slowdown, spec[level, WRITE_BANDWIDTH] / write_rate)
    if spec[level, SHARED_BANDWIDTH] < read_rate + write_rate:
        slowdown = min(slowdown, spec[level, SHARED_BANDWIDTH] / (read_rate + write_rate))
    return slowdown


@njit
def price(
    spec: Floats, compute_pj: float, keep: Bools, compute_cycles: int, computes: int, work: WorkArrays
) -> tuple[float, int]:
    """Write energy, throttling and cycles of every level; return the total energy in pJ and the total cycles.

    Parameters
    ----------
    spec
        Shape (levels, SPEC), see `jouleloop.model.arrays`.
    compute_cycles, computes
        Operations of one unit, and of all units.
    work
        As `collapse` leaves it.
    """
    total_pj = computes * compute_pj
    cycles = compute_cycles
    # What tables charge takes a multiple of this.
    scaled = (spec.shape[1] - SPEC) % (WAYS * keep.shape[1]) != 0
    for level in range(spec.shape[0]):
        work.throttle[level] = _price_level(level, spec, keep, compute_cycles, scaled, work)
        for v in range(keep.shape[1]):
            total_pj += work.flow[level, v].energy_pj
        work.status[level].cycles = math.ceil(compute_cycles / work.throttle[level])
        cycles = max(cycles, work.status[level].cycles)
    latency = 0
    for level in range(spec.shape[0]):
        total_pj += spec[level, LEAK_PJ] * work.status[level].instances * cycles
        latency += int(spec[level, LATENCY_CYCLES])
    return total_pj, cycles + latency
