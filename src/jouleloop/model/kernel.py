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

In Timeloop 4 a step that moves nothing is no move: it sends nothing and leaves the last move as it is. Then loop 0 is
the innermost loop that moves the box, those inside it count for nothing, and so do outer steps with vj = 0.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    BOUND,
    COLUMNS,
    DIM,
    GROUPS,
    LINKS,
    MAX_LOOPS,
    NO_LINK_TRANSFER,
    NO_MULTICAST,
    NO_TEMPORAL_REUSE,
    RESTING,
    ROWS,
    SIBLING,
    SPATIAL,
    STEP,
    TEMPORAL,
    TILE,
    Bools,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
)
from jouleloop.model.links import add_group, count_classes, fill_offsets, neighbour_links, record_classes, record_hops


@njit
def box_words(coef: Ints, extent: Ints) -> int:
    """Words of the box spanned by ``extent`` indices a dimension, for one data space's ``coef`` (ranks, dimensions)."""
    words = 1
    for r in range(coef.shape[0]):
        side = 1
        for d in range(coef.shape[1]):
            side += coef[r, d] * (extent[d] - 1)
        words *= side
    return words


@njit(inline="always")
def _find_sides(coef: Ints, extent: Ints, side: Ints) -> float:
    """Write the length of a box along every rank; return its words."""
    words = 1.0
    for r in range(coef.shape[0]):
        length = 1
        for d in range(coef.shape[1]):
            length += coef[r, d] * (extent[d] - 1)
        side[r] = length
        words *= length
    return words


@njit(inline="always")
def _find_moves(coef: Ints, loop: Ints, loops: int, move: Ints) -> None:
    """Write by loop and rank how the box moves when the loop advances and all loops inside it fall back."""
    for j in range(loops):
        for r in range(coef.shape[0]):
            value = coef[r, loop[j, DIM]] * loop[j, STEP]
            for i in range(j):
                value -= coef[r, loop[i, DIM]] * loop[i, STEP]
            move[j, r] = value


@njit(inline="always")
def _find_part(side: Ints, move: Ints, full_words: float, part_side: Ints, part_at: Ints) -> float:
    """Write sides and offset of what a step of the innermost loop fetches beyond the last box; return its words."""
    moved = -1
    several = False
    apart = False
    for r in range(side.shape[0]):
        if move[0, r] != 0:
            if moved >= 0:
                several = True
            moved = r
            if abs(move[0, r]) >= side[r]:
                apart = True
    if moved < 0:
        return 0.0
    if several or apart:
        return full_words
    part_side[moved] = move[0, moved]
    part_at[moved] = side[moved] - move[0, moved]
    return float(full_words / side[moved] * move[0, moved])


@njit(inline="always")
def _count_calls(
    loop: Ints, loops: int, move: Ints, stateless: bool, resting: bool, later: Floats, matches: Bools, rests: Bools
) -> tuple[float, float]:
    """Return how many steps fetch the whole box, and how many of outer loops a part, as they move like the innermost.

    Writes the product of all bounds from each loop outward, which loops match, and, where ``resting``, which move
    nothing and so fetch nothing.
    """
    for j in range(loops - 1, -1, -1):
        later[j] = later[j + 1] * loop[j, BOUND]
    whole_calls = 1.0
    matched_calls = 0.0
    for j in range(1, loops):
        match = not stateless
        rest = resting
        for r in range(move.shape[1]):
            if move[j, r] != move[0, r]:
                match = False
            if move[j, r] != 0:
                rest = False
        calls = (loop[j, BOUND] - 1) * later[j + 1]
        matches[j] = match
        rests[j] = rest
        if rest:
            continue
        if match:
            matched_calls += calls
        else:
            whole_calls += calls
    return whole_calls, matched_calls


@njit
def _find_still(move: Ints, loops: int) -> int:
    """Return how many of the innermost loops move nothing."""
    for j in range(loops):
        for r in range(move.shape[1]):
            if move[j, r] != 0:
                return j
    return loops


@njit(inline="always")
def _count_boxes(coef: Ints, spatial: Ints, spatials: int) -> tuple[int, int, bool]:
    """Return instances, their distinct boxes, and whether the latter is a guess: several dimensions unroll one rank."""
    instances = 1
    distinct = 1
    shared_rank = False
    for s in range(spatials):
        instances *= spatial[s, BOUND]
        relevant = False
        for r in range(coef.shape[0]):
            if coef[r, spatial[s, DIM]] != 0:
                relevant = True
                for s2 in range(s):
                    if coef[r, spatial[s2, DIM]] != 0 and spatial[s2, DIM] != spatial[s, DIM]:
                        shared_rank = True
        if relevant:
            distinct *= spatial[s, BOUND]
    return instances, distinct, shared_rank


@njit(inline="always")
def _link_offset(
    side: Ints, part_side: Ints, part_at: Ints, move: Ints, j: int, whole: Bools, reach: Ints, need: Ints
) -> bool:
    """Write how far away the instance is that held what a step of loop ``j`` needs; return whether one can be there.

    ``whole``: whether the box now, and the one before, are whole.
    """
    for r in range(side.shape[0]):
        now_side = side[r] if whole[0] else part_side[r]
        before_side = side[r] if whole[1] else part_side[r]
        if now_side != before_side:
            return False
        at = move[j, r]
        if not whole[0]:
            at += part_at[r]
        if not whole[1]:
            at -= part_at[r]
        need[r] = at
        if abs(at) > reach[r]:
            return False
    return True


@njit
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
    resting: bool,
    multicasts: bool,
    links_allowed: bool,
    wired: bool,
    groups: Floats,
    record: Ints,
) -> float:
    """Add the transfers of one data space through one boundary to ``groups``; return the words that mesh links carry.

    ``loop`` holds the temporal loops outside the boundary, innermost first; ``spatial`` the spatial loops at it,
    outermost first; each with the index step of one iteration. ``stateless`` marks the boundary to the compute units,
    which hold nothing from one step to the next, or to a level that reuses nothing; ``resting`` says that steps without
    a move leave the last move alone. Without ``multicasts`` every instance is a class by itself; ``wired`` counts hops.
    """
    ranks = coef.shape[0]
    side = np.empty(ranks, np.int64)
    move = np.zeros((max(loops, 1), ranks), np.int64)
    later = np.ones(max(loops, 1) + 1)
    matches = np.zeros(max(loops, 1), np.bool_)
    rests = np.zeros(max(loops, 1), np.bool_)
    full_words = _find_sides(coef, inner_extent, side)
    _find_moves(coef, loop, loops, move)
    still = 0
    resting = resting and not stateless
    if resting:
        still = _find_still(move, loops)
        loop = loop[still:]
        move = move[still:]
        loops -= still
    part_side = side.copy()
    part_at = np.zeros(ranks, np.int64)
    part_words = full_words
    if loops > 0 and not stateless:
        part_words = _find_part(side, move, full_words, part_side, part_at)
    whole_calls, matched_calls = _count_calls(loop, loops, move, stateless, resting, later, matches, rests)
    first_calls = 0.0
    if loops > 0:
        first_calls = (loop[0, BOUND] - 1) * later[1]
    if spatials == 0:
        words = whole_calls * full_words + (matched_calls + first_calls) * part_words
        if stateless:
            words = later[0] * full_words
        add_group(groups, record, 1.0, 1.0, words)
        return 0.0

    # Which calls could be served by a mesh neighbour: kind of box now and before, and the offset it needs.
    instances, distinct, shared_rank = _count_boxes(coef, spatial, spatials)
    if not multicasts:
        distinct, shared_rank = instances, False
    offsets = np.zeros((instances, ranks), np.int64)
    reach = np.zeros(ranks, np.int64)
    sizes = np.empty(instances, np.int64)
    codes = np.zeros(instances, np.int64)
    chosen = np.ones(instances, np.bool_)
    linked = np.zeros(instances, np.bool_)
    need = np.empty(ranks, np.int64)
    whole = np.empty(2, np.bool_)
    for s in range(spatials):
        for r in range(ranks):
            reach[r] += coef[r, spatial[s, DIM]] * spatial[s, STEP] * (spatial[s, BOUND] - 1)
    have_offsets = shared_rank
    if shared_rank:
        fill_offsets(coef, spatial, spatials, offsets, codes, reach)
        distinct = count_classes(codes, chosen, sizes)
    else:
        for i in range(distinct):
            sizes[i] = instances // distinct

    # Calls without a predecessor never link: the first.
    plain_whole = 1.0
    plain_part = 0.0
    links = 0.0
    for j in range(loops):
        # Loop 0 is called after a whole box (variant 0) or after a part (variant 1); others always after a part.
        if rests[j]:
            continue
        for variant in range(2 if j == 0 else 1):
            if j == 0:
                calls = (loop[0, BOUND] - 1) * (whole_calls if variant == 0 else matched_calls)
                whole[0] = stateless
                whole[1] = variant == 0 or stateless
            else:
                calls = (loop[j, BOUND] - 1) * later[j + 1]
                whole[0] = not matches[j]
                whole[1] = stateless
            words = full_words if whole[0] else part_words
            if calls == 0.0 or words == 0.0:
                continue
            used = False
            # After a step of a loop that moves nothing no neighbour has anything new.
            linking = links_allowed and still == 0 and (whole[1] or part_words != 0.0)
            if linking and _link_offset(side, part_side, part_at, move, j, whole, reach, need):
                if not have_offsets:
                    have_offsets = True
                    fill_offsets(coef, spatial, spatials, offsets, codes, reach)
                    if not multicasts:
                        for i in range(instances):
                            codes[i] = i
                number = neighbour_links(offsets, offsets, need, columns, rows, linked)
                if number > 0:
                    for i in range(instances):
                        chosen[i] = not linked[i]
                    link_sizes = np.empty(instances, np.int64)
                    left = count_classes(codes, chosen, link_sizes)
                    if left < distinct:
                        used = True
                        links += number * words * calls
                        if left > 0:
                            record_classes(link_sizes, left, words * calls, groups, record)
                            if wired:
                                record_hops(codes, chosen, columns, rows, words * calls, groups, record)
            if not used:
                if whole[0]:
                    plain_whole += calls
                else:
                    plain_part += calls
    if resting and loops > 0:  # steps of loop 0 after one that fetched nothing
        plain_part += (loop[0, BOUND] - 1) * (later[1] - whole_calls - matched_calls)
    words = plain_whole * full_words + plain_part * part_words
    if words > 0.0:
        record_classes(sizes, distinct, words, groups, record)
        if wired:
            fill_offsets(coef, spatial, spatials, offsets, codes, reach)
            chosen[:] = True
            if not multicasts:
                for i in range(instances):
                    codes[i] = i
            record_hops(codes, chosen, columns, rows, words, groups, record)
    return links


@njit
def count_transfers(layer: LayerArrays, nest: NestArrays, work: WorkArrays, wired: bool = False) -> None:
    """Count the transfers of every data space below every level.

    ``wired`` counts hops, too. Reads the mesh of ``work.status``; writes ``work.groups``, the words that links carry,
    and of ``work.access`` tiles, sibling boxes and numbers of groups.
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
                level == 0 or layer.reuse[level - 1, v, NO_TEMPORAL_REUSE],
                layer.reuse[level, v, RESTING],
                not layer.reuse[level, v, NO_MULTICAST],
                not layer.reuse[level, v, NO_LINK_TRANSFER],
                wired,
                work.groups[level, v],
                work.access[level, v],
            )
