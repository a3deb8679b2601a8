"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

A state is the tile, the innermost loop outside it, and where the run of loops that ends in it started: loops that leave
one data space in place while it is not read again. Without sliding windows the state says all that the boundary costs,
so the bound is exact. With them it takes windows to lose nothing but where a loop outside their rank moves, and mesh
links to succeed wherever they could. Levels alternate: a boundary is priced for every state here, then
`jouleloop.optimum.closure` minimises over the loops of the level outside it. Both are step 2 of `docs/search.md`.
"""

import math

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Records
from jouleloop.model.kernel import box_words, held_words
from jouleloop.model.price import fits
from jouleloop.optimum.arrays import Case, Grid, Scratch
from jouleloop.optimum.closure import close
from jouleloop.optimum.costs import crossing_pj, network_pj
from jouleloop.optimum.lattice import digit_of, first_tile, next_tile
from jouleloop.optimum.linked import Linked, find_linked, linked_pj
from jouleloop.optimum.sketch import compulsory_pj
from jouleloop.optimum.slide import slide, windows
from jouleloop.optimum.words import boxes_of


@njit
def _resumed_pj(case: Case, level: int, v: int, iterations: float, least_pj: float) -> float:
    """Energy [pJ] of a data space through the boundary below a level, the loops next outside leaving it in place.

    In Timeloop 4 a window goes on sliding after such a run (*windows that rest*): any loop over a shared rank may be
    the innermost that moves. ``least_pj`` is the energy where there is none, ``iterations`` those beyond the run.
    """
    side, scratch, axis = case.unrolled.side[v], case.scratch, case.grid.axis
    resumed_pj = scratch.resumed_pj
    first = True
    for j in range(side.shape[0]):
        if side[j].halo >= 0 and scratch.place[j].outside > 1:
            whole = axis[j].count - 1
            resumed_pj[whole] = 0.0
            slide(case, level, v, j, whole, iterations, scratch.nowhere, resumed_pj)
            least_pj = resumed_pj[whole] if first else min(least_pj, resumed_pj[whole])
            first = False
    return least_pj


@njit
def _sure_share(coef: Ints, side: Records, place: Records, bounds: Ints, divisor: Records) -> float:
    """Share of the iterations outside a trailing run that surely move a data space (*trailing run*)."""
    share = 1.0
    for d in range(place.shape[0]):
        if side[d].halo >= 0 and place[d].outside > 1 and windows(coef, side, place, bounds, d, 0, 0)[0]:
            share = min(share, 1.0 - 1.0 / divisor[d, 1].value)
    return share


@njit
def passable(slots: Records, level: int) -> bool:
    """Whether a level may go without any loop."""
    for d in range(slots.shape[1]):
        if slots[level, d].fixed > 1 or (slots[level, d].fixed == 0 and slots[level, d].least > 1):
            return False
    return True


@njit
def admits(slots: Records, level: int, d: int, factor: int) -> bool:
    """Whether a level may have this factor of a dimension."""
    if slots[level, d].fixed != 0:
        return bool(factor == slots[level, d].fixed)
    return bool(slots[level, d].least <= factor <= slots[level, d].most)


@njit
def further(case: Case, level: int, point: int, innermost: int, run_state: int, state: int) -> float:
    """Least energy [pJ] from the loops of a level inward, given its tile and what is outside it.

    ``innermost`` is the innermost loop outside, the number of dimensions where there is none; ``run_state`` its state
    at the boundary outside the level, ``state`` that at the boundary inside (-1: no such tile stands there, or the
    level has loops). Below the outermost level the tables know only runs that start with the whole; a longer run costs
    no more, so that one bounds all others.
    """
    enter, ahead, axis, base = case.tables.enter, case.tables.ahead, case.grid.axis, case.grid.base
    least_pj = ahead[level, 1 + point]
    dims = axis.shape[0]
    if level == 0:
        return float(least_pj)
    kind = -1
    if innermost < dims:
        kind = axis[innermost].kind
        if kind >= 0:
            least_pj = min(least_pj, enter[base[level, dims + kind] + run_state])
        if state >= 0:
            least_pj = min(least_pj, enter[base[level, innermost] + state])
    elif passable(case.slots, level):
        least_pj = min(least_pj, ahead[level, 0])
    return float(least_pj)


@njit
def has_room_inside(case: Case) -> bool:
    """Whether every level has room for the least tile that fixed factors leave it, the outermost one for everything."""
    levels, extent = case.keep.shape[0], case.scratch.extent
    needed = 0.0
    for level in range(levels):
        for d in range(extent.shape[0]):
            least, outside = 1, 1
            for k in range(level + 1):
                least *= max(1, case.slots[k, d].fixed)
            for k in range(level + 1, levels):
                outside *= case.slots[k, d].fixed
            if outside > 0:  # no other factor lies outside
                least = max(least, case.grid.axis[d].rest // outside)
            extent[d] = least * case.unrolled.inside[level, d]
        needed = float(held_words(case.target.layer.coef, case.keep[level], extent))
        if needed > case.target.hardware.levels[level].capacity_words:
            return False
    return fits(case.target.hardware.levels[levels - 1], needed)


@njit
def fill_bounds(case: Case, points: int, certain_pj: float) -> None:
    """Fill the bound tables of one unrolling, from the innermost level outward (*tile tables*).

    Where nothing is left inside a boundary, of the tables outside only the entries of the whole tile are written.

    ``certain_pj`` is what any mapping costs besides what crosses boundaries.
    """
    grid, ahead, scratch = case.grid, case.tables.ahead, case.scratch
    levels, dims = case.keep.shape[0], grid.axis.shape[0]
    kinds = grid.state.shape[1] - 1
    _share_out(case, certain_pj)
    _open_innermost(case, points)
    for level in range(1, levels):
        scratch.left[:] = False
        if not _price_boundary(case, points, level, scratch.left_pj[level]):
            ahead[levels - 1, 0] = ahead[levels - 1, points] = np.inf
            return
        ahead[level, 1 : 1 + points] = np.inf
        for k in range(kinds if level < levels - 1 else 0):
            first = grid.base[level, dims + k]
            case.tables.enter[first : first + grid.state[level + 1, k, dims]] = np.inf
        closed = False
        for j in range(dims):
            if scratch.left[j] and case.slots[level, j].fixed != 1:
                closed = True
                close(case, points, level, j, True)
                # Nothing is outside the outermost level, so no run goes on there.
                if grid.axis[j].kind >= 0 and level < levels - 1:
                    close(case, points, level, j, False)
        if level < levels - 1:
            _open_tiles(case, level, closed)


@njit
def _share_out(case: Case, certain_pj: float) -> None:
    """Write what is left of the limit for a boundary and all further in: outside, every word comes in once."""
    room_pj = case.tables.limit[0] - certain_pj
    for child in range(case.keep.shape[0] - 1, -1, -1):
        if child < case.keep.shape[0] - 1:
            case.scratch.left_pj[child + 1] = room_pj
        for v in range(case.keep.shape[1]):
            if case.unrolled.edge[child, v].parent >= 0:
                room_pj -= compulsory_pj(case, child, v)


@njit
def _open_innermost(case: Case, points: int) -> None:
    """Open the tiles that the innermost level admits; nothing is further in."""
    grid, index, open_tile = case.grid, case.scratch.tile, case.scratch.open_tile
    open_tile[:points] = False
    case.tables.ahead[0, 1 : 1 + points] = np.inf
    sole = grid.sole[min(1, case.keep.shape[0] - 1)]
    point = first_tile(sole, grid.axis, index)
    while point >= 0:
        fits = True
        for d in range(index.shape[0]):
            fits = fits and admits(case.slots, 0, d, grid.divisor[d, index[d]].value)
        if fits:
            case.tables.ahead[0, 1 + point] = 0.0
            open_tile[point] = True
        point = next_tile(sole, grid.axis, index, point)


@njit
def _open_tiles(case: Case, level: int, closed: bool) -> None:
    """Leave open at the boundary outside a level the tiles inside which anything is left.

    ``closed``: whether any loop of the level is, see `jouleloop.optimum.closure`.
    """
    grid, index, open_tile = case.grid, case.scratch.tile, case.scratch.open_tile
    stay = passable(case.slots, level)
    if stay and not closed:
        return
    point = first_tile(grid.sole[level + 1], grid.axis, index)
    while point >= 0:
        stays = stay and open_tile[point]
        reached = closed and (
            case.tables.ahead[level, 1 + point] < np.inf or _goes_on(grid, case.tables.enter, level, index)
        )
        open_tile[point] = stays or reached
        point = next_tile(grid.sole[level + 1], grid.axis, index, point)


@njit
def _goes_on(grid: Grid, enter: Floats, level: int, index: Ints) -> bool:
    """Whether anything is left inside a tile of a level in which a run goes on: of all, the longest run costs least."""
    axis = grid.axis
    dims = axis.shape[0]
    for k in range(grid.state.shape[1] - 1):
        state = 0
        for d in range(dims):
            started = axis[d].kind == k and not axis[d].whole and level + 1 < grid.state.shape[0] - 1
            digit = digit_of(grid.sole[level + 1], grid.pair_of, d, started, axis[d].count - 1, index[d])
            state += digit * grid.state[level + 1, k, d]
        if enter[grid.base[level, dims + k] + state] < np.inf:
            return True
    return False


@njit(inline="always")
def _place_tile(axis: Records, divisor: Records, inside: Ints, level: int, scratch: Scratch) -> float:
    """Write what is inside and outside a tile by dimension, see `PLACE`; return the iterations outside."""
    iterations, index, place = 1.0, scratch.tile, scratch.place
    for d in range(axis.shape[0]):
        place[d].tile_size = divisor[d, index[d]].value
        # Divisors ascend, so this one is the quotient; a division takes longer.
        place[d].outside = divisor[d, axis[d].count - 1 - index[d]].value
        scratch.extent[d] = place[d].extent = place[d].tile_size * inside[level - 1, d]
        place[d].across = place[d].tile_size * inside[level, d]
        iterations *= place[d].outside
    return iterations


@njit
def _fits(case: Case, level: int) -> bool:
    """Write the words of a tile by data space; return whether the level inside has room for it, and it fills it."""
    coef, scratch, child = case.target.layer.coef, case.scratch, level - 1
    needed = 0.0
    for v in range(coef.shape[0]):
        scratch.full_words[v] = 0.0
        if not case.keep[child, v] and not scratch.crossed[v]:
            continue
        words = float(box_words(coef[v], scratch.extent))
        if case.keep[child, v]:
            needed += words
        scratch.full_words[v] = words
    return fits(case.target.hardware.levels[child], needed)


@njit(inline="always")
def first_start(
    axis: Records, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, whole: bool, start: Ints
) -> int:
    """Write the first start of a run of a kind that ends in a tile; return its state.

    Where all runs count as whole ones there is one start only. Kind -1 has no runs, its weights are in the last row.
    """
    state = 0
    for d in range(axis.shape[0]):
        own = kind >= 0 and axis[d].kind == kind
        start[d] = axis[d].count - 1 if own and whole else index[d]
        place = index[d]
        if sole[d] >= 0:
            place = start[d] if own and not whole else 0
        elif own and not whole:
            place = pair_of[d, start[d], index[d]]
        state += place * weight[kind, d]
    return state


@njit(inline="always")
def next_start(
    axis: Records, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, start: Ints, state: int
) -> int:
    """Advance to the next start that the tile divides, like an odometer; return its state, -1 after the last."""
    if kind < 0:
        return -1
    for d in range(axis.shape[0]):
        if axis[d].kind != kind:
            continue
        now = index[d]
        before = pair_of[d, start[d], now] if sole[d] < 0 else start[d]
        start[d] += 1
        while start[d] < axis[d].count and pair_of[d, start[d], now] < 0:
            start[d] += 1
        ended = start[d] == axis[d].count
        if ended:
            start[d] = now
        after = pair_of[d, start[d], now] if sole[d] < 0 else start[d]
        state += (after - before) * weight[kind, d]
        if not ended:
            return int(state)
    return -1


@njit
def _state_inside(axis: Records, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, start: Ints) -> int:
    """Return the state of a tile at another boundary than the outermost one, -1 where no such tile stands there."""
    state = 0
    for d in range(axis.shape[0]):
        started = kind >= 0 and axis[d].kind == kind and not axis[d].whole
        place = digit_of(sole, pair_of, d, started, start[d], index[d])
        if place < 0:
            return -1
        state += place * weight[kind, d]
    return state


@njit
def _price_boundary(case: Case, points: int, level: int, left_pj: float) -> bool:
    """Price the boundary below ``level`` and all further in, for every state; close the tiles that do not fit.

    So are those that take ``left_pj`` in every state. Returns whether any tile is left, and marks in `Scratch.left`
    over which dimensions the innermost loop outside may be then.
    """
    grid, scratch = case.grid, case.scratch
    axis, sole, index, open_tile = grid.axis, grid.sole[level], scratch.tile, scratch.open_tile
    dims, passes = axis.shape[0], case.tables.passes[level]
    _find_crossed(case, level)
    case.tables.ahead[level, 0] = np.inf
    passes[:points] = False
    for j in range(dims):
        if axis[j].rest > 1:
            first = grid.base[level, j]
            case.tables.enter[first : first + grid.state[level, axis[j].kind, dims]] = np.inf
    stay = level > 1 and passable(case.slots, level - 1)
    any_left = False
    point = first_tile(sole, axis, index)
    for n in range(grid.state[level, -1, dims]):
        if n > 0:
            point = next_tile(sole, axis, index, point)
        if not open_tile[point]:
            continue
        iterations = _place_tile(axis, grid.divisor, case.unrolled.inside, level, scratch)
        found = False
        if _fits(case, level):
            _price_moves(case, level, iterations)
            if iterations == 1.0:
                found = _price_whole(case, level, point, left_pj)
            for j in range(dims):
                if scratch.place[j].outside > 1:
                    found = _price_runs(case, level, point, j, iterations, stay, left_pj) or found
        open_tile[point] = passes[point] = found
        any_left = any_left or found
    return any_left


@njit
def _find_crossed(case: Case, level: int) -> None:
    """Write which data spaces cross the boundary below a level, and of which dimensions share a rank."""
    side, scratch = case.unrolled.side, case.scratch
    for v in range(side.shape[0]):
        scratch.crossed[v] = case.unrolled.edge[level - 1, v].parent >= 0
        scratch.shares[v] = False
        for d in range(side.shape[1]):
            scratch.shares[v] = scratch.shares[v] or side[v, d].halo >= 0


@njit
def _price_moves(case: Case, level: int, iterations: float) -> None:
    """Write by data space what crosses into a tile if all loops outside move it, and what that costs [pJ]."""
    scratch, child, rate = case.scratch, level - 1, case.unrolled.rate
    for v in range(scratch.crossed.shape[0]):
        if not scratch.crossed[v]:
            continue
        coef, edge = case.target.layer.coef[v], case.unrolled.edge[child, v]
        words = scratch.sure_words[v] = scratch.full_words[v] * iterations
        scratch.distinct[v] = edge.distinct
        if scratch.shares[v]:
            scratch.sure_words[v] *= _sure_share(
                coef, case.unrolled.side[v], scratch.place, case.target.layer.bounds, case.grid.divisor
            )
            scratch.distinct[v] = (
                boxes_of(coef, scratch.extent, case.unrolled.factors[level], case.grid.axis) * edge.beyond
            )
        sent_pj = network_pj(rate, child, v, words, 0.0)
        scratch.moving_pj[v] = crossing_pj(rate, child, v, words * scratch.distinct[v], words, sent_pj)


@njit
def _price_whole(case: Case, level: int, point: int, left_pj: float) -> bool:
    """Price the boundary below a level for the whole tile, no loop being outside; return whether it leaves any."""
    scratch, ahead = case.scratch, case.tables.ahead
    ahead[level, 0] = further(case, level - 1, point, case.grid.axis.shape[0], 0, 0)
    for v in range(scratch.crossed.shape[0]):
        if scratch.crossed[v]:
            ahead[level, 0] += scratch.moving_pj[v]
    if ahead[level, 0] < left_pj:
        return True
    ahead[level, 0] = np.inf
    return False


@njit
def _price_runs(
    case: Case, level: int, point: int, j: int, iterations: float, stay: bool, left_pj: float
) -> bool:  # fmt: skip
    """Price the boundary below a level for a tile, a loop over ``j`` being next outside, by where its run started.

    ``stay``: whether the level inside may go without any loop. Returns whether any state takes less than ``left_pj``.
    """
    grid, scratch, child = case.grid, case.scratch, level - 1
    axis, index, start, enter = grid.axis, scratch.tile, scratch.start, case.tables.enter
    kind = axis[j].kind
    whole = level == case.keep.shape[0] - 1 or (kind >= 0 and axis[j].whole)
    idles, slides, base_pj = _price_unstarted(case, level, j, iterations, whole)
    found = False
    told = case.links.entry.shape[0] > 0 and kind >= 0 and idles > 0
    linked = find_linked(case, level, j, iterations, slides, idles) if told else Linked(-1, 0.0, 0.0)
    state = first_start(axis, grid.sole[level], grid.pair_of, grid.state[level], index, kind, whole, start)
    while state >= 0:
        inner = state if stay else -1
        if stay and not grid.same[level, kind]:
            inner = _state_inside(axis, grid.sole[child], grid.pair_of, grid.state[child], index, kind, start)
        value = further(case, child, point, j, state, inner)
        if value + base_pj < left_pj:
            least_pj, value = value + base_pj, value + base_pj
            if slides > 0 and kind >= 0:
                value += scratch.slide_pj[start[j]]
            for i in range(idles):
                value += _trailing_pj(case, level, scratch.idle[i], kind, iterations)
            if linked.space >= 0 and value < left_pj:
                value = max(value, least_pj + linked_pj(case, level, j, linked, idles))
            if value < left_pj:
                enter[grid.base[level, j] + state] = value
                found = scratch.left[j] = True
        if whole:
            break
        state = next_start(axis, grid.sole[level], grid.pair_of, grid.state[level], index, kind, start, state)
    return found


@njit
def _price_unstarted(
    case: Case, level: int, j: int, iterations: float, whole: bool
) -> tuple[int, int, float]:  # fmt: skip
    """Sort the data spaces by what a loop over ``j`` does to them, and price those that it moves.

    Returns how many it leaves in place, written to `Scratch.idle`; how many slide, priced by start in
    `Scratch.slide_pj`; and what the others cost [pJ] wherever the run started. ``whole``: it started with the whole.
    """
    side, scratch, axis = case.unrolled.side, case.scratch, case.grid.axis
    kind = axis[j].kind
    base_pj = 0.0
    idles = slides = 0
    for v in range(side.shape[0]):
        if not scratch.crossed[v]:
            continue
        if side[v, j].idle:
            scratch.idle[idles] = v
            idles += 1
        elif side[v, j].halo < 0:
            base_pj += scratch.moving_pj[v]
        else:
            scratch.slid[slides] = v
            slides += 1
    if slides > 0:
        scratch.slide_pj[:] = 0.0
    for i in range(slides):
        v = scratch.slid[i]
        first = axis[j].count - 1 if whole or kind < 0 else scratch.tile[j]
        slide(case, level, v, j, first, iterations, case.unrolled.near[level, v], scratch.slide_pj)
    if slides > 0 and kind < 0:
        base_pj += scratch.slide_pj[axis[j].count - 1]
    return idles, slides, base_pj


@njit
def _trailing_pj(case: Case, level: int, v: int, kind: int, iterations: float) -> float:
    """Energy [pJ] of a data space through the boundary below a level, the run outside leaving it in place."""
    side, scratch, grid, child = case.unrolled.side[v], case.scratch, case.grid, level - 1
    trailing = 1.0
    for d in range(side.shape[0]):
        if side[d].idle and grid.axis[d].kind == kind:
            trailing *= grid.divisor[d, scratch.start[d]].value / scratch.place[d].tile_size
    words = scratch.sure_words[v] / trailing
    asked, filled = float(math.floor(words * scratch.distinct[v])), float(math.floor(words))
    sent_pj = network_pj(case.unrolled.rate, child, v, words, 0.0)
    least_pj = crossing_pj(case.unrolled.rate, child, v, asked, filled, sent_pj)
    if case.target.layer.reuse[child, 0].resting and scratch.shares[v]:
        return _resumed_pj(case, level, v, iterations / trailing, least_pj)
    return least_pj
