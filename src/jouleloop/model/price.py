"""From accesses to energy and cycles.

Source: Timeloop 3.0.3 ``src/model/buffer.cpp``: ``ComputeVectorAccesses``, ``ComputeBufferEnergy``,
``FinalizeBufferEnergy``, ``ComputePerformance``. Levels are indexed from the innermost storage level outward.
"""

import math

import numba as nb

from jouleloop.model.arrays import (
    BLOCK_WORDS,
    CLUSTERS,
    FILLS,
    READ_BANDWIDTH,
    READ_PJ,
    READS,
    SHARED_BANDWIDTH,
    UPDATES,
    WRITE_BANDWIDTH,
    WRITE_PJ,
)
from jouleloop.model.kernel import Bools, Floats, Ints


@nb.njit(cache=True)
def _vectors(words: int, block_words: float) -> float:
    return math.ceil(words / block_words)


@nb.njit(cache=True)
def price(
    spec: Floats,
    compute_pj: float,
    keep: Bools,
    instances: Ints,
    compute_cycles: int,
    computes: int,
    access: Ints,
    energy_pj: Floats,
    throttle: Floats,
    level_cycles: Ints,
) -> tuple[float, int]:
    """Write energy, throttling and cycles of every level; return the total energy in pJ and the total cycles.

    Parameters
    ----------
    spec
        As in `HardwareArrays`.
    compute_cycles, computes
        Operations of one unit, and of all units.
    access
        As `collapse` leaves it.
    energy_pj
        Out, shape (levels, data spaces), over all instances.
    throttle, level_cycles
        Out, by level.
    """
    levels = spec.shape[0]
    spaces = access.shape[1]
    total_pj = computes * compute_pj
    cycles = compute_cycles
    for level in range(levels):
        block = spec[level, BLOCK_WORDS]
        clusters = min(float(instances[level]), spec[level, CLUSTERS])
        read_rate = 0.0
        write_rate = 0.0
        for v in range(spaces):
            energy_pj[level, v] = 0.0
            if not keep[level, v]:
                continue
            reads = access[level, v, READS]
            fills = access[level, v, FILLS]
            updates = access[level, v, UPDATES]
            cluster_pj = _vectors(reads, block) * spec[level, READ_PJ]
            cluster_pj += (_vectors(fills, block) + _vectors(updates, block)) * spec[level, WRITE_PJ]
            energy_pj[level, v] = cluster_pj * clusters
            total_pj += energy_pj[level, v]
            # Each data space is divided by the cycles before they are added, as Timeloop does: the sum of quotients can
            # differ from the quotient of the sum in the last bit, and a ceiling follows.
            read_rate += reads / compute_cycles
            write_rate += (fills + updates) / compute_cycles
        slowdown = 1.0
        if spec[level, READ_BANDWIDTH] < read_rate:
            slowdown = min(slowdown, spec[level, READ_BANDWIDTH] / read_rate)
        if spec[level, WRITE_BANDWIDTH] < write_rate:
            slowdown = min(slowdown, spec[level, WRITE_BANDWIDTH] / write_rate)
        if spec[level, SHARED_BANDWIDTH] < read_rate + write_rate:
            slowdown = min(slowdown, spec[level, SHARED_BANDWIDTH] / (read_rate + write_rate))
        throttle[level] = slowdown
        level_cycles[level] = math.ceil(compute_cycles / slowdown)
        cycles = max(cycles, level_cycles[level])
    return total_pj, cycles


@nb.njit(cache=True)
def utilized(s_count: Ints, s_bound: Ints, fanout: Ints, instances: Ints) -> int:
    """Write the utilized fan-out below and the utilized instances of each level; return the utilized compute units."""
    levels = s_count.shape[0]
    product = 1
    for level in range(levels - 1, -1, -1):
        instances[level] = product
        fanout[level] = 1
        for s in range(s_count[level]):
            fanout[level] *= s_bound[level, s]
        product *= fanout[level]
    return product


@nb.njit(cache=True)
def temporal_iterations(t_count: Ints, t_bound: Ints) -> int:
    """Iterations of all temporal loops: the operations of one compute unit."""
    product = 1
    for level in range(t_count.shape[0]):
        for t in range(t_count[level]):
            product *= t_bound[level, t]
    return product
