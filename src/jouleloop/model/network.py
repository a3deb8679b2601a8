"""What networks cost: wires, routers and ingresses between a level and the next inner one.

Source: Timeloop 3.0.3 ``src/model/network-legacy.cpp``, ``LegacyNetwork::ComputeAccesses`` and
``ComputeNetworkEnergy``.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    GROUPS,
    HOP_PJ,
    HOPS,
    INGRESS_PJ,
    INSTANCES,
    LINKS,
    NETWORK_PJ,
    PARTITION,
    REDUCES,
    ROUTER_PJ,
    WORDS,
    Bools,
    Floats,
    WorkArrays,
)


@njit
def is_wired(spec: Floats) -> bool:
    """Whether the energy of a network hangs on where words go."""
    return bool((spec[:, HOP_PJ] != 0.0).any() or (spec[:, ROUTER_PJ] != 0.0).any())


@njit
def price_networks(spec: Floats, read_write: Bools, work: WorkArrays) -> float:
    """Write the energy of every network by data space, over all instances; return their sum in pJ.

    Parameters
    ----------
    spec
        Shape (levels, SPEC), see `jouleloop.model.arrays`.
    work
        As `jouleloop.model.collapse.collapse` leaves it.
    """
    total_pj = 0.0
    for level in range(spec.shape[0]):
        hop_pj = spec[level, HOP_PJ]
        router_pj = spec[level, ROUTER_PJ]
        ingress_pj = spec[level, INGRESS_PJ]
        for v in range(read_write.shape[0]):
            work.flow[level, v, NETWORK_PJ] = 0.0
            if hop_pj == 0.0 and router_pj == 0.0 and ingress_pj == 0.0:
                continue
            # A level that cannot add reads outputs back and sends them out again, but for the first time.
            twice = read_write[v] and spec[level, REDUCES] == 0.0
            hops = 0.0
            routers = 0.0
            ingresses = 0.0
            for g in range(work.access[level, v, GROUPS]):
                words = work.groups[level, v, g, WORDS]
                if words <= 0.0:
                    continue
                if twice:
                    words = 2.0 * words - work.access[level, v, PARTITION]
                ingresses += words
                if words > 0.0:
                    average = work.groups[level, v, g, HOPS] / words
                    # Timeloop adds to a whole number.
                    routers = math.floor(routers + (1.0 + math.floor(average)) * words)
                    hops += average * words
            energy_pj = hops * hop_pj + routers * router_pj + ingresses * ingress_pj
            energy_pj += work.flow[level, v, LINKS] * (hop_pj + 2.0 * router_pj)
            work.flow[level, v, NETWORK_PJ] = energy_pj * work.status[level, INSTANCES]
            total_pj += work.flow[level, v, NETWORK_PJ]
    return total_pj
