"""What networks cost: wires, routers, ingresses, additions and transfers between a level and the next inner node.

Source: Timeloop 3.0.3 ``src/model/network-legacy.cpp``, ``LegacyNetwork::ComputeAccesses`` and
``ComputeNetworkEnergy``; ``network-reduction-tree.cpp`` and ``network-simple-multicast.cpp``, each ``Evaluate``. Every
network counts all data spaces, whichever way it carries words.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    ADDER_PJ,
    CHARGED,
    GROUPS,
    HOP_PJ,
    HOPS,
    INGRESS_PJ,
    INSTANCES,
    KIND,
    LINKS,
    MESH_BACK,
    MULTICAST,
    NETWORK,
    NETWORK_PJ,
    NO_ENERGY,
    PARTITION,
    REDUCES,
    ROUTER_PJ,
    SCATTER,
    SPEC,
    SPREAD,
    TREE_BACK,
    WAY,
    WAYS,
    WORDS,
    Bools,
    Floats,
    Ints,
    WorkArrays,
)


@njit
def is_wired(spec: Floats) -> bool:
    """Whether the energy of a network hangs on where words go."""
    for level in range(spec.shape[0]):
        for way in range(WAYS):
            at = NETWORK + way * WAY
            if spec[level, at + HOP_PJ] != 0.0 or spec[level, at + ROUTER_PJ] != 0.0:
                return True
    return False


def takes_energy(spec: Floats) -> bool:
    """Whether any network does."""
    return bool((spec[:, NETWORK + KIND : SPEC : WAY] != NO_ENERGY).any())


@njit
def price_networks(spec: Floats, read_write: Bools, work: WorkArrays) -> float:
    """Write the energy of every network by data space, over all instances; return their sum in pJ.

    Parameters
    ----------
    spec
        Shape (levels, SPEC), see `jouleloop.model.arrays`; where tables charge networks, longer by what they charge:
        for each way and data space a number of pairs, and these: multicast factor (0: any) and energy [pJ].
    work
        As `jouleloop.model.collapse.collapse` leaves it.
    """
    total_pj = 0.0
    spaces = read_write.shape[0]
    entry = (spec.shape[1] - SPEC) // (WAYS * spaces)
    for level in range(spec.shape[0]):
        for way in range(WAYS):
            network = spec[level, NETWORK + way * WAY : NETWORK + (way + 1) * WAY]
            for v in range(spaces):
                energy_pj = 0.0
                groups = work.groups[level, v]
                if network[KIND] == TREE_BACK:
                    # Timeloop does not multiply it by the instances.
                    if read_write[v]:
                        energy_pj = _additions(groups, work.access[level, v, GROUPS]) * network[ADDER_PJ]
                elif network[KIND] == CHARGED:
                    at = SPEC + (way * spaces + v) * entry
                    each_pj = _transfers_pj(groups, work.access[level, v, GROUPS], spec[level, at : at + entry])
                    energy_pj = each_pj * work.status[level, INSTANCES]
                elif network[KIND] != NO_ENERGY:
                    # A level that cannot add reads outputs back and sends them out again, but for the first time.
                    twice = network[KIND] == MESH_BACK and read_write[v] and spec[level, REDUCES] == 0.0
                    each_pj = _mesh_pj(network, groups, work.access[level, v], work.flow[level, v], twice)
                    each_pj += work.flow[level, v, LINKS] * (network[HOP_PJ] + 2.0 * network[ROUTER_PJ])
                    energy_pj = each_pj * work.status[level, INSTANCES]
                work.flow[level, v, NETWORK_PJ + way] = energy_pj
                total_pj += energy_pj
    return total_pj


@njit
def _mesh_pj(network: Floats, groups: Floats, access: Ints, flow: Floats, twice: bool) -> float:
    """Return what hops, routers and ingresses of a data space cost in pJ, for one instance above."""
    hops = 0.0
    routers = 0.0
    ingresses = 0.0
    for g in range(access[GROUPS] + 1):
        group = groups[g] if g < access[GROUPS] else flow[SPREAD:]
        words = group[WORDS]
        if words <= 0.0:
            continue
        if twice:
            words = 2.0 * words - access[PARTITION]
        ingresses += words
        if words > 0.0:
            average = group[HOPS] / words
            # Timeloop adds to a whole number.
            routers = math.floor(routers + (1.0 + math.floor(average)) * words)
            hops += average * words
    return float(hops * network[HOP_PJ] + routers * network[ROUTER_PJ] + ingresses * network[INGRESS_PJ])


@njit
def _additions(groups: Floats, count: int) -> float:
    """Return how often two words are added on the way; Timeloop adds to a whole number."""
    total = 0.0
    for g in range(count):
        total = math.floor(total + (groups[g, MULTICAST] - 1.0) * groups[g, WORDS])
    return float(total)


@njit
def _transfers_pj(groups: Floats, count: int, charges: Floats) -> float:
    """Return what a table charges in pJ, for one instance above.

    Timeloop keeps what the last group costs: the one of the greatest multicast factor, then scatter factor.
    """
    last = -1
    for g in range(count):
        if groups[g, WORDS] <= 0.0:
            continue
        if (
            last < 0
            or groups[g, MULTICAST] > groups[last, MULTICAST]
            or (groups[g, MULTICAST] == groups[last, MULTICAST] and groups[g, SCATTER] > groups[last, SCATTER])
        ):
            last = g
    each_pj = 0.0
    if last >= 0:
        for k in range(int(charges[0])):
            if charges[1 + 2 * k] == 0.0 or charges[1 + 2 * k] == groups[last, MULTICAST]:
                each_pj = charges[2 + 2 * k]
        each_pj *= groups[last, WORDS]
    return each_pj
