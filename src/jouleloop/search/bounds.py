"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

A state is the tile, the innermost loop outside it, and where the run of loops that ends in it started: loops that leave
one data space in place while it is not read again. Without sliding windows the state says all that the boundary costs,
so the bound is exact. With them it takes windows to lose nothing but where a loop outside their rank moves, and mesh
links to succeed wherever they could. Minimising over the lattice is a closure along prime steps, one pass over the
states in ascending order.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import CAPACITY, MIN_WORDS, Floats, Ints
from jouleloop.search.arrays import (
    COUNT,
    DOWN,
    FIXED,
    HALO,
    IDLE,
    KIND,
    LEAST,
    LINKED,
    MOST,
    NOW,
    PAIR_DOWN,
    PAIRS,
    PARENT,
    PRIMES,
    RANK,
    REST,
    SPREAD,
    SPREAD_LINKED,
    START,
    VALUE,
    Case,
    Grid,
    Tables,
)
from jouleloop.search.costs import crossing_pj
from jouleloop.search.lattice import digit

#: Places of a dimension around a boundary: indices of the tile with and without unrolled ones, and iterations outside.
EXTENT, TILE_SIZE, OUTSIDE = range(3)


@nb.njit(cache=True)
def relaxed_words(
    coef: Ints,
    side: Ints,
    v: int,
    full: float,
    place: Ints,
    inside: Ints,
    level: int,
    iterations: float,
    innermost: int,
    trailing: float,
) -> float:
    """Words of one data space that enter a tile at least, given the innermost loop outside it.

    Parameters
    ----------
    side
        By data space and dimension; ``v`` is the data space.
    full
        Words of the tile.
    place
        By dimension: indices of the tile with and without the unrolled ones, temporal iterations outside it.
    inside
        Unrolled indices inside each level, by dimension; ``level`` is the one of the innermost loop, at least.
    iterations
        Product of all temporal iterations outside.
    trailing
        Product of the loops of the trailing run that leave the data space in place, at most.
    """
    dims = coef.shape[2]
    if side[v, innermost, IDLE] == 0 and side[v, innermost, HALO] < 0:
        return full * iterations
    if side[v, innermost, IDLE] == 1:
        # Ranks that two open dimensions move may stand still by coincidence: count only sure moves.
        sure = iterations / trailing
        for d in range(dims):
            if side[v, d, HALO] >= 0 and place[d, OUTSIDE] > 1:
                for other in range(dims):
                    if other != d and side[v, other, HALO] == side[v, d, HALO] and place[other, OUTSIDE] > 1:
                        sure /= place[d, OUTSIDE]
                        break
        return full * sure
    rank = side[v, innermost, HALO]
    length = 1
    along = 1.0
    for d in range(dims):
        length += coef[v, rank, d] * (place[d, EXTENT] - 1)
        if side[v, d, HALO] == rank:
            along *= place[d, OUTSIDE]
    step = coef[v, rank, innermost] * place[innermost, TILE_SIZE] * inside[level, innermost]
    if step >= length:
        return full * iterations
    return float(iterations / along * (full + full / length * step * (along - 1.0)))


@nb.njit(cache=True)
def passable(slots: Ints, level: int) -> bool:
    """Whether a level may go without any loop."""
    for d in range(slots.shape[1]):
        if slots[level, d, FIXED] > 1 or (slots[level, d, FIXED] == 0 and slots[level, d, LEAST] > 1):
            return False
    return True


@nb.njit(cache=True)
def admits(slots: Ints, level: int, d: int, factor: int) -> bool:
    """Whether a level may have this factor of a dimension."""
    if slots[level, d, FIXED] != 0:
        return bool(factor == slots[level, d, FIXED])
    return bool(slots[level, d, LEAST] <= factor <= slots[level, d, MOST])


@nb.njit(cache=True)
def further(
    enter: Floats, ahead: Floats, slots: Ints, axis: Ints, level: int, point: int, innermost: int, state: int
) -> float:
    """Least energy [pJ] from the loops of a level inward, given its tile and what is outside it.

    ``innermost`` is the innermost loop outside with its ``state``; the number of dimensions where there is none.
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
        least_pj = min(least_pj, enter[level, dims + kind, state])
    if passable(slots, level):
        least_pj = min(least_pj, enter[level, innermost, state])
    return float(least_pj)


@nb.njit(cache=True)
def fill_bounds(case: Case, points: int) -> None:
    """Fill the bound tables of one unrolling, from the innermost level outward."""
    grid = case.grid
    tables = case.tables
    levels = case.keep.shape[0]
    dims = grid.axis.shape[0]
    kinds = grid.state.shape[0] - 1
    for point in range(points):
        fits = True
        for d in range(dims):
            if not admits(case.slots, 0, d, grid.divisor[d, digit(grid.axis, point, d), VALUE]):
                fits = False
        tables.ahead[0, 1 + point] = 0.0 if fits else np.inf
    for level in range(1, levels):
        _bound_boundary(case, points, level)
        for point in range(points):
            tables.ahead[level, 1 + point] = np.inf
        for k in range(kinds):
            for state in range(grid.state[k, dims]):
                tables.enter[level, dims + k, state] = np.inf
        for j in range(dims):
            if grid.axis[j, REST] > 1 and case.slots[level, j, FIXED] != 1:
                _close(case.slots, grid, points, tables, level, j, True)
                # Nothing is outside the outermost level, so no run goes on there.
                if grid.axis[j, KIND] >= 0 and level < levels - 1:
                    _close(case.slots, grid, points, tables, level, j, False)


@nb.njit(cache=True)
def _bound_boundary(case: Case, points: int, level: int) -> None:
    """Bound the boundary below ``level`` and all further in, for every state."""
    # Arrays are taken out of their tuples once: each time costs a count of references for every one of them.
    axis = case.grid.axis
    divisor = case.grid.divisor
    pair_of = case.grid.pair_of
    weight = case.grid.state
    enter = case.tables.enter
    ahead = case.tables.ahead
    slots = case.slots
    keep = case.keep
    coef = case.layer.coef
    inside = case.unrolled.inside
    edge = case.unrolled.edge
    side = case.unrolled.side
    rate = case.unrolled.rate
    dims = axis.shape[0]
    spaces = coef.shape[0]
    child = level - 1
    place = np.empty((dims, 3), np.int64)
    index = np.empty(dims, np.int64)
    start = np.empty(dims, np.int64)
    full = np.empty(spaces)
    outermost = level == keep.shape[0] - 1
    ahead[level, 0] = np.inf
    for j in range(dims):
        if axis[j, REST] > 1:
            for state in range(weight[axis[j, KIND], dims]):
                enter[level, j, state] = np.inf
    stay = child > 0 and passable(slots, child)
    for point in range(points):
        if ahead[child, 1 + point] == np.inf and not stay:
            continue
        iterations = 1.0
        for d in range(dims):
            index[d] = digit(axis, point, d)
            place[d, TILE_SIZE] = divisor[d, index[d], VALUE]
            place[d, OUTSIDE] = axis[d, REST] // place[d, TILE_SIZE]
            place[d, EXTENT] = place[d, TILE_SIZE] * inside[child, d]
            iterations *= place[d, OUTSIDE]
        needed = 0.0
        for v in range(spaces):
            words = 1.0
            if keep[child, v]:
                for r in range(coef.shape[1]):
                    length = 1
                    for d in range(dims):
                        length += coef[v, r, d] * (place[d, EXTENT] - 1)
                    words *= length
                needed += words
            full[v] = words
        if needed > case.spec[child, CAPACITY] or needed < case.spec[child, MIN_WORDS]:
            continue
        if iterations == 1.0:
            value = further(enter, ahead, slots, axis, child, point, dims, 0)
            for v in range(spaces):
                if keep[child, v] and edge[child, v, PARENT] >= 0.0:
                    value += crossing_pj(rate, child, v, full[v], full[v] * edge[child, v, SPREAD])
            ahead[level, 0] = value
            continue
        for j in range(dims):
            if place[j, OUTSIDE] == 1:
                continue
            kind = axis[j, KIND]
            # All starts of the run that the tile divides: an odometer over the dimensions of the kind. The outermost
            # level knows one start only. Kind -1 has no runs, and its weights are in the last row.
            state = 0
            for d in range(dims):
                start[d] = index[d]
                own = kind >= 0 and axis[d, KIND] == kind
                if own and outermost:
                    start[d] = axis[d, COUNT] - 1
                state += (pair_of[d, start[d], index[d]] if own else index[d]) * weight[kind, d]
            while True:
                value = further(enter, ahead, slots, axis, child, point, j, state)
                if value < np.inf:
                    for v in range(spaces):
                        if not keep[child, v] or edge[child, v, PARENT] < 0.0:
                            continue
                        trailing = 1.0
                        if side[v, j, IDLE] == 1:
                            for d in range(dims):
                                if side[v, d, IDLE] == 1 and axis[d, KIND] == kind:
                                    trailing *= divisor[d, start[d], VALUE] // place[d, TILE_SIZE]
                        words = relaxed_words(coef, side, v, full[v], place, inside, level, iterations, j, trailing)
                        share = edge[child, v, SPREAD_LINKED if side[v, j, LINKED] == 1 else SPREAD]
                        value += crossing_pj(rate, child, v, words, words * share)
                enter[level, j, state] = value
                if outermost:
                    break
                d = 0
                while d < dims:
                    if kind >= 0 and axis[d, KIND] == kind:
                        before = pair_of[d, start[d], index[d]]
                        start[d] += 1
                        while start[d] < axis[d, COUNT] and pair_of[d, start[d], index[d]] < 0:
                            start[d] += 1
                        if start[d] < axis[d, COUNT]:
                            state += (pair_of[d, start[d], index[d]] - before) * weight[kind, d]
                            break
                        start[d] = index[d]
                        state += (pair_of[d, index[d], index[d]] - before) * weight[kind, d]
                    d += 1
                if d == dims:
                    break


@nb.njit(cache=True)
def _whole_state(axis: Ints, pair_of: Ints, weight: Ints, point: int, kind: int) -> int:
    """State of a tile whose trailing run started with the whole."""
    state = 0
    for d in range(axis.shape[0]):
        now = digit(axis, point, d)
        if axis[d, KIND] == kind:
            now = pair_of[d, axis[d, COUNT] - 1, now]
        state += now * weight[kind, d]
    return state


@nb.njit(cache=True)
def _close(slots: Ints, grid: Grid, points: int, tables: Tables, level: int, j: int, fresh: bool) -> None:
    """Lower the bounds ahead of a level by all cuts of its tile whose innermost loop is over dimension ``j``.

    ``fresh``: the run starts at this level, all dimensions may be cut; else it goes on with the run outside, and only
    dimensions of its kind may be cut.
    """
    axis = grid.axis
    divisor = grid.divisor
    pairs = grid.pair
    weight = grid.state
    enter = tables.enter
    ahead = tables.ahead
    closure = enter[0, 0]
    slot = slots[level]
    dims = axis.shape[0]
    kind = axis[j, KIND]
    states = weight[kind, dims]
    for d in range(dims):
        if slot[d, FIXED] > 1 and (slot[d, RANK] < slot[j, RANK] or (not fresh and axis[d, KIND] != kind)):
            return
    # Where nothing but the outermost level is outside, a run that goes on started with the whole tile.
    top = ahead.shape[0] - 1
    whole = kind >= 0 and (level == top or (level == top - 1 and not fresh))
    for here in range(points if whole else states):
        state = _whole_state(axis, grid.pair_of, weight, here, kind) if whole else here
        best = enter[level, j, state]
        for d in range(dims):
            if axis[d, REST] == 1 or slot[d, FIXED] != 0 or slot[d, RANK] < slot[j, RANK]:
                continue
            radix = weight[kind, d]
            if kind >= 0 and axis[d, KIND] == kind:
                pair = (state // radix) % axis[d, PAIRS]
                for t in range(divisor[d, pairs[d, pair, NOW], PRIMES]):
                    best = min(best, closure[state - (pair - pairs[d, pair, PAIR_DOWN + t]) * radix])
            elif fresh:
                at = (state // radix) % axis[d, COUNT]
                for t in range(divisor[d, at, PRIMES]):
                    best = min(best, closure[state - (at - divisor[d, at, DOWN + t]) * radix])
        closure[state] = best
    last = points if fresh or whole else states
    first = points - 1 if level == top else 0
    for here in range(first, last):
        # The state after the fixed factors are taken off; then one prime of the innermost dimension where it is open.
        cut = 0
        valid = True
        digit_j = 0
        for d in range(dims):
            radix = weight[kind, d]
            own = kind >= 0 and axis[d, KIND] == kind
            if fresh:
                start = digit(axis, here, d)
                now = start
            elif whole:
                now = digit(axis, here, d)
                start = axis[d, COUNT] - 1 if own else now
            elif own:
                pair = (here // radix) % axis[d, PAIRS]
                start = pairs[d, pair, START]
                now = pairs[d, pair, NOW]
            else:
                start = (here // radix) % axis[d, COUNT]
                now = start
            if slot[d, FIXED] > 1:
                if divisor[d, now, VALUE] % slot[d, FIXED] != 0:
                    valid = False
                    break
                target = divisor[d, now, VALUE] // slot[d, FIXED]
                while divisor[d, now, VALUE] != target:
                    now -= 1
            place = grid.pair_of[d, start, now] if own else now
            if d == j:
                digit_j = place
            cut += place * radix
        if not valid:
            continue
        least_pj = np.inf
        radix = weight[kind, j]
        if slot[j, FIXED] > 1:
            least_pj = closure[cut]
        elif kind >= 0:
            for t in range(divisor[j, pairs[j, digit_j, NOW], PRIMES]):
                least_pj = min(least_pj, closure[cut - (digit_j - pairs[j, digit_j, PAIR_DOWN + t]) * radix])
        else:
            for t in range(divisor[j, digit_j, PRIMES]):
                least_pj = min(least_pj, closure[cut - (digit_j - divisor[j, digit_j, DOWN + t]) * radix])
        if fresh:
            ahead[level, 1 + here] = min(ahead[level, 1 + here], least_pj)
        else:
            state = _whole_state(axis, grid.pair_of, weight, here, kind) if whole else here
            enter[level, dims + kind, state] = min(enter[level, dims + kind, state], least_pj)
