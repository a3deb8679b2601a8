"""From one technology to another: how dynamic energy changes with the node, where a unit was measured at one only.

Arithmetic and registers follow the equations of Stillmaker and Baas, "Scaling equations for the accurate prediction of
CMOS device performance from 180 nm to 7 nm", Integration 58 (2017), table 7, at 0.8 V, as Accelergy's library plug-in
uses them (commit ba4e9da); where that mixes up the nodes on either side of one, we do not. SRAM follows Accelergy's
CACTI plug-in (commit 291018b): between two nodes a straight line, below the finest the square root of the node.
"""

import bisect
import math

#: By node [nm]: factors of Vdd squared, of Vdd, and 1, whose sum is proportional to the energy of a gate.
_ENERGY = {
    7: (0.1776, -0.09097, 0.02447),
    10: (0.2068, -0.09311, 0.02375),
    14: (0.2363, -0.09675, 0.02239),
    16: (0.2958, -0.1241, 0.03024),
    20: (0.373, -0.1582, 0.04104),
    32: (0.9559, -0.7823, 0.471),
    45: (1.103, -0.362, 0.2767),
    65: (3.755, -4.398, 1.975),
    90: (4.762, -4.781, 2.092),
    130: (7.171, -6.709, 2.904),
}
_NODES = sorted(_ENERGY)
_VDD = 0.8


#: By node [nm]: area of a gate over that at 45 nm, the same work's table 1 as the library plug-in has it.
_AREA = {7: 0.059, 10: 0.1, 14: 0.17, 16: 0.19, 20: 0.21, 32: 0.46, 45: 1.0, 65: 1.5, 90: 2.8, 130: 6.4}


def covers(nm: int) -> bool:
    """Whether the equations reach a node."""
    return _NODES[0] <= nm <= _NODES[-1]


def logic_scale(from_nm: int, to_nm: int) -> float:
    """Return what a switch costs at one node over what it costs at another, both of 7 to 130 nm."""
    return _gate(to_nm) / _gate(from_nm)


def logic_area_scale(nm: int) -> float:
    """Return what a unit takes at a node of 7 to 130 nm over what it takes at 45 nm."""
    low, high, share = bracket(nm, _NODES)
    return (1 - share) * _AREA[low] + share * _AREA[high]


def _gate(nm: int) -> float:
    low, high, share = bracket(nm, _NODES)
    ends = [sum(f * _VDD ** (2 - power) for power, f in enumerate(_ENERGY[node])) for node in (low, high)]
    return (1 - share) * ends[0] + share * ends[1]


def bracket(nm: int, nodes: list[int]) -> tuple[int, int, float]:
    """Return the nodes on either side of one within their range, and how far it is from the finer one, 0 to 1."""
    at = bisect.bisect_left(nodes, nm)
    if nodes[at] == nm:
        return nm, nm, 0.0
    low, high = nodes[at - 1], nodes[at]
    return low, high, (nm - low) / (high - low)


def sram_scale(from_nm: int, to_nm: int) -> float:
    """Return what an access to SRAM costs at a node finer than all that CACTI knows, over the finest of those."""
    return math.sqrt(to_nm / from_nm)
