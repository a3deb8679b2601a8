"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

A state is the tile, the innermost loop outside it, and where the run of loops that ends in it started: loops that leave
one data space in place while it is not read again. Without sliding windows the state says all that the boundary costs,
so the bound is exact. With them it takes windows to lose nothing but where a loop outside their rank moves, and mesh links
to succeed wherever they could. Minimising over the lattice is a closure along prime steps, one pass over the states in
ascending order.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import HardwareArrays, LayerArrays
from jouleloop.model.kernel import Bools, Ints
from jouleloop.search.arrays import Grid, Runs, SlotArrays, Tables, Unrolled
from jouleloop.search.costs import crossing_pj


@nb.njit(cache=True)
def relaxed_words(
    coef: Ints,
    halo: Ints,
    idle: Bools,
    full: float,
    extent: Ints,
    tile: Ints,
    inside: Ints,
    outside: Ints,
    iterations: float,
    innermost: int,
    trailing: float,
) -> float:
    """Words of one data space that enter a tile at least, given the innermost loop outside it.

    Parameters
    ----------
    halo
        By dimension: the rank it shares with another open dimension, or -1.
    idle
        By dimension: whether it leaves the data space in place.
    full
        Words of the tile.
    extent, tile
        Indices of the tile by dimension, with and without the unrolled ones.
    inside
        Unrolled indices inside the level that the innermost loop belongs to, at least.
    outside
        Temporal iterations outside the tile, by dimension; ``iterations`` is their product.
    trailing
        Product of the loops of the trailing run that leave the data space in place, at most.
    """
    dims = coef.shape[1]
    if not idle[innermost] and halo[innermost] < 0:
        return full * iterations
    if idle[innermost]:
        # Ranks that two open dimensions move may stand still by coincidence: count only sure moves.
        sure = iterations / trailing
        for d in range(dims):
            if halo[d] >= 0 and outside[d] > 1:
                for other in range(dims):
                    if other != d and halo[other] == halo[d] and outside[other] > 1:
                        sure /= outside[d]
                        break
        return full * sure
    rank = halo[innermost]
    side = 1
    along = 1.0
    for d in range(dims):
        side += coef[rank, d] * (extent[d] - 1)
        if halo[d] == rank:
            along *= outside[d]
    step = coef[rank, innermost] * tile[innermost] * inside[innermost]
    if step >= side:
        return full * iterations
    return iterations / along * (full + full / side * step * (along - 1.0))


@nb.njit(cache=True)
def passable(slots: SlotArrays, level: int) -> bool:
    """Whether a level may go without any loop."""
    for d in range(slots.fixed.shape[1]):
        if slots.fixed[level, d] > 1 or (slots.fixed[level, d] == 0 and slots.least[level, d] > 1):
            return False
    return True


@nb.njit(cache=True)
def further(tables: Tables, slots: SlotArrays, runs: Runs, level: int, point: int, innermost: int, state: int) -> float:
    """Least energy [pJ] from the loops of a level inward, given its tile and what is outside it.

    ``innermost`` is the innermost loop outside with its ``state``; the number of dimensions where there is none.
    """
    least_pj = tables.ahead[level, point]
    dims = slots.fixed.shape[1]
    if level == 0:
        return least_pj
    if innermost == dims:
        if passable(slots, level):
            least_pj = min(least_pj, tables.enter_whole[level])
        return least_pj
    kind = runs.kind[innermost]
    if kind >= 0:
        least_pj = min(least_pj, tables.along[level, kind, state])
    if passable(slots, level):
        least_pj = min(least_pj, tables.enter[level, innermost, state])
    return least_pj


@nb.njit(cache=True)
def fill_bounds(
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    slots: SlotArrays,
    runs: Runs,
    unrolled: Unrolled,
    grid: Grid,
    points: int,
    tables: Tables,
) -> None:
    """Fill the bound tables of one unrolling, from the innermost level outward."""
    levels = keep.shape[0]
    dims = grid.rest.shape[0]
    kinds = grid.states.shape[0] - 1
    for point in range(points):
        fits = True
        for d in range(dims):
            value = grid.divisor[d, (point // grid.radix[d]) % grid.count[d]]
            if slots.fixed[0, d] != 0:
                if value != slots.fixed[0, d]:
                    fits = False
            elif value < slots.least[0, d] or value > slots.most[0, d]:
                fits = False
        tables.ahead[0, point] = 0.0 if fits else np.inf
    for level in range(1, levels):
        _bound_boundary(layer, hardware, elided, keep, slots, runs, unrolled, grid, points, tables, level)
        for point in range(points):
            tables.ahead[level, point] = np.inf
        if level == levels - 1:
            # Nothing is outside the outermost level: its tile is whole, and every run starts there.
            for j in range(dims):
                if grid.rest[j] > 1 and slots.fixed[level, j] != 1:
                    _close(slots, runs, grid, points, tables, level, j, True)
            return
        for k in range(kinds):
            for state in range(grid.states[k]):
                tables.along[level, k, state] = np.inf
        for j in range(dims):
            if grid.rest[j] > 1 and slots.fixed[level, j] != 1:
                _close(slots, runs, grid, points, tables, level, j, True)
                if runs.kind[j] >= 0:
                    _close(slots, runs, grid, points, tables, level, j, False)


@nb.njit(cache=True)
def _bound_boundary(
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    slots: SlotArrays,
    runs: Runs,
    unrolled: Unrolled,
    grid: Grid,
    points: int,
    tables: Tables,
    level: int,
) -> None:
    """Bound the boundary below ``level`` and all further in, for every state."""
    dims = grid.rest.shape[0]
    spaces = layer.coef.shape[0]
    ranks = layer.coef.shape[1]
    child = level - 1
    capacity = hardware.capacity_words[child]
    tile = np.empty(dims, np.int64)
    index = np.empty(dims, np.int64)
    start = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    outside = np.empty(dims, np.int64)
    full = np.empty(spaces)
    outermost = level == keep.shape[0] - 1
    tables.enter_whole[level] = np.inf
    for j in range(dims):
        if grid.rest[j] > 1:
            kind = runs.kind[j]
            tables.enter[level, j, : grid.states[kind if kind >= 0 else grid.states.shape[0] - 1]] = np.inf
    for point in range(points):
        iterations = 1.0
        for d in range(dims):
            index[d] = (point // grid.radix[d]) % grid.count[d]
            tile[d] = grid.divisor[d, index[d]]
            outside[d] = grid.rest[d] // tile[d]
            iterations *= outside[d]
            extent[d] = tile[d] * unrolled.inside[child, d]
        needed = 0
        for v in range(spaces):
            words = 1
            if keep[child, v]:
                for r in range(ranks):
                    side = 1
                    for d in range(dims):
                        side += layer.coef[v, r, d] * (extent[d] - 1)
                    words *= side
                needed += words
            full[v] = words
        fits = (capacity < 0 or needed <= capacity) and needed >= hardware.min_words[child]
        if not fits:
            continue
        if iterations == 1.0:
            value = further(tables, slots, runs, child, point, dims, 0)
            for v in range(spaces):
                parent = unrolled.parent[child, v]
                if keep[child, v] and parent >= 0 and value < np.inf:
                    value += crossing_pj(
                        hardware.spec, unrolled.instances, unrolled.partition, v, layer.read_write[v], elided, child,
                        parent, full[v], full[v] * unrolled.spread[child, v],
                    )  # fmt: skip
            tables.enter_whole[level] = value
            continue
        for j in range(dims):
            if outside[j] == 1:
                continue
            kind = runs.kind[j]
            table = kind if kind >= 0 else grid.states.shape[0] - 1
            # All starts of the run that the tile divides: an odometer over the dimensions of the kind. The outermost
            # level knows one start only.
            state = 0
            for d in range(dims):
                start[d] = index[d]
                if outermost and runs.kind[d] == kind:
                    start[d] = grid.count[d] - 1
                if kind >= 0 and runs.kind[d] == kind:
                    state += grid.pair_of[d, start[d], index[d]] * grid.state_radix[table, d]
                else:
                    state += index[d] * grid.state_radix[table, d]
            while True:
                value = further(tables, slots, runs, child, point, j, state)
                if value < np.inf:
                    for v in range(spaces):
                        parent = unrolled.parent[child, v]
                        if not keep[child, v] or parent < 0:
                            continue
                        trailing = 1.0
                        if runs.idle[v, j]:
                            for d in range(dims):
                                if runs.idle[v, d] and runs.kind[d] == kind:
                                    trailing *= grid.divisor[d, start[d]] // tile[d]
                        words = relaxed_words(
                            layer.coef[v], unrolled.halo[v], runs.idle[v], full[v], extent, tile,
                            unrolled.inside[level], outside, iterations, j, trailing,
                        )  # fmt: skip
                        share = unrolled.spread[child, v]
                        if unrolled.link_rank[v, j] == 1:
                            share = unrolled.spread_linked[child, v]
                        value += crossing_pj(
                            hardware.spec, unrolled.instances, unrolled.partition, v, layer.read_write[v], elided,
                            child, parent, words, words * share,
                        )  # fmt: skip
                tables.enter[level, j, state] = value
                if outermost:
                    break
                d = 0
                while d < dims:
                    if kind >= 0 and runs.kind[d] == kind:
                        before = grid.pair_of[d, start[d], index[d]]
                        start[d] += 1
                        while start[d] < grid.count[d] and grid.pair_of[d, start[d], index[d]] < 0:
                            start[d] += 1
                        if start[d] < grid.count[d]:
                            state += (grid.pair_of[d, start[d], index[d]] - before) * grid.state_radix[table, d]
                            break
                        start[d] = index[d]
                        state += (grid.pair_of[d, index[d], index[d]] - before) * grid.state_radix[table, d]
                    d += 1
                if d == dims:
                    break


@nb.njit(cache=True)
def _close(
    slots: SlotArrays, runs: Runs, grid: Grid, points: int, tables: Tables, level: int, j: int, fresh: bool
) -> None:
    """Lower the bounds ahead of a level by all cuts of its tile whose innermost loop is over dimension ``j``.

    ``fresh``: the run starts at this level, all dimensions may be cut (``ahead``); else it goes on with the run outside,
    and only dimensions of its kind may be cut (``along``).
    """
    dims = grid.rest.shape[0]
    fixed = slots.fixed[level]
    rank = slots.rank[level]
    kind = runs.kind[j]
    table = kind if kind >= 0 else grid.states.shape[0] - 1
    for d in range(dims):
        if fixed[d] > 1 and (rank[d] < rank[j] or (not fresh and runs.kind[d] != kind)):
            return
    for state in range(grid.states[table]):
        best = tables.enter[level, j, state]
        for d in range(dims):
            if grid.rest[d] == 1 or fixed[d] != 0 or rank[d] < rank[j]:
                continue
            radix = grid.state_radix[table, d]
            if kind >= 0 and runs.kind[d] == kind:
                pair = (state // radix) % grid.pairs[d]
                for t in range(grid.primes[d, grid.pair_now[d, pair]]):
                    best = min(best, tables.closure[state - (pair - grid.pair_down[d, pair, t]) * radix])
            elif fresh:
                at = (state // radix) % grid.count[d]
                for t in range(grid.primes[d, at]):
                    best = min(best, tables.closure[state - (at - grid.down[d, at, t]) * radix])
        tables.closure[state] = best
    outer = points if fresh else grid.states[table]
    begin = points - 1 if level == tables.ahead.shape[0] - 1 else 0
    for here in range(begin, outer):
        # The state after the fixed factors are taken off; then one prime of the innermost dimension where it is open.
        cut = 0
        valid = True
        pair_j = 0
        for d in range(dims):
            radix = grid.state_radix[table, d]
            own = kind >= 0 and runs.kind[d] == kind
            if fresh:
                start = (here // grid.radix[d]) % grid.count[d]
                now = start
            elif own:
                pair = (here // radix) % grid.pairs[d]
                start = grid.pair_start[d, pair]
                now = grid.pair_now[d, pair]
            else:
                start = (here // radix) % grid.count[d]
                now = start
            if fixed[d] > 1:
                if grid.divisor[d, now] % fixed[d] != 0:
                    valid = False
                    break
                target = grid.divisor[d, now] // fixed[d]
                while grid.divisor[d, now] != target:
                    now -= 1
            if own:
                pair = grid.pair_of[d, start, now]
                if d == j:
                    pair_j = pair
                cut += pair * radix
            else:
                if d == j:
                    pair_j = now
                cut += now * radix
        if not valid:
            continue
        least_pj = np.inf
        if fixed[j] > 1:
            least_pj = tables.closure[cut]
        else:
            radix = grid.state_radix[table, j]
            if kind >= 0:
                for t in range(grid.primes[j, grid.pair_now[j, pair_j]]):
                    least_pj = min(least_pj, tables.closure[cut - (pair_j - grid.pair_down[j, pair_j, t]) * radix])
            else:
                for t in range(grid.primes[j, pair_j]):
                    least_pj = min(least_pj, tables.closure[cut - (pair_j - grid.down[j, pair_j, t]) * radix])
        if fresh:
            tables.ahead[level, here] = min(tables.ahead[level, here], least_pj)
        else:
            tables.along[level, kind, here] = min(tables.along[level, kind, here], least_pj)
