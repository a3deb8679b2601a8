"""The counting kernel: words that cross every boundary of a loop nest, exactly as Timeloop's nest analysis counts them.

Levels are indexed from the innermost storage level (0) outward, data spaces and dimensions in the order of the
problem. The analysis follows Timeloop 3.0.3 ``src/loop-analysis/nest-analysis.cpp``: every loop runs iterations 0 and 1
only, the latter standing for all others; the point set of a level is an axis-aligned box; what a level asks of its
parent is the box less the last box, where the move between the two equals the move before, and the whole box elsewhere
(``OperationSpace::SaveAndSubtractIfSameStride``).

Why no loop is executed here: let loop 0 be the innermost temporal loop outside the boundary, with move v0. Between any
two steps of outer loops there is at least one step of loop 0. A step of loop 0 always subtracts (the last move is
either none or v0). A step of an outer loop j has the move vj (its own less those of all inner loops, which fall back to
iteration 0), and subtracts only if vj = v0. So two box sizes and one comparison a loop give the exact sum.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import (
    BOUND,
    COLUMNS,
    DIM,
    GROUPS,
    LINKS,
    MAX_LOOPS,
    MULTICAST,
    ROWS,
    SCATTER,
    SIBLING,
    SPATIAL,
    TEMPORAL,
    TILE,
    WORDS,
    Bools,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
)

#: Places of a loop around a boundary: dimension, bound, index step of one iteration.
STEP = 2


@nb.njit(cache=True)
def box_words(coef: Ints, extent: Ints) -> int:
    """Words of the box spanned by ``extent`` indices a dimension, for one data space's ``coef`` (ranks, dimensions)."""
    words = 1
    for r in range(coef.shape[0]):
        side = 1
        for d in range(coef.shape[1]):
            side += coef[r, d] * (extent[d] - 1)
        words *= side
    return words


@nb.njit(cache=True)
def _add_group(groups: Floats, record: Ints, multicast: float, scatter: float, words: float) -> None:
    for g in range(record[GROUPS]):
        if groups[g, MULTICAST] == multicast and groups[g, SCATTER] == scatter:
            groups[g, WORDS] += words
            return
    g = record[GROUPS]
    if g >= groups.shape[0]:
        raise ValueError("too many transfer groups")
    groups[g, MULTICAST] = multicast
    groups[g, SCATTER] = scatter
    groups[g, WORDS] = words
    record[GROUPS] = g + 1


@nb.njit(cache=True)
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


@nb.njit(cache=True)
def _classes(codes: Ints, chosen: Bools, sizes: Ints) -> int:
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


@nb.njit(cache=True)
def _record(sizes: Ints, distinct: int, words: float, groups: Floats, record: Ints) -> None:
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
        _add_group(groups, record, float(sizes[a]), float(same), words * same)


@nb.njit(cache=True)
def _neighbour_links(offsets: Ints, need: Ints, columns: int, rows: int, linked: Bools) -> int:
    """Mark the instances whose words a mesh neighbour held before; return their number.

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
            if other >= n:
                continue
            same = True
            for r in range(ranks):
                if offsets[other, r] - offsets[i, r] != need[r]:
                    same = False
                    break
            if same:
                linked[i] = True
                total += 1
                break
    return total


@nb.njit(cache=True)
def _boundary(
    coef: Ints,
    inner_extent: Ints,
    loop: Ints,
    loops: int,
    spatial: Ints,
    spatials: int,
    columns: int,
    rows: int,
    stateless: bool,
    groups: Floats,
    record: Ints,
) -> float:
    """Add the transfers of one data space through one boundary to ``groups``; return the words that mesh links carry.

    ``loop`` holds the temporal loops outside the boundary, innermost first; ``spatial`` the spatial loops at it,
    outermost first; each with the index step of one iteration. ``stateless`` marks the boundary to the compute units,
    which hold nothing from one step to the next.
    """
    ranks = coef.shape[0]
    dims = coef.shape[1]
    side = np.empty(ranks, np.int64)
    full_words = 1.0
    for r in range(ranks):
        extent = 1
        for d in range(dims):
            extent += coef[r, d] * (inner_extent[d] - 1)
        side[r] = extent
        full_words *= extent

    # Instances: index offset of each, and how many share a box.
    instances = 1
    simple_distinct = 1
    shared_rank = False
    for s in range(spatials):
        instances *= spatial[s, BOUND]
        relevant = False
        for r in range(ranks):
            if coef[r, spatial[s, DIM]] != 0:
                relevant = True
                for s2 in range(s):
                    if coef[r, spatial[s2, DIM]] != 0 and spatial[s2, DIM] != spatial[s, DIM]:
                        shared_rank = True
        if relevant:
            simple_distinct *= spatial[s, BOUND]

    # First move and size of what it fetches.
    move = np.zeros((max(loops, 1), ranks), np.int64)
    for j in range(loops):
        for r in range(ranks):
            value = coef[r, loop[j, DIM]] * loop[j, STEP]
            for i in range(j):
                value -= coef[r, loop[i, DIM]] * loop[i, STEP]
            move[j, r] = value
    part_side = side.copy()
    part_at = np.zeros(ranks, np.int64)
    part_words = full_words
    if loops > 0 and not stateless:
        moved = -1
        several = False
        apart = False
        for r in range(ranks):
            if move[0, r] != 0:
                if moved >= 0:
                    several = True
                moved = r
                if abs(move[0, r]) >= side[r]:
                    apart = True
        if moved < 0:
            part_words = 0.0
        elif not several and not apart:
            part_words = full_words / side[moved] * move[0, moved]
            part_side[moved] = move[0, moved]
            part_at[moved] = side[moved] - move[0, moved]

    # Words fetched whole and in part, by the step that fetches them.
    later = np.ones(max(loops, 1) + 1)
    for j in range(loops - 1, -1, -1):
        later[j] = later[j + 1] * loop[j, BOUND]
    whole_calls = 1.0
    matched_calls = 0.0
    matches = np.zeros(max(loops, 1), np.bool_)
    for j in range(1, loops):
        match = not stateless
        for r in range(ranks):
            if move[j, r] != move[0, r]:
                match = False
        calls = (loop[j, BOUND] - 1) * later[j + 1]
        matches[j] = match
        if match:
            matched_calls += calls
        else:
            whole_calls += calls
    first_calls = 0.0
    if loops > 0:
        first_calls = (loop[0, BOUND] - 1) * later[1]

    if spatials == 0:
        words = whole_calls * full_words + (matched_calls + first_calls) * part_words
        if stateless:
            words = later[0] * full_words
        _add_group(groups, record, 1.0, 1.0, words)
        return 0.0

    # Which calls could be served by a mesh neighbour: kind of box now and before, and the offset it needs.
    offsets = np.zeros((instances, ranks), np.int64)
    reach = np.zeros(ranks, np.int64)
    have_offsets = False
    sizes = np.empty(instances, np.int64)
    codes = np.zeros(instances, np.int64)
    chosen = np.ones(instances, np.bool_)
    linked = np.zeros(instances, np.bool_)
    for s in range(spatials):
        for r in range(ranks):
            reach[r] += coef[r, spatial[s, DIM]] * spatial[s, STEP] * (spatial[s, BOUND] - 1)
    if shared_rank:
        have_offsets = True
        _fill_offsets(coef, spatial, spatials, offsets, codes, reach)
        distinct = _classes(codes, chosen, sizes)
    else:
        distinct = simple_distinct
        for i in range(distinct):
            sizes[i] = instances // simple_distinct

    # Calls without a predecessor never link: the first.
    plain_whole = 1.0
    plain_part = 0.0
    links = 0.0
    need = np.empty(ranks, np.int64)
    for j in range(loops):
        for variant in range(2):
            # Loop 0 is called after a whole box (variant 0) or after a part (variant 1); others always after a part.
            if j == 0:
                calls = (loop[0, BOUND] - 1) * (whole_calls if variant == 0 else matched_calls)
                now_whole = stateless
                before_whole = variant == 0 or stateless
            else:
                if variant == 1:
                    continue
                calls = (loop[j, BOUND] - 1) * later[j + 1]
                now_whole = not matches[j]
                before_whole = stateless
            if calls == 0.0:
                continue
            words = full_words if now_whole else part_words
            if words == 0.0:
                continue
            possible = True
            for r in range(ranks):
                now_side = side[r] if now_whole else part_side[r]
                before_side = side[r] if before_whole else part_side[r]
                if now_side != before_side:
                    possible = False
                    break
                at = move[j, r]
                if not now_whole:
                    at += part_at[r]
                if not before_whole:
                    at -= part_at[r]
                need[r] = at
                if abs(at) > reach[r]:
                    possible = False
                    break
            if possible and before_whole is False and part_words == 0.0:
                possible = False
            used = False
            if possible:
                if not have_offsets:
                    have_offsets = True
                    _fill_offsets(coef, spatial, spatials, offsets, codes, reach)
                number = _neighbour_links(offsets, need, columns, rows, linked)
                if number > 0:
                    for i in range(instances):
                        chosen[i] = not linked[i]
                    link_sizes = np.empty(instances, np.int64)
                    left = _classes(codes, chosen, link_sizes)
                    if left < distinct:
                        used = True
                        links += number * words * calls
                        if left > 0:
                            _record(link_sizes, left, words * calls, groups, record)
            if not used:
                if now_whole:
                    plain_whole += calls
                else:
                    plain_part += calls
    words = plain_whole * full_words + plain_part * part_words
    if words > 0.0:
        _record(sizes, distinct, words, groups, record)
    return links


@nb.njit(cache=True)
def _fill_offsets(coef: Ints, spatial: Ints, spatials: int, offsets: Ints, codes: Ints, reach: Ints) -> None:
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


@nb.njit(cache=True)
def count_transfers(layer: LayerArrays, nest: NestArrays, work: WorkArrays) -> None:
    """Count the transfers of every data space below every level.

    Reads the mesh of ``work.status``; writes ``work.groups``, the words that links carry, and of ``work.access`` tiles,
    sibling boxes and numbers of groups.
    """
    coef = layer.coef
    levels = nest.counts.shape[0]
    spaces = coef.shape[0]
    dims = coef.shape[2]
    extent = np.ones(dims, np.int64)
    loop = np.empty((levels * MAX_LOOPS, 3), np.int64)
    start = np.empty(levels, np.int64)
    spatial = np.ones((levels, MAX_LOOPS, 3), np.int64)
    inner_extent = np.ones((levels, dims), np.int64)
    total = 0
    for level in range(levels):
        for d in range(dims):
            inner_extent[level, d] = extent[d]
        spatials = nest.counts[level, SPATIAL]
        for s in range(spatials - 1, -1, -1):
            d = nest.loops[level, SPATIAL, s, DIM]
            spatial[level, s, DIM] = d
            spatial[level, s, BOUND] = nest.loops[level, SPATIAL, s, BOUND]
            spatial[level, s, STEP] = extent[d]
            extent[d] *= spatial[level, s, BOUND]
        for v in range(spaces):
            work.access[level, v, SIBLING] = box_words(coef[v], extent) if spatials > 0 else 0
        start[level] = total
        for t in range(nest.counts[level, TEMPORAL] - 1, -1, -1):
            d = nest.loops[level, TEMPORAL, t, DIM]
            loop[total, DIM] = d
            loop[total, BOUND] = nest.loops[level, TEMPORAL, t, BOUND]
            loop[total, STEP] = extent[d]
            extent[d] *= loop[total, BOUND]
            total += 1
        for v in range(spaces):
            work.access[level, v, TILE] = box_words(coef[v], extent)
    for level in range(levels):
        for v in range(spaces):
            work.access[level, v, GROUPS] = 0
            work.flow[level, v, LINKS] = _boundary(
                coef[v],
                inner_extent[level],
                loop[start[level] :],
                total - start[level],
                spatial[level],
                nest.counts[level, SPATIAL],
                work.status[level, COLUMNS],
                work.status[level, ROWS],
                level == 0,
                work.groups[level, v],
                work.access[level, v],
            )
