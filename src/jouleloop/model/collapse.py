"""From transfers to accesses: partition sizes, bypass, peers, then reads, fills, updates and reductions of each level.

Source: Timeloop 3.0.3 ``src/loop-analysis/tiling.cpp``, ``CollapseDataMovementNest`` and the functions it calls. Levels
are indexed from the innermost storage level outward. Sums are kept in double precision and rounded where Timeloop does.
"""

import math

import numba as nb
import numpy as np

from jouleloop.model.arrays import FILLS, PARTITION, READS, RECORD, REDUCTIONS, TILE, UPDATES
from jouleloop.model.kernel import MULTICAST, WORDS, Bools, Floats, Ints


@nb.njit(cache=True)
def _round(value: float) -> float:
    return math.floor(value + 0.5)


@nb.njit(cache=True)
def collapse(
    read_write: Bools,
    keep: Bools,
    fanout: Ints,
    instances: Ints,
    first_fills_elided: bool,
    tile: Ints,
    sibling: Ints,
    groups: Floats,
    group_count: Ints,
    links: Floats,
    access: Ints,
) -> None:
    """Write the accesses of every kept level and data space, per instance.

    Parameters
    ----------
    read_write
        By data space.
    keep
        Shape (levels, data spaces): what is stored where.
    fanout, instances
        Utilized fan-out below each level, and utilized instances of it.
    first_fills_elided
        Timeloop since 2 May 2023 (commit 59fdc83) does not count the first fill of an output; before it did.
    tile, sibling, groups, group_count, links
        As `count_transfers` leaves them; groups and links are changed to what passes once bypassed levels are gone.
    access
        Out, shape (levels, data spaces, RECORD); zero for bypassed levels.
    """
    levels = tile.shape[0]
    spaces = tile.shape[1]
    partition = np.empty(levels, np.int64)
    content = np.empty(levels)
    share = np.empty(levels)
    held = np.empty(levels, np.bool_)
    peers = np.empty(levels)
    for v in range(spaces):
        partition[levels - 1] = tile[levels - 1, v]
        for level in range(levels - 2, -1, -1):
            spread = sibling[level + 1, v] if sibling[level + 1, v] > 0 else tile[level, v]
            partition[level] = partition[level + 1] * tile[level, v] // spread
        for level in range(levels):
            held[level] = True
            peers[level] = 0.0
            content[level] = 0.0
            for g in range(group_count[level, v]):
                content[level] += groups[level, v, g, WORDS]
            share[level] = 0.0
            if level + 1 < levels:
                for g in range(group_count[level + 1, v]):
                    words = groups[level + 1, v, g, WORDS] * groups[level + 1, v, g, MULTICAST]
                    share[level] += words / fanout[level + 1]
        _mask(v, keep, fanout, groups, group_count, links, content, held)
        # Levels outside the outermost kept one carry nothing.
        outermost = levels - 1
        while outermost >= 0 and not keep[outermost, v]:
            group_count[outermost, v] = 0
            links[outermost, v] = 0.0
            held[outermost] = False
            outermost -= 1
        if outermost >= 0:
            share[outermost] = 0.0
        for level in range(levels - 1, 0, -1):
            if links[level, v] != 0.0:
                peers[level - 1] += links[level, v] / instances[level - 1]
        for level in range(levels):
            for column in range(RECORD):
                access[level, v, column] = 0
            if not held[level]:
                continue
            access[level, v, TILE] = tile[level, v]
            access[level, v, PARTITION] = partition[level]
            asked = content[level] + peers[level]
            if read_write[v]:
                access[level, v, UPDATES] = int(_round(content[level]))
                access[level, v, READS] = int(_round(asked - partition[level]))
                access[level, v, REDUCTIONS] = access[level, v, READS]
                filled = share[level] + peers[level]
                if not first_fills_elided:
                    access[level, v, FILLS] = int(filled)
                elif level == outermost:
                    access[level, v, FILLS] = int(_round(filled))
                else:
                    access[level, v, FILLS] = int(_round(filled - partition[level]))
            else:
                access[level, v, READS] = int(_round(asked))
                access[level, v, FILLS] = int(share[level] + peers[level])


@nb.njit(cache=True)
def _mask(
    v: int,
    keep: Bools,
    fanout: Ints,
    groups: Floats,
    group_count: Ints,
    links: Floats,
    content: Floats,
    held: Bools,
) -> None:
    """Take bypassed levels out: the next outer level is accessed as often as the bypassed one was (``MaskTiles``)."""
    levels = keep.shape[0]
    for level in range(levels):
        if keep[level, v]:
            continue
        held[level] = False
        outer = level + 1
        if outer < levels:
            weighted = 0.0
            for g in range(group_count[outer, v]):
                weighted += groups[outer, v, g, WORDS] * groups[outer, v, g, MULTICAST]
            factor = content[level] * fanout[outer] / weighted if weighted > 0.0 else 0.0
            total = 0.0
            for g in range(group_count[outer, v]):
                groups[outer, v, g, WORDS] *= factor
                total += groups[outer, v, g, WORDS]
                links[outer, v] = 0.0
            content[outer] = total
        content[level] = 0.0
