"""From transfers to accesses: partition sizes, bypass, peers, then reads, fills, updates and reductions of each level.

Source: Timeloop 3.0.3 ``src/loop-analysis/tiling.cpp``, ``CollapseDataMovementNest`` and the functions it calls. Levels
are indexed from the innermost storage level outward. Sums are kept in double precision and rounded where Timeloop does.
"""

import math
from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, Record, Records, WorkArrays


@njit
def _round(value: float) -> float:
    return math.floor(value + 0.5)


class _Rows(NamedTuple):
    """What is known of one data space by level, per instance."""

    partition: Ints
    """Words ever seen."""
    content: Floats
    """Words that leave the level."""
    share: Floats
    """Words that arrive from the next outer level."""
    held: Bools
    """Whether accesses count."""
    peers: Floats
    """Words that peers exchange."""


@njit(apart=True)
def collapse(read_write: Bools, reuse: Records, keep: Bools, first_fills_elided: bool, work: WorkArrays) -> bool:
    """Write the accesses of every kept level and data space, per instance; zero for bypassed levels.

    Returns whether the counts make sense: where outputs overlap, the rules can ask less of a level than its partition,
    and Timeloop stops at an assertion (``ComputeReadUpdateReductionAccesses_Legacy``).

    Parameters
    ----------
    read_write
        By data space.
    reuse
        What each level does not reuse, of `REUSE`, shape (levels, data spaces).
    keep
        Shape (levels, data spaces): what is stored where.
    first_fills_elided
        Timeloop since 2 May 2023 (commit 59fdc83) does not count the first fill of an output; before it did.
    work
        As `count_transfers` leaves it, fan-outs and instances filled; groups and links are changed to what passes once
        bypassed levels are gone.
    """
    levels = keep.shape[0]
    rows = _Rows(
        np.empty(levels, np.int64), np.empty(levels), np.empty(levels), np.empty(levels, np.bool_), np.empty(levels)
    )
    sound = True
    for v in range(keep.shape[1]):
        _fill_rows(v, work, rows)
        spreads = False
        for level in range(levels):
            spreads = spreads or reuse[level, v].spreading
        if spreads:
            sound = _spread(v, reuse, work, rows) and sound
        _mask(v, keep, reuse, work, rows)
        outermost = _cut(v, keep, reuse, work, rows)
        for level in range(levels):
            access = work.access[level, v]
            access.partition = access.reads = access.updates = access.fills = access.reductions = 0
            if not rows.held[level]:
                access.tile = 0
            elif not read_write[v]:
                access.partition = rows.partition[level]
                access.reads = int(_round(rows.content[level] + rows.peers[level]))
                access.fills = int(rows.share[level] + rows.peers[level])
            else:
                elided = first_fills_elided and level != outermost
                sound = _count_outputs(access, reuse[level, v], rows, level, first_fills_elided, elided) and sound
    return sound


@njit
def _fill_rows(v: int, work: WorkArrays, rows: _Rows) -> None:
    """Write what passes every level, as if all of them kept the data space."""
    levels = rows.held.shape[0]
    access, groups = work.access, work.groups
    rows.held[:] = True
    rows.peers[:] = 0.0
    for level in range(levels - 1, -1, -1):
        rows.content[level] = 0.0
        for g in range(access[level, v].groups):
            rows.content[level] += groups[level, v, g].words
        work.spread[level, v].words = 0.0
        rows.share[level] = 0.0
        rows.partition[level] = access[level, v].tile
        if level + 1 == levels:
            continue
        for g in range(access[level + 1, v].groups):
            words = groups[level + 1, v, g].words * groups[level + 1, v, g].multicast
            rows.share[level] += words / work.status[level + 1].fanout
        spread = access[level + 1, v].sibling
        if spread == 0:
            spread = access[level, v].tile
        rows.partition[level] = rows.partition[level + 1] * access[level, v].tile // spread


@njit
def _cut(v: int, keep: Bools, reuse: Records, work: WorkArrays, rows: _Rows) -> int:
    """Cut off the levels outside the outermost kept one, which carry nothing, and write what peers exchange.

    Returns the outermost kept level. If words pass through it, it carries nothing either.
    """
    outermost: int = rows.held.shape[0] - 1
    while outermost >= 0 and (not keep[outermost, v] or reuse[outermost, v].no_coalesce):
        work.access[outermost, v].groups = 0
        work.flow[outermost, v].links = 0.0
        rows.held[outermost] = False
        outermost -= 1
    if outermost >= 0:
        rows.share[outermost] = 0.0
    for level in range(1, rows.held.shape[0]):
        if work.flow[level, v].links != 0.0:
            rows.peers[level - 1] += work.flow[level, v].links / work.status[level - 1].instances
    return outermost


@njit
def _count_outputs(access: Record, reuse: Record, rows: _Rows, level: int, rounded: bool, elided: bool) -> bool:
    """Write the accesses of outputs at one level; return whether they make sense.

    ``rounded``: fills are rounded and not cut; ``elided``: the first fill is left out.
    """
    partition = rows.partition[level]
    asked, filled = rows.content[level] + rows.peers[level], rows.share[level] + rows.peers[level]
    sound = asked >= partition
    access.partition = partition
    access.updates = int(_round(rows.content[level]))
    if reuse.rmw_first_update or reuse.no_coalesce:
        access.reads = int(_round(asked))
        access.fills = int(_round(asked if reuse.no_coalesce else filled))
    else:
        access.reads = int(_round(asked - partition))
        access.fills = int(_round(filled - partition if elided else filled)) if rounded else int(filled)
        sound = sound and (not elided or access.fills >= 0)
    access.reductions = access.reads
    return bool(sound)


@njit
def _spread(v: int, reuse: Records, work: WorkArrays, rows: _Rows) -> bool:
    """Let the instances of a level share what all of them would hold, and send it on through the network outside.

    It does so for the innermost level that may, below a multicast, alone. Each instance is then sent a part, and the
    network outside carries to the others' inner nodes what they read (``DistributeTiles``); capacities hold the whole
    all the same. Returns whether transfers are of one kind on both networks: where not, Timeloop ends.
    """
    for level in range(reuse.shape[0] - 1):
        if not reuse[level, v].spreading:
            continue
        here = _only_group(work, level, v)
        outside = _only_group(work, level + 1, v)
        if here < 0 or outside < 0:
            return False
        group = work.groups[level + 1, v, outside]
        factor = int(group.multicast)
        if factor == 1:
            continue
        passed = work.groups[level, v, here].words
        carried = work.spread[level + 1, v]
        carried.multicast = group.multicast
        carried.scatter = group.scatter
        carried.words = passed
        carried.hops = group.hops * passed / group.words
        group.scatter *= factor
        group.multicast = 1.0
        group.hops = group.unicast_hops
        rows.partition[level] = 1 + (rows.partition[level] - 1) // factor
        rows.content[level] = 1.0 + (rows.content[level] - 1.0) / factor
        rows.share[level] = 1.0 + (rows.share[level] - 1.0) / factor
        return True
    return True


@njit
def _only_group(work: WorkArrays, level: int, v: int) -> int:
    """Return the one group of transfers below a level, -1 where there is none or several."""
    found = -1
    for g in range(work.access[level, v].groups):
        if work.groups[level, v, g].words > 0.0:
            if found >= 0:
                return -1
            found = g
    return found


@njit
def _mask(v: int, keep: Bools, reuse: Records, work: WorkArrays, rows: _Rows) -> None:
    """Take bypassed levels out: the next outer level is accessed as often as the bypassed one was (``MaskTiles``).

    So it is outside a level that words pass through, which keeps its own accesses.
    """
    levels = keep.shape[0]
    groups = work.groups
    access = work.access
    for level in range(levels):
        passing = keep[level, v] and reuse[level, v].no_coalesce
        if keep[level, v] and not passing:
            continue
        rows.held[level] = passing
        outer = level + 1
        if outer < levels:
            weighted = 0.0
            for g in range(access[outer, v].groups):
                weighted += groups[outer, v, g].words * groups[outer, v, g].multicast
            factor = rows.content[level] * work.status[outer].fanout / weighted if weighted > 0.0 else 0.0
            total = 0.0
            for g in range(access[outer, v].groups):
                groups[outer, v, g].words *= factor
                total += groups[outer, v, g].words
                work.flow[outer, v].links = 0.0
            rows.content[outer] = total
        if not passing:
            rows.content[level] = 0.0
