"""What networks cost: wires, routers, ingresses, additions and transfers between a level and the next inner node.

Source: Timeloop 3.0.3 ``src/model/network-legacy.cpp``, ``LegacyNetwork::ComputeAccesses`` and
``ComputeNetworkEnergy``; ``network-reduction-tree.cpp`` and ``network-simple-multicast.cpp``, each ``Evaluate``. Every
network counts all data spaces, whichever way it carries words.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    CHARGED,
    MESH_BACK,
    NO_ENERGY,
    TREE_BACK,
    WAYS,
    Bools,
    HardwareArrays,
    Record,
    Records,
    WorkArrays,
)


@njit
def is_wired(networks: Records) -> bool:
    """Whether the energy of a network hangs on where words go."""
    for level in range(networks.shape[0]):
        for way in range(WAYS):
            if networks[level, way].hop_pj != 0.0 or networks[level, way].router_pj != 0.0:
                return True
    return False


def takes_energy(networks: Records) -> bool:
    """Whether any network does."""
    return bool((networks["kind"] != NO_ENERGY).any())


@njit
def price_networks(hardware: HardwareArrays, read_write: Bools, work: WorkArrays) -> float:
    """Write the energy of every network by data space, over all instances; return their sum in pJ.

    Parameters
    ----------
    work
        As `jouleloop.model.collapse.collapse` leaves it.
    """
    total_pj = 0.0
    for level in range(hardware.networks.shape[0]):
        for way in range(WAYS):
            for v in range(read_write.shape[0]):
                energy_pj = _network_pj(hardware, way, v, read_write, level, work)
                work.flow[level, v].network_pj[way] = energy_pj
                total_pj += energy_pj
    return total_pj


@njit
def _network_pj(hardware: HardwareArrays, way: int, v: int, read_write: Bools, level: int, work: WorkArrays) -> float:
    """Return the energy of a data space in one network below a level in pJ, over all instances."""
    network = hardware.networks[level, way]
    groups, count = work.groups[level, v], work.access[level, v].groups
    if network.kind == NO_ENERGY:
        return 0.0
    if network.kind == TREE_BACK:
        # Timeloop does not multiply it by the instances.
        return float(_additions(groups, count) * network.adder_pj) if read_write[v] else 0.0
    if network.kind == CHARGED:
        each_pj = _transfers_pj(groups, count, hardware.transfers[level, way, v])
    else:
        # A level that cannot add reads outputs back and sends them out again, but for the first time.
        twice = network.kind == MESH_BACK and read_write[v] and not hardware.levels[level].reduces
        each_pj = _mesh_pj(network, groups, work.access[level, v], work.spread[level, v], twice)
        each_pj += work.flow[level, v].links * (network.hop_pj + 2.0 * network.router_pj)
    return float(each_pj * work.status[level].instances)


@njit
def _mesh_pj(network: Record, groups: Records, access: Record, spread: Record, twice: bool) -> float:
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
    return float(hops * network.hop_pj + routers * network.router_pj + ingresses * network.ingress_pj)


@njit
def _additions(groups: Records, count: int) -> float:
    """Return how often two words are added on the way; Timeloop adds to a whole number."""
    total = 0.0
    for g in range(count):
        total = math.floor(total + (groups[g].multicast - 1.0) * groups[g].words)
    return float(total)


@njit
def _transfers_pj(groups: Records, count: int, charges: Records) -> float:
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
        for k in range(charges.shape[0]):
            if charges[k].multicast == 0.0 or charges[k].multicast == groups[last].multicast:
                each_pj = charges[k].energy_pj
        each_pj *= groups[last].words
    return each_pj
