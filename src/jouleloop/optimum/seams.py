"""Levels whose loops follow on those of the next level outside as if they were its own.

`docs/search.md` states the lemma: *levels without a boundary*.
"""

from jouleloop.jit import njit
from jouleloop.model.arrays import NO_ENERGY
from jouleloop.optimum.arrays import Case, Path
from jouleloop.optimum.bounds import passable


@njit
def is_seam(case: Case, level: int) -> bool:
    """Whether nothing but a seam lies between the loops of a level and those of the next outside, which are free."""
    outer, slots, target = level + 1, case.slots, case.target
    if level < 1 or outer == slots.shape[0] or not passable(slots, level):
        return False
    for v in range(case.keep.shape[1]):
        for k in (level, outer):
            reuse = target.layer.reuse[k, v]
            told = reuse.no_temporal_reuse or reuse.no_multicast or reuse.no_link_transfer or reuse.no_coalesce
            if told or reuse.spreading or case.keep[level, v]:
                return False
    for d in range(slots.shape[1]):
        slot = slots[outer, d]
        free = slot.fixed == 0 and slot.least <= 1 and slot.most >= target.layer.bounds[d]
        if not free or slot.rank != slots[outer, 0].rank or case.unrolled.factors[outer, d] > 1:
            return False
    for k in range(slots.shape[0]):
        for way in range(target.hardware.networks.shape[1]):
            if target.hardware.networks[k, way].kind != NO_ENERGY:
                return False
    return True


@njit
def loops_outside(path: Path, level: int, d: int) -> bool:
    """Whether the next level outside has a loop over a dimension; the path stands at the node of a level."""
    found = False
    for at in range(path.node[level + 1].loops, path.node[level].loops):
        found = found or path.loops[at].dim == d
    return found
