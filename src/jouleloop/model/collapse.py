"""From transfers to accesses: partition sizes, bypass, peers, then reads, fills, updates and reductions of each level.

Source: Timeloop 3.0.3 ``src/loop-analysis/tiling.cpp``, ``CollapseDataMovementNest`` and the functions it calls. Levels
are indexed from the innermost storage level outward. Sums are kept in double precision and rounded where Timeloop does.
"""

import math

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    FANOUT,
    FILLS,
    GROUPS,
    HOPS,
    INSTANCES,
    LINKS,
    MULTICAST,
    NO_COALESCE,
    PARTITION,
    READS,
    REDUCTIONS,
    RMW_FIRST_UPDATE,
    SCATTER,
    SIBLING,
    SPREAD,
    SPREADING,
    TILE,
    UNICAST_HOPS,
    UPDATES,
    WORDS,
    Bools,
    Floats,
    Ints,
    WorkArrays,
)


@njit
def _round(value: float) -> float:
    return math.floor(value + 0.5)


@njit(apart=True)
def collapse(read_write: Bools, reuse: Bools, keep: Bools, first_fills_elided: bool, work: WorkArrays) -> bool:
    """Write the accesses of every kept level and data space, per instance; zero for bypassed levels.

    Returns whether the counts make sense: where outputs overlap, the rules can ask less of a level than its partition,
    and Timeloop stops at an assertion (``ComputeReadUpdateReductionAccesses_Legacy``).

    Parameters
    ----------
    read_write
        By data space.
    reuse
        What each level does not reuse, shape (levels, data spaces, REUSE).
    keep
        Shape (levels, data spaces): what is stored where.
    first_fills_elided
        Timeloop since 2 May 2023 (commit 59fdc83) does not count the first fill of an output; before it did.
    work
        As `count_transfers` leaves it, fan-outs and instances filled; groups and links are changed to what passes once
        bypassed levels are gone.
    """
    levels = keep.shape[0]
    spaces = keep.shape[1]
    groups = work.groups
    access = work.access
    partition = np.empty(levels, np.int64)
    content = np.empty(levels)
    share = np.empty(levels)
    held = np.empty(levels, np.bool_)
    peers = np.empty(levels)
    sound = True
    for v in range(spaces):
        partition[levels - 1] = access[levels - 1, v, TILE]
        for level in range(levels - 2, -1, -1):
            spread = access[level + 1, v, SIBLING]
            if spread == 0:
                spread = access[level, v, TILE]
            partition[level] = partition[level + 1] * access[level, v, TILE] // spread
        for level in range(levels):
            held[level] = True
            peers[level] = 0.0
            content[level] = 0.0
            for g in range(access[level, v, GROUPS]):
                content[level] += groups[level, v, g, WORDS]
            share[level] = 0.0
            if level + 1 < levels:
                for g in range(access[level + 1, v, GROUPS]):
                    words = groups[level + 1, v, g, WORDS] * groups[level + 1, v, g, MULTICAST]
                    share[level] += words / work.status[level + 1, FANOUT]
            work.flow[level, v, SPREAD + WORDS] = 0.0
        spreads = False
        for level in range(levels):
            spreads = spreads or reuse[level, v, SPREADING]
        if spreads:
            sound = _spread(v, reuse, work, partition, content, share) and sound
        _mask(v, keep, reuse, work, content, held)
        # Levels outside the outermost kept one carry nothing, nor does that one if words pass through it.
        outermost = levels - 1
        while outermost >= 0 and (not keep[outermost, v] or reuse[outermost, v, NO_COALESCE]):
            access[outermost, v, GROUPS] = 0
            work.flow[outermost, v, LINKS] = 0.0
            held[outermost] = False
            outermost -= 1
        if outermost >= 0:
            share[outermost] = 0.0
        for level in range(levels - 1, 0, -1):
            if work.flow[level, v, LINKS] != 0.0:
                peers[level - 1] += work.flow[level, v, LINKS] / work.status[level - 1, INSTANCES]
        for level in range(levels):
            for place in (PARTITION, READS, UPDATES, FILLS, REDUCTIONS):
                access[level, v, place] = 0
            if not held[level]:
                access[level, v, TILE] = 0
                continue
            access[level, v, PARTITION] = partition[level]
            asked = content[level] + peers[level]
            if read_write[v] and (reuse[level, v, RMW_FIRST_UPDATE] or reuse[level, v, NO_COALESCE]):
                filled = asked if reuse[level, v, NO_COALESCE] else share[level] + peers[level]
                access[level, v, UPDATES] = int(_round(content[level]))
                access[level, v, READS] = int(_round(asked))
                access[level, v, REDUCTIONS] = access[level, v, READS]
                access[level, v, FILLS] = int(_round(filled))
                sound = sound and asked >= partition[level]
            elif read_write[v]:
                access[level, v, UPDATES] = int(_round(content[level]))
                access[level, v, READS] = int(_round(asked - partition[level]))
                sound = sound and asked >= partition[level]
                access[level, v, REDUCTIONS] = access[level, v, READS]
                filled = share[level] + peers[level]
                if not first_fills_elided:
                    access[level, v, FILLS] = int(filled)
                elif level == outermost:
                    access[level, v, FILLS] = int(_round(filled))
                else:
                    access[level, v, FILLS] = int(_round(filled - partition[level]))
                    sound = sound and access[level, v, FILLS] >= 0
            else:
                access[level, v, READS] = int(_round(asked))
                access[level, v, FILLS] = int(share[level] + peers[level])
    return sound


@njit
def _spread(v: int, reuse: Bools, work: WorkArrays, partition: Ints, content: Floats, share: Floats) -> bool:
    """Let the instances of a level share what all of them would hold, and send it on through the network outside.

    It does so for the innermost level that may, below a multicast, alone. Each instance is then sent a part, and the
    network outside carries to the others' inner nodes what they read (``DistributeTiles``); capacities hold the whole
    all the same. Returns whether transfers are of one kind on both networks: where not, Timeloop ends.
    """
    for level in range(reuse.shape[0] - 1):
        if not reuse[level, v, SPREADING]:
            continue
        here = _only_group(work, level, v)
        outside = _only_group(work, level + 1, v)
        if here < 0 or outside < 0:
            return False
        group = work.groups[level + 1, v, outside]
        factor = int(group[MULTICAST])
        if factor == 1:
            continue
        passed = work.groups[level, v, here, WORDS]
        carried = work.flow[level + 1, v]
        carried[SPREAD + MULTICAST] = group[MULTICAST]
        carried[SPREAD + SCATTER] = group[SCATTER]
        carried[SPREAD + WORDS] = passed
        carried[SPREAD + HOPS] = group[HOPS] * passed / group[WORDS]
        group[SCATTER] *= factor
        group[MULTICAST] = 1.0
        group[HOPS] = group[UNICAST_HOPS]
        partition[level] = 1 + (partition[level] - 1) // factor
        content[level] = 1.0 + (content[level] - 1.0) / factor
        share[level] = 1.0 + (share[level] - 1.0) / factor
        return True
    return True


@njit
def _only_group(work: WorkArrays, level: int, v: int) -> int:
    """Return the one group of transfers below a level, -1 where there is none or several."""
    found = -1
    for g in range(work.access[level, v, GROUPS]):
        if work.groups[level, v, g, WORDS] > 0.0:
            if found >= 0:
                return -1
            found = g
    return found


@njit
def _mask(v: int, keep: Bools, reuse: Bools, work: WorkArrays, content: Floats, held: Bools) -> None:
    """Take bypassed levels out: the next outer level is accessed as often as the bypassed one was (``MaskTiles``).

    So it is outside a level that words pass through, which keeps its own accesses.
    """
    levels = keep.shape[0]
    groups = work.groups
    access = work.access
    for level in range(levels):
        passing = keep[level, v] and reuse[level, v, NO_COALESCE]
        if keep[level, v] and not passing:
            continue
        held[level] = passing
        outer = level + 1
        if outer < levels:
            weighted = 0.0
            for g in range(access[outer, v, GROUPS]):
                weighted += groups[outer, v, g, WORDS] * groups[outer, v, g, MULTICAST]
            factor = content[level] * work.status[outer, FANOUT] / weighted if weighted > 0.0 else 0.0
            total = 0.0
            for g in range(access[outer, v, GROUPS]):
                groups[outer, v, g, WORDS] *= factor
                total += groups[outer, v, g, WORDS]
                work.flow[outer, v, LINKS] = 0.0
            content[outer] = total
        if not passing:
            content[level] = 0.0
