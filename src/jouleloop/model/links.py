"""Who shares a box with whom below a boundary: classes of instances, transfers by multicast factor, mesh neighbours."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    BOUND,
    DIM,
    GROUPS,
    HOPS,
    MULTICAST,
    SCATTER,
    STEP,
    UNICAST_HOPS,
    WORDS,
    Bools,
    Floats,
    Ints,
)


@njit
def add_group(groups: Floats, record: Ints, multicast: float, scatter: float, words: float) -> None:
    """Add transfers to the group of the same multicast and scatter factors, or as a new one.

    Groups ascend by both, as in Timeloop's map (``AccessStatMatrix``): the order of sums can decide a rounding.
    """
    for g in range(record[GROUPS]):
        if groups[g, MULTICAST] == multicast and groups[g, SCATTER] == scatter:
            groups[g, WORDS] += words
            return
    g = record[GROUPS]
    if g >= groups.shape[0]:
        raise ValueError("too many transfer groups")
    record[GROUPS] = g + 1
    while g > 0 and (
        groups[g - 1, MULTICAST] > multicast
        or (groups[g - 1, MULTICAST] == multicast and groups[g - 1, SCATTER] > scatter)
    ):
        for place in range(groups.shape[1]):
            groups[g, place] = groups[g - 1, place]
        g -= 1
    groups[g, MULTICAST] = multicast
    groups[g, SCATTER] = scatter
    groups[g, WORDS] = words
    groups[g, HOPS] = 0.0
    groups[g, UNICAST_HOPS] = 0.0


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
def record_classes(sizes: Ints, distinct: int, words: float, groups: Floats, record: Ints) -> None:
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
        add_group(groups, record, float(sizes[a]), float(same), words * same)


@njit
def record_hops(
    codes: Ints, chosen: Bools, columns: int, rows: int, words: float, groups: Floats, record: Ints
) -> None:
    """Add words times hops of one call to its groups, which are there: every class of chosen instances is sent words.

    Words enter at the middle of the first column, go along its row to the furthest column, and up and down from there
    (``NestAnalysis::ComputeAccurateMulticastedAccesses``).
    """
    n = codes.shape[0]
    middle = (rows - 1) / 2.0
    ordered = codes.copy()
    _sort(ordered)
    # By class, which stands where its code first does among all in order.
    head = np.full(n, -1, np.int64)
    sizes = np.zeros(n, np.int64)
    furthest = np.zeros(n, np.int64)
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
        furthest[own] = max(furthest[own], column)
        apart[own] += column + abs(row - middle)
        sizes[own] += 1
    same = np.zeros(n + 1, np.int64)
    for own in range(n):
        if head[own] >= 0:
            same[sizes[own]] += 1
            hops[own] = furthest[own]
            for column in range(columns):
                if highest[own, column] >= 0:
                    hops[own] += max(0.0, middle - lowest[own, column]) + max(0.0, highest[own, column] - middle)
    for k in range(n):
        own = _place_of(ordered, codes[k])
        if head[own] != k:
            continue
        for g in range(record[GROUPS]):
            if groups[g, MULTICAST] == sizes[own] and groups[g, SCATTER] == same[sizes[own]]:
                groups[g, HOPS] += hops[own] * words
                groups[g, UNICAST_HOPS] += apart[own] * words


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
def neighbour_links(offsets: Ints, before: Ints, need: Ints, columns: int, rows: int, linked: Bools) -> int:
    """Mark the instances whose words a mesh neighbour held before; return their number.

    ``before`` holds the offsets of the instances that were served one step before.

    Instance i sits at column i mod ``columns`` and row i div ``columns``, whatever its axes in the mapping
    (``NestAnalysis::ComputeNetworkLinkTransfers``, ``GetLinearIndex``).
    """
    n = offsets.shape[0]
    ranks = offsets.shape[1]
    total = 0
    for i in range(n):
        linked[i] = False
        row = i // columns
        column = i % columns
        if row >= rows:
            continue
        for side in range(4):
            if side == 0:
                if row < 1:
                    continue
                other = i - columns
            elif side == 1:
                if row + 1 >= rows:
                    continue
                other = i + columns
            elif side == 2:
                if column < 1:
                    continue
                other = i - 1
            else:
                if column + 1 >= columns:
                    continue
                other = i + 1
            if other >= before.shape[0]:
                continue
            same = True
            for r in range(ranks):
                if before[other, r] - offsets[i, r] != need[r]:
                    same = False
                    break
            if same:
                linked[i] = True
                total += 1
                break
    return total


@njit
def fill_offsets(coef: Ints, spatial: Ints, spatials: int, offsets: Ints, codes: Ints, reach: Ints) -> None:
    """Write the index offset of every instance, and one number that is equal where the offsets are."""
    ranks = coef.shape[0]
    for i in range(offsets.shape[0]):
        rest = i
        for r in range(ranks):
            offsets[i, r] = 0
        for s in range(spatials - 1, -1, -1):
            index = rest % spatial[s, BOUND]
            rest //= spatial[s, BOUND]
            for r in range(ranks):
                offsets[i, r] += coef[r, spatial[s, DIM]] * spatial[s, STEP] * index
        code = 0
        for r in range(ranks):
            code = code * (reach[r] + 1) + offsets[i, r]
        codes[i] = code
