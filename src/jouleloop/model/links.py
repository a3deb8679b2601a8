"""Who shares a box with whom below a boundary: classes of instances, transfers by multicast factor, mesh neighbours."""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Ints, Record, Records
from jouleloop.model.steps import AROUND


class LinkMesh(NamedTuple):
    """The mesh below a level."""

    columns: int
    rows: int
    hops: bool
    """Whether words times hops are counted."""


class Sent(NamedTuple):
    """Where the transfers of one data space through one boundary are written."""

    groups: Records
    """Of `GROUP`, shape (MAX_GROUPS,)."""
    access: Record
    """Of `ACCESS`, of which the number of groups is read and written."""


class Instances(NamedTuple):
    """The instances below one instance of a level."""

    offsets: Ints
    """How far their boxes are from the first one's, shape (instances, ranks)."""
    codes: Ints
    """By instance a number that those with the same box share."""
    distinct: int
    """How many boxes differ."""


@njit
def add_group(sent: Sent, multicast: float, scatter: float, words: float) -> None:
    """Add transfers to the group of the same multicast and scatter factors, or as a new one.

    Groups ascend by both, as in Timeloop's map (``AccessStatMatrix``): the order of sums can decide a rounding.
    """
    groups, count = sent.groups, sent.access.groups
    for g in range(count):
        if groups[g].multicast == multicast and groups[g].scatter == scatter:
            groups[g].words += words
            return
    g = count
    if g >= groups.shape[0]:
        raise ValueError("too many transfer groups")
    sent.access.groups = g + 1
    while g > 0 and (
        groups[g - 1].multicast > multicast
        or (groups[g - 1].multicast == multicast and groups[g - 1].scatter > scatter)
    ):
        groups[g] = groups[g - 1]
        g -= 1
    groups[g].multicast = multicast
    groups[g].scatter = scatter
    groups[g].words = words
    groups[g].hops = 0.0
    groups[g].unicast_hops = 0.0


@njit
def _sort(values: Ints) -> None:
    """Sort in place (Shell's method; short to compile)."""
    gap = values.shape[0] // 2
    while gap > 0:
        for i in range(gap, values.shape[0]):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 2


@njit
def count_classes(codes: Ints, chosen: Bools, sizes: Ints) -> int:
    """Write how many chosen instances share each distinct code into ``sizes``; return the number of distinct codes."""
    n = 0
    for i in range(codes.shape[0]):
        if chosen[i]:
            n += 1
    picked = np.empty(n, np.int64)
    k = 0
    for i in range(codes.shape[0]):
        if chosen[i]:
            picked[k] = codes[i]
            k += 1
    _sort(picked)
    distinct = 0
    i = 0
    while i < n:
        j = i
        while j < n and picked[j] == picked[i]:
            j += 1
        sizes[distinct] = j - i
        distinct += 1
        i = j
    return distinct


@njit
def _record_classes(sizes: Ints, distinct: int, words: float, sent: Sent) -> None:
    """Add one call's transfers: classes of equal multicast factor form a group, their number its scatter factor."""
    done = np.zeros(distinct, np.bool_)
    for a in range(distinct):
        if done[a]:
            continue
        same = 0
        for b in range(a, distinct):
            if sizes[b] == sizes[a]:
                same += 1
                done[b] = True
        add_group(sent, float(sizes[a]), float(same), words * same)


@njit
def hops_to(lowest: Ints, highest: Ints, middle: float) -> float:
    """Return the hops of one word to a box's instances, given by column their first and last rows (-1: none).

    Words enter at the middle of the first column, go along its row to the furthest column, and up and down from there
    (``NestAnalysis::ComputeAccurateMulticastedAccesses``).
    """
    hops, furthest = 0.0, 0
    for column in range(lowest.shape[0]):
        if highest[column] >= 0:
            furthest = column
            hops += max(0.0, middle - lowest[column]) + max(0.0, highest[column] - middle)
    return hops + furthest


@njit
def record_hops(codes: Ints, chosen: Bools, mesh: LinkMesh, words: float, sent: Sent) -> None:
    """Add words times hops of one call to its groups, which are there: every class of chosen instances is sent some."""
    n, columns, groups = codes.shape[0], mesh.columns, sent.groups
    middle = (mesh.rows - 1) / 2.0
    ordered = codes.copy()
    _sort(ordered)
    # By class, which stands where its code first does among all in order.
    head = np.full(n, -1, np.int64)
    sizes = np.zeros(n, np.int64)
    hops = np.zeros(n)
    apart = np.zeros(n)
    lowest = np.empty((n, columns), np.int64)
    highest = np.empty((n, columns), np.int64)
    for k in range(n):
        if not chosen[k]:
            continue
        own = _place_of(ordered, codes[k])
        column = k % columns
        row = k // columns
        if head[own] < 0:
            head[own] = k
            highest[own] = -1
        if highest[own, column] < 0:
            lowest[own, column] = row
        highest[own, column] = row
        apart[own] += column + abs(row - middle)
        sizes[own] += 1
    same = np.zeros(n + 1, np.int64)
    for own in range(n):
        if head[own] >= 0:
            same[sizes[own]] += 1
            hops[own] = hops_to(lowest[own], highest[own], middle)
    for k in range(n):
        own = _place_of(ordered, codes[k])
        if head[own] != k:
            continue
        for g in range(sent.access.groups):
            if groups[g].multicast == sizes[own] and groups[g].scatter == same[sizes[own]]:
                groups[g].hops += hops[own] * words
                groups[g].unicast_hops += apart[own] * words


@njit
def _place_of(ordered: Ints, code: int) -> int:
    """Return the first place of a code that stands among others in ascending order."""
    low, high = 0, ordered.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def send(codes: Ints, chosen: Bools, sizes: Ints, distinct: int, mesh: LinkMesh, words: float, sent: Sent) -> None:
    """Add ``words`` to every distinct box of the chosen instances, ``sizes`` being how many share each."""
    _record_classes(sizes, distinct, words, sent)
    if mesh.hops:
        record_hops(codes, chosen, mesh, words, sent)


@njit
def hand_on(instances: Instances, before: Ints, need: Ints, mesh: LinkMesh, words: float, sent: Sent) -> int:
    """Add the transfers of calls in which peers hold some boxes; return how many instances take theirs there.

    That is 0, and nothing is added, where no box is spared: see `neighbour_links` for the other arguments.
    """
    linked = np.zeros(instances.offsets.shape[0], np.bool_)
    handed = neighbour_links(instances.offsets, before, need, mesh.columns, mesh.rows, linked)
    if handed == 0:
        return 0
    sizes = np.empty(linked.shape[0], np.int64)
    left = count_classes(instances.codes, ~linked, sizes)
    if left >= instances.distinct:
        return 0
    if left > 0:
        send(instances.codes, ~linked, sizes, left, mesh, words, sent)
    return handed


@njit
def mesh_below(level: Record, loops: Records) -> tuple[int, int]:
    """Return the columns and rows of the mesh below a level; ``loops``: its spatial loops, of `LOOP`."""
    columns = rows = 1
    for s in range(loops.shape[0]):
        if loops[s].axis == 0:
            columns *= loops[s].bound
        else:
            rows *= loops[s].bound
    return max(columns, level.fanout_x), max(rows, level.fanout_y)


@njit
def inside_out(loops: Records) -> Records:
    """Return spatial loops, of `LOOP`, the innermost first and with steps of 1, as `find_reach` takes them."""
    around = np.empty(loops.shape[0], AROUND)
    for s in range(loops.shape[0]):
        loop = loops[loops.shape[0] - 1 - s]
        around[s].dim, around[s].bound, around[s].step = loop.dim, loop.bound, 1
    return around


@njit
def neighbour_of(i: int, way: int, instances: int, mesh: tuple[int, int]) -> int:
    """Return the one of the four mesh neighbours of an instance, -1 where there is none.

    Instance i sits at column i mod columns and row i div columns, whatever its axes in the mapping
    (``NestAnalysis::ComputeNetworkLinkTransfers``, ``GetLinearIndex``).
    """
    columns, rows = mesh
    other = i + (1, -1, columns, -columns)[way]
    outside = other < 0 or other >= instances or max(i, other) // columns >= rows
    apart = way < 2 and other // columns != i // columns
    return -1 if outside or apart else other


@njit
def _held(offset: Ints, before: Ints, need: Ints, other: int) -> bool:
    """Whether an instance held, one step before, what the one at ``offset`` needs."""
    same = other >= 0
    for r in range(offset.shape[0]):
        same = same and before[other, r] - offset[r] == need[r]
    return same


@njit
def neighbour_links(offsets: Ints, before: Ints, need: Ints, columns: int, rows: int, linked: Bools) -> int:
    """Mark the instances whose words a mesh neighbour held before; return their number.

    ``before`` holds the offsets of the instances that were served one step before.
    """
    total, instances = 0, before.shape[0]
    for i in range(offsets.shape[0]):
        linked[i] = False
        for way in range(4):
            linked[i] = linked[i] or _held(offsets[i], before, need, neighbour_of(i, way, instances, (columns, rows)))
        total += linked[i]
    return total


@njit
def find_reach(coef: Ints, spatial: Records, reach: Ints) -> None:
    """Write how far the last instance's box is from the first one's, by rank."""
    reach[:] = 0
    for s in range(spatial.shape[0]):
        for r in range(coef.shape[0]):
            reach[r] += coef[r, spatial[s].dim] * spatial[s].step * (spatial[s].bound - 1)


@njit
def fill_offsets(coef: Ints, spatial: Records, reach: Ints, multicasts: bool, offsets: Ints, codes: Ints) -> None:
    """Write the offset of every instance, and one number that is equal where offsets are; by `find_reach`.

    ``spatial`` has the innermost loop first. Without ``multicasts`` no two instances share a box: all numbers differ.
    """
    ranks = coef.shape[0]
    for i in range(offsets.shape[0]):
        rest = i
        offsets[i] = 0
        for s in range(spatial.shape[0]):
            index = rest % spatial[s].bound
            rest //= spatial[s].bound
            for r in range(ranks):
                offsets[i, r] += coef[r, spatial[s].dim] * spatial[s].step * index
        code = 0
        for r in range(ranks):
            code = code * (reach[r] + 1) + offsets[i, r]
        codes[i] = code if multicasts else i
