"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

A state is the tile, the innermost loop outside it, and where the run of loops that ends in it started: loops that leave
one data space in place while it is not read again. Without sliding windows the state says all that the boundary costs,
so the bound is exact. With them it takes windows to lose nothing but where a loop outside their rank moves, and mesh
links to succeed wherever they could. Levels alternate: a boundary is priced for every state here, then
`jouleloop.optimum.closure` minimises over the loops of the level outside it.
"""

import math

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import CAPACITY, MIN_WORDS, RESTING, Bools, Floats, Ints
from jouleloop.optimum.arrays import (
    ACROSS,
    BEYOND,
    COINCIDE,
    COUNT,
    DISTINCT,
    DISTINCT_LINKED,
    EXTENT,
    FILL_LINKED,
    FILL_STANDING,
    FIXED,
    HALO,
    IDLE,
    KIND,
    LEAST,
    MOST,
    OUTSIDE,
    PARENT,
    RADIX,
    REST,
    TILE_SIZE,
    VALUE,
    WHOLE,
    Case,
    Grid,
    Scratch,
)
from jouleloop.optimum.closure import close
from jouleloop.optimum.costs import crossing_pj, network_pj
from jouleloop.optimum.lattice import digit_of, first_tile, next_tile
from jouleloop.optimum.sketch import compulsory_pj
from jouleloop.optimum.words import boxes_of, common


@njit
def windows(
    coef: Ints, side: Ints, place: Ints, bounds: Ints, j: int, far: int = 0, grid: int = 0
) -> tuple[bool, bool, bool]:
    """What loops outside a tile over the rank of ``j`` do to it together, the innermost of all being over ``j``.

    Returns whether they may leave it in place (*windows that cannot stand*); whether a step of a loop over another
    dimension, or of one over ``j`` outside such a loop, may move like the innermost (*steps unlike the innermost*); and
    whether a step may move it by a multiple of ``grid`` no further than ``far`` (*moves within reach*).
    What one dimension moves is a multiple of what all tiles below its innermost loop span, and at most what is left of
    its bound beside that.
    """
    rank = side[j, HALO]
    step, most = coef[rank, j] * place[j, ACROSS], bounds[j] // place[j, ACROSS] - 1
    others, other, other_most = 0, 1, 0
    for d in range(side.shape[0]):
        if d != j and side[d, HALO] == rank and place[d, OUTSIDE] > 1:
            others += 1
            other, other_most = coef[rank, d] * place[d, ACROSS], bounds[d] // place[d, ACROSS] - 1
    if others > 1:
        return True, True, True
    quantum = common(step, other)
    alone = others == 0 or step // quantum > other_most
    reaches = False
    # The fewer multiples are tried.
    one, two, most_one, most_two = step, other, most, other_most
    if most > other_most:
        one, two, most_one, most_two = other, step, other_most, most
    for move in range(max(grid, 1), far + 1, max(grid, 1)):
        for k in range(-most_one, most_one + 1):
            left = abs(move - k * one)
            reaches = reaches or (left % two == 0 and left <= most_two * two)
    return not alone and other // quantum <= most, not alone and other // quantum <= most + 1, reaches


@njit
def _slide(
    coef: Ints,
    side: Ints,
    near: Ints,
    edge: Floats,
    distinct: float,
    rate: Floats,
    child: int,
    v: int,
    full: float,
    place: Ints,
    bounds: Ints,
    iterations: float,
    resting: bool,
    j: int,
    first: int,
    axis: Ints,
    divisor: Ints,
    slide_pj: Floats,
) -> None:
    """Add the energy [pJ] of one data space through a boundary, the innermost loop outside sliding along a shared rank.

    Parameters
    ----------
    coef, side, near, edge
        Of the data space ``v``; ``near`` at the level outside the boundary.
    distinct
        Words asked per word into the level without links, for this tile.
    full
        Words of the tile.
    place
        By dimension, see `EXTENT`.
    bounds
        Of the layer.
    iterations
        Product of all temporal iterations outside.
    resting
        Whether steps that stand fetch nothing, as in Timeloop 4.
    first
        Divisor index of the first start of the run along ``j``; all further out that the tile divides are added to.
    slide_pj
        By start of the run.
    """
    rank = side[j, HALO]
    length = 1
    along = 1.0
    far = grid = 0
    idle = near_any = False
    for d in range(coef.shape[1]):
        length += coef[rank, d] * (place[d, EXTENT] - 1)
        idle = idle or (side[d, IDLE] == 1 and place[d, OUTSIDE] > 1)
        near_any = near_any or near[d] == 1
        if side[d, HALO] != rank:
            continue
        along *= place[d, OUTSIDE]
        if near[j] == 1:
            far += coef[rank, d] * (place[d, ACROSS] - place[d, EXTENT])
            if place[d, ACROSS] > place[d, EXTENT]:
                grid = common(grid, coef[rank, d] * place[d, EXTENT])
    step = coef[rank, j] * place[j, ACROSS]
    cancel, alike, reaches = windows(coef, side, place, bounds, j, far if step >= length else 0, grid)
    reached = 0 < step <= far and step % grid == 0
    # What part of the words comes in by steps that no link serves, that links may serve, that stand.
    plain, moved, standing = 1.0, 0.0, 0.0
    if step >= length and (cancel or reaches):
        # Of the innermost loop's steps, no less than its least bound allows, the move is known.
        others = 1.0 / divisor[j, 1, VALUE]
        plain, moved = (0.0, 1.0 - others) if reached else (1.0 - others, 0.0)
        if cancel and (resting or edge[COINCIDE] != 0.0):
            standing = others
        elif cancel and not near_any:
            plain += others
        else:
            moved += others
    part = 0.5 if cancel and resting else 1.0
    for start in range(first, axis[j, COUNT]):
        if divisor[j, start, VALUE] % place[j, TILE_SIZE] != 0:
            continue
        if step >= length:
            words = full * iterations
            asked = words * (plain * distinct + moved * edge[DISTINCT_LINKED])
            filled = words * (plain + moved * edge[FILL_LINKED])
            sent_pj = network_pj(rate, child, v, words * plain, words * moved, 0.0 if resting else words * standing)
            if not resting:
                filled += words * standing * edge[FILL_STANDING]
        else:
            # All steps that may move like the innermost loop's fetch what is new only; all others the whole box, and
            # no link serves those, as the box before was smaller.
            whole = iterations / along if alike else iterations / place[j, OUTSIDE]
            beyond = divisor[j, axis[j, COUNT] - 1 - start, VALUE]
            if not alike and beyond > 1:
                # Beyond the run at most those that have no loop inside but over the dimension and idle ones.
                whole *= 0.5 * (beyond + 1) if idle else beyond
            words = full / length * step * (iterations - whole)
            asked = part * (full * whole * distinct + words * (edge[DISTINCT_LINKED] if reached else distinct))
            filled = part * (full * whole + words * (edge[FILL_LINKED] if reached else 1.0))
            linked = part * words if reached else 0.0
            sent_pj = network_pj(rate, child, v, part * (full * whole + words) - linked, linked, 0.0)
        if cancel or reached or moved > 0.0:
            asked = math.floor(asked)
            filled = math.floor(filled * (1.0 - 1e-12))
        slide_pj[start] += crossing_pj(rate, child, v, asked, filled, sent_pj)


@njit
def _resumed_pj(
    coef: Ints,
    side: Ints,
    edge: Floats,
    distinct: float,
    rate: Floats,
    child: int,
    v: int,
    full: float,
    place: Ints,
    bounds: Ints,
    iterations: float,
    axis: Ints,
    divisor: Ints,
    scratch: Scratch,
    least_pj: float,
) -> float:
    """Energy [pJ] of one data space through a boundary, the innermost loops outside it leaving it in place.

    In Timeloop 4 a window goes on sliding after such a run (*windows that rest*): any loop over a shared rank may be
    the innermost that moves. ``least_pj`` is the energy where there is none.
    """
    slide_pj = scratch.slide_pj[1]
    first = True
    for j in range(side.shape[0]):
        if side[j, HALO] >= 0 and place[j, OUTSIDE] > 1:
            whole = axis[j, COUNT] - 1
            slide_pj[whole] = 0.0
            _slide(
                coef,
                side,
                scratch.nowhere,
                edge,
                distinct,
                rate,
                child,
                v,
                full,
                place,
                bounds,
                iterations,
                True,
                j,
                whole,
                axis,
                divisor,
                slide_pj,
            )
            least_pj = slide_pj[whole] if first else min(least_pj, slide_pj[whole])
            first = False
    return least_pj


@njit
def _sure_share(coef: Ints, side: Ints, place: Ints, bounds: Ints, divisor: Ints) -> float:
    """Share of the iterations outside a trailing run that surely move a data space (*trailing run*)."""
    share = 1.0
    for d in range(place.shape[0]):
        if side[d, HALO] >= 0 and place[d, OUTSIDE] > 1 and windows(coef, side, place, bounds, d, 0, 0)[0]:
            share = min(share, 1.0 - 1.0 / divisor[d, 1, VALUE])
    return share


@njit
def passable(slots: Ints, level: int) -> bool:
    """Whether a level may go without any loop."""
    for d in range(slots.shape[1]):
        if slots[level, d, FIXED] > 1 or (slots[level, d, FIXED] == 0 and slots[level, d, LEAST] > 1):
            return False
    return True


@njit
def admits(slots: Ints, level: int, d: int, factor: int) -> bool:
    """Whether a level may have this factor of a dimension."""
    if slots[level, d, FIXED] != 0:
        return bool(factor == slots[level, d, FIXED])
    return bool(slots[level, d, LEAST] <= factor <= slots[level, d, MOST])


@njit
def further(
    enter: Floats,
    ahead: Floats,
    base: Ints,
    slots: Ints,
    axis: Ints,
    level: int,
    point: int,
    innermost: int,
    run_state: int,
    state: int,
) -> float:
    """Least energy [pJ] from the loops of a level inward, given its tile and what is outside it.

    ``innermost`` is the innermost loop outside, the number of dimensions where there is none; ``run_state`` its state
    at the boundary outside the level, ``state`` that at the boundary inside (-1: no such tile stands there). Below the
    outermost level the tables know only runs that start with the whole; a longer run costs no more, so that one bounds
    all others.
    """
    least_pj = ahead[level, 1 + point]
    if level == 0:
        return float(least_pj)
    dims = slots.shape[1]
    if innermost == dims:
        if passable(slots, level):
            least_pj = min(least_pj, ahead[level, 0])
        return float(least_pj)
    kind = axis[innermost, KIND]
    if kind >= 0:
        least_pj = min(least_pj, enter[base[level, dims + kind] + run_state])
    if state >= 0 and passable(slots, level):
        least_pj = min(least_pj, enter[base[level, innermost] + state])
    return float(least_pj)


@njit
def fill_bounds(case: Case, points: int, certain_pj: float) -> None:
    """Fill the bound tables of one unrolling, from the innermost level outward.

    Where nothing is left inside a boundary, of the tables outside only the entries of the whole tile are written.

    ``certain_pj`` is what any mapping costs besides what crosses boundaries.
    """
    # What is left of the limit for a boundary and all further in: outside, every word comes in once.
    scratch = case.scratch
    left_pj = scratch.left_pj
    room_pj = case.tables.limit[0] - certain_pj
    for child in range(case.keep.shape[0] - 1, -1, -1):
        if child < case.keep.shape[0] - 1:
            left_pj[child + 1] = room_pj
        for v in range(case.keep.shape[1]):
            if case.unrolled.edge[child, v, PARENT] >= 0.0:
                room_pj -= compulsory_pj(case, child, v)
    grid = case.grid
    enter = case.tables.enter
    ahead = case.tables.ahead
    slots = case.slots
    levels = case.keep.shape[0]
    dims = grid.axis.shape[0]
    kinds = grid.state.shape[1] - 1
    index, open_tile, left = scratch.tile[0], scratch.open_tile, scratch.left
    open_tile[:points] = False
    ahead[0, 1 : 1 + points] = np.inf
    sole = grid.sole[min(1, levels - 1)]
    point = first_tile(sole, grid.axis, index)
    while point >= 0:
        fits = True
        for d in range(dims):
            fits = fits and admits(slots, 0, d, grid.divisor[d, index[d], VALUE])
        if fits:
            ahead[0, 1 + point] = 0.0
            open_tile[point] = True
        point = next_tile(sole, grid.axis, index, point)
    for level in range(1, levels):
        if 1 < level < levels - 1 and _passes_on(case, level - 1):
            _pass_on(case, points, level)
        else:
            left[:] = False
            if not _price_boundary(case, points, level, left_pj[level]):
                ahead[levels - 1, 0] = ahead[levels - 1, points] = np.inf
                return
        ahead[level, 1 : 1 + points] = np.inf
        for k in range(kinds if level < levels - 1 else 0):
            first = grid.base[level, dims + k]
            enter[first : first + grid.state[level + 1, k, dims]] = np.inf
        closed = False
        for j in range(dims):
            if left[j] and slots[level, j, FIXED] != 1:
                closed = True
                close(case, points, level, j, True)
                # Nothing is outside the outermost level, so no run goes on there.
                if grid.axis[j, KIND] >= 0 and level < levels - 1:
                    close(case, points, level, j, False)
        stay = passable(slots, level)
        if level == levels - 1 or (stay and not closed):
            continue
        point = first_tile(grid.sole[level + 1], grid.axis, index)
        while point >= 0:
            stays = stay and open_tile[point]
            reached = closed and (ahead[level, 1 + point] < np.inf or _goes_on(grid, enter, level, index))
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
            started = axis[d, KIND] == k and axis[d, WHOLE] == 0 and level + 1 < grid.state.shape[0] - 1
            digit = digit_of(grid.sole[level + 1], grid.pair_of, d, started, axis[d, COUNT] - 1, index[d])
            state += digit * grid.state[level + 1, k, d]
        if enter[grid.base[level, dims + k] + state] < np.inf:
            return True
    return False


@njit(inline="always")
def _place_tile(axis: Ints, divisor: Ints, inside: Ints, level: int, index: Ints, place: Ints) -> float:
    """Write what is inside and outside a tile by dimension, see `EXTENT`; return the iterations outside."""
    iterations = 1.0
    for d in range(axis.shape[0]):
        place[d, TILE_SIZE] = divisor[d, index[d], VALUE]
        # Divisors ascend, so this one is the quotient; a division takes longer.
        place[d, OUTSIDE] = divisor[d, axis[d, COUNT] - 1 - index[d], VALUE]
        place[d, EXTENT] = place[d, TILE_SIZE] * inside[level - 1, d]
        place[d, ACROSS] = place[d, TILE_SIZE] * inside[level, d]
        iterations *= place[d, OUTSIDE]
    return iterations


@njit(inline="always")
def _tile_words(coef: Ints, keep: Bools, crossed: Ints, place: Ints, full: Floats) -> float:
    """Write the words of a tile by data space that a level keeps, or that crosses; return the sum of the former."""
    needed = 0.0
    for v in range(coef.shape[0]):
        full[v] = 0.0
        if not keep[v] and crossed[v] == 0:
            continue
        words = 1.0
        for r in range(coef.shape[1]):
            length = 1
            for d in range(coef.shape[2]):
                length += coef[v, r, d] * (place[d, EXTENT] - 1)
            words *= length
        if keep[v]:
            needed += words
        full[v] = words
    return needed


@njit(inline="always")
def _first_start(
    axis: Ints, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, whole: bool, start: Ints
) -> int:
    """Write the first start of a run of a kind that ends in a tile; return its state.

    Where all runs count as whole ones there is one start only. Kind -1 has no runs, its weights are in the last row.
    """
    state = 0
    for d in range(axis.shape[0]):
        own = kind >= 0 and axis[d, KIND] == kind
        start[d] = axis[d, COUNT] - 1 if own and whole else index[d]
        place = index[d]
        if sole[d] >= 0:
            place = start[d] if own and not whole else 0
        elif own and not whole:
            place = pair_of[d, start[d], index[d]]
        state += place * weight[kind, d]
    return state


@njit(inline="always")
def _next_start(
    axis: Ints, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, start: Ints, state: int
) -> int:
    """Advance to the next start that the tile divides, like an odometer; return its state, -1 after the last."""
    if kind < 0:
        return -1
    for d in range(axis.shape[0]):
        if axis[d, KIND] != kind:
            continue
        now = index[d]
        before = pair_of[d, start[d], now] if sole[d] < 0 else start[d]
        start[d] += 1
        while start[d] < axis[d, COUNT] and pair_of[d, start[d], now] < 0:
            start[d] += 1
        ended = start[d] == axis[d, COUNT]
        if ended:
            start[d] = now
        after = pair_of[d, start[d], now] if sole[d] < 0 else start[d]
        state += (after - before) * weight[kind, d]
        if not ended:
            return int(state)
    return -1


@njit
def _state_inside(axis: Ints, sole: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int, start: Ints) -> int:
    """Return the state of a tile at another boundary than the outermost one, -1 where no such tile stands there."""
    state = 0
    for d in range(axis.shape[0]):
        now = index[d]
        started = kind >= 0 and axis[d, KIND] == kind and axis[d, WHOLE] == 0
        if sole[d] < 0:
            state += (pair_of[d, start[d], now] if started else now) * weight[kind, d]
        elif now != sole[d]:
            return -1
        elif started:
            state += start[d] * weight[kind, d]
    return state


@njit
def _passes_on(case: Case, child: int) -> bool:
    """Whether a level keeps nothing, has no room to fill, no loop of its own and no network outside that charges."""
    for v in range(case.keep.shape[1]):
        if case.keep[child, v] or case.unrolled.edge[child, v, PARENT] >= 0.0:
            return False
    for d in range(case.slots.shape[1]):
        if case.slots[child, d, FIXED] != 1:
            return False
    return bool(case.target.spec[child, MIN_WORDS] <= 0.0)


@njit
def _pass_on(case: Case, points: int, level: int) -> None:
    """Take over the bounds of the level inside, where it has no loop and nothing is filled into it."""
    enter, ahead, base, axis = case.tables.enter, case.tables.ahead, case.grid.base, case.grid.axis
    dims = axis.shape[0]
    ahead[level, 0] = ahead[level - 1, 0]
    for j in range(dims):
        if axis[j, REST] > 1:
            states = case.grid.state[level, axis[j, KIND], dims]
            first, inner = base[level, j], base[level - 1, j]
            for state in range(states):
                enter[first + state] = enter[inner + state]
    for point in range(points):
        case.tables.passes[level, point] = case.scratch.open_tile[point]


@njit
def _price_boundary(case: Case, points: int, level: int, left_pj: float) -> bool:
    """Price the boundary below ``level`` and all further in, for every state; close the tiles that do not fit.

    So are those that take ``left_pj`` in every state. Returns whether any tile is left, and marks in `Scratch.left`
    over which dimensions the innermost loop outside may be then.
    """
    axis = case.grid.axis
    divisor = case.grid.divisor
    pair_of = case.grid.pair_of
    weight = case.grid.state[level]
    sole = case.grid.sole[level]
    inner_weight = case.grid.state[level - 1]
    inner_sole = case.grid.sole[level - 1]
    base = case.grid.base
    same = case.grid.same[level]
    enter = case.tables.enter
    ahead = case.tables.ahead
    passes = case.tables.passes
    slots = case.slots
    coef = case.target.layer.coef
    bounds = case.target.layer.bounds
    inside, factors = case.unrolled.inside, case.unrolled.factors[level]
    side = case.unrolled.side
    rate = case.unrolled.rate
    near = case.unrolled.near[level]
    dims = axis.shape[0]
    spaces = coef.shape[0]
    child = level - 1
    edge = case.unrolled.edge[child]
    kept = case.keep[child]
    scratch = case.scratch
    open_tile, left, place, slide_pj = scratch.open_tile, scratch.left, scratch.place, scratch.slide_pj[0]
    roomless = scratch.roomless
    index, start, extent = scratch.tile[0], scratch.tile[1], scratch.tile[2]
    full, moving_pj, sure, distinct = scratch.pj_of[0], scratch.pj_of[1], scratch.pj_of[2], scratch.pj_of[3]
    idle, slid = scratch.of_space[0], scratch.of_space[1]
    crossed, shares = scratch.of_space[2], scratch.of_space[3]
    resting = case.target.layer.reuse[child, 0, RESTING]
    for v in range(spaces):
        crossed[v] = 1 if edge[v, PARENT] >= 0.0 else 0
        shares[v] = 0
        for d in range(dims):
            if side[v, d, HALO] >= 0:
                shares[v] = 1
    outermost = level == case.keep.shape[0] - 1
    most_words = case.target.spec[child, CAPACITY]
    least_words = case.target.spec[child, MIN_WORDS]
    ahead[level, 0] = np.inf
    passes[level, :points] = False
    for j in range(dims):
        if axis[j, REST] > 1:
            enter[base[level, j] : base[level, j] + weight[axis[j, KIND], dims]] = np.inf
    stay = child > 0 and passable(slots, child)
    any_left = False
    point = first_tile(sole, axis, index)
    for n in range(weight[-1, dims]):
        if n > 0:
            point = next_tile(sole, axis, index, point)
        roomless[point] = False
        for d in range(dims):
            # A tile that has no room stands in this one.
            if index[d] > 0 and sole[d] < 0 and roomless[point - axis[d, RADIX]]:
                roomless[point] = True
                break
        if roomless[point]:
            open_tile[point] = False
        if not open_tile[point]:
            continue
        iterations = _place_tile(axis, divisor, inside, level, index, place)
        needed = _tile_words(coef, kept, crossed, place, full)
        if needed > most_words or needed < least_words:
            open_tile[point] = False
            roomless[point] = needed > most_words
            continue
        passes[level, point] = True
        for v in range(spaces):
            if crossed[v] == 1:
                words = sure[v] = full[v] * iterations
                distinct[v] = edge[v, DISTINCT]
                if shares[v] == 1:
                    sure[v] *= _sure_share(coef[v], side[v], place, bounds, divisor)
                    for d in range(dims):
                        extent[d] = place[d, EXTENT]
                    distinct[v] = boxes_of(coef[v], extent, factors, axis) * edge[v, BEYOND]
                sent_pj = network_pj(rate, child, v, words, 0.0, 0.0)
                moving_pj[v] = crossing_pj(rate, child, v, words * distinct[v], words, sent_pj)
        inner_pj = ahead[child, 1 + point]
        if iterations == 1.0:
            ahead[level, 0] = further(enter, ahead, base, slots, axis, child, point, dims, 0, 0)
            for v in range(spaces):
                if crossed[v] == 1:
                    ahead[level, 0] += moving_pj[v]
            if ahead[level, 0] < left_pj:
                any_left = True
            else:
                ahead[level, 0] = np.inf
                open_tile[point] = passes[level, point] = False
            continue
        found = False
        for j in range(dims):
            if place[j, OUTSIDE] == 1:
                continue
            kind = axis[j, KIND]
            whole = outermost or (kind >= 0 and axis[j, WHOLE] == 1)
            # Only what the innermost loop leaves in place depends on where its run started.
            base_pj = 0.0
            idles = 0
            slides = 0
            for v in range(spaces):
                if crossed[v] == 0:
                    continue
                if side[v, j, IDLE] == 1:
                    idle[idles] = v
                    idles += 1
                elif side[v, j, HALO] < 0:
                    base_pj += moving_pj[v]
                else:
                    slid[slides] = v
                    slides += 1
            if slides > 0:
                slide_pj[:] = 0.0
                for i in range(slides):
                    v = slid[i]
                    first = axis[j, COUNT] - 1 if whole or kind < 0 else index[j]
                    _slide(
                        coef[v],
                        side[v],
                        near[v],
                        edge[v],
                        distinct[v],
                        rate,
                        child,
                        v,
                        full[v],
                        place,
                        bounds,
                        iterations,
                        resting,
                        j,
                        first,
                        axis,
                        divisor,
                        slide_pj,
                    )
                if kind < 0:
                    base_pj += slide_pj[axis[j, COUNT] - 1]
            state = _first_start(axis, sole, pair_of, weight, index, kind, whole, start)
            while state >= 0:
                value = inner_pj
                if child > 0 and kind >= 0:
                    value = min(value, enter[base[child, dims + kind] + state])
                if stay:
                    inner = (
                        state
                        if same[kind]
                        else _state_inside(axis, inner_sole, pair_of, inner_weight, index, kind, start)
                    )
                    if inner >= 0:
                        value = min(value, enter[base[child, j] + inner])
                if value + base_pj < left_pj:
                    value += base_pj
                    if slides > 0 and kind >= 0:
                        value += slide_pj[start[j]]
                    for i in range(idles):
                        v = idle[i]
                        trailing = 1.0
                        for d in range(dims):
                            if side[v, d, IDLE] == 1 and axis[d, KIND] == kind:
                                trailing *= divisor[d, start[d], VALUE] / place[d, TILE_SIZE]
                        words = sure[v] / trailing
                        asked, filled = float(math.floor(words * distinct[v])), float(math.floor(words))
                        sent_pj = network_pj(rate, child, v, words, 0.0, 0.0)
                        least_pj = crossing_pj(rate, child, v, asked, filled, sent_pj)
                        if resting and shares[v] == 1:
                            least_pj = _resumed_pj(
                                coef[v],
                                side[v],
                                edge[v],
                                distinct[v],
                                rate,
                                child,
                                v,
                                full[v],
                                place,
                                bounds,
                                iterations / trailing,
                                axis,
                                divisor,
                                scratch,
                                least_pj,
                            )
                        value += least_pj
                    if value < left_pj:
                        enter[base[level, j] + state] = value
                        found = left[j] = True
                if whole:
                    break
                state = _next_start(axis, sole, pair_of, weight, index, kind, start, state)
        any_left = any_left or found
        if not found:
            open_tile[point] = passes[level, point] = False
    return any_left
