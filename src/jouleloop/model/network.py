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
    HOP_PJ,
    INGRESS_PJ,
    KIND,
    MESH_BACK,
    NETWORK,
    NO_ENERGY,
    REDUCES,
    ROUTER_PJ,
    SPEC,
    TREE_BACK,
    WAY,
    WAYS,
    Bools,
    Floats,
    Record,
    Records,
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
    for level in range(spec.shape[0]):
        for way in range(WAYS):
            for v in range(read_write.shape[0]):
                energy_pj = _network_pj(spec[level], way, v, read_write, level, work)
                work.flow[level, v].network_pj[way] = energy_pj
                total_pj += energy_pj
    return total_pj


@njit
def _network_pj(spec: Floats, way: int, v: int, read_write: Bools, level: int, work: WorkArrays) -> float:
    """Return the energy of a data space in one network below a level in pJ, over all instances."""
    network = spec[NETWORK + way * WAY : NETWORK + (way + 1) * WAY]
    groups, count = work.groups[level, v], work.access[level, v].groups
    if network[KIND] == NO_ENERGY:
        return 0.0
    if network[KIND] == TREE_BACK:
        # Timeloop does not multiply it by the instances.
        return float(_additions(groups, count) * network[ADDER_PJ]) if read_write[v] else 0.0
    if network[KIND] == CHARGED:
        entry = (spec.shape[0] - SPEC) // (WAYS * read_write.shape[0])
        at = SPEC + (way * read_write.shape[0] + v) * entry
        each_pj = _transfers_pj(groups, count, spec[at : at + entry])
    else:
        # A level that cannot add reads outputs back and sends them out again, but for the first time.
        twice = network[KIND] == MESH_BACK and read_write[v] and spec[REDUCES] == 0.0
        each_pj = _mesh_pj(network, groups, work.access[level, v], work.spread[level, v], twice)
        each_pj += work.flow[level, v].links * (network[HOP_PJ] + 2.0 * network[ROUTER_PJ])
    return float(each_pj * work.status[level].instances)


@njit
def _mesh_pj(network: Floats, groups: Records, access: Record, spread: Record, twice: bool) -> float:
    """Return what hops, routers and ingresses of a data space cost in pJ, for one instance above."""
    hops = 0.0
    routers = 0.0
    ingresses = 0.0
    for g in range(access.groups + 1):
        group = groups[g] if g < access.groups else spread
        words = group.words
        if words <= 0.0:
            continue
        if twice:
            words = 2.0 * words - access.partition
        ingresses += words
        if words > 0.0:
            average = group.hops / words
            # Timeloop adds to a whole number.
            routers = math.floor(routers + (1.0 + math.floor(average)) * words)
            hops += average * words
    return float(hops * network[HOP_PJ] + routers * network[ROUTER_PJ] + ingresses * network[INGRESS_PJ])


@njit
def _additions(groups: Records, count: int) -> float:
    """Return how often two words are added on the way; Timeloop adds to a whole number."""
    total = 0.0
    for g in range(count):
        total = math.floor(total + (groups[g].multicast - 1.0) * groups[g].words)
    return float(total)


@njit
def _transfers_pj(groups: Records, count: int, charges: Floats) -> float:
    """Return what a table charges in pJ, for one instance above.

    Timeloop keeps what the last group costs: the one of the greatest multicast factor, then scatter factor.
    """
    last = -1
    for g in range(count):
        if groups[g].words <= 0.0:
            continue
        if (
            last < 0
            or groups[g].multicast > groups[last].multicast
            or (groups[g].multicast == groups[last].multicast and groups[g].scatter > groups[last].scatter)
        ):
            last = g
    each_pj = 0.0
    if last >= 0:
        for k in range(int(charges[0])):
            if charges[1 + 2 * k] == 0.0 or charges[1 + 2 * k] == groups[last].multicast:
                each_pj = charges[2 + 2 * k]
        each_pj *= groups[last].words
    return each_pj
