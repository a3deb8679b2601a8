"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

The bound relaxes three things: every data space that the innermost loop does not move is taken to stay through all loops
that do not move it; sliding windows lose nothing but where a loop outside their rank moves; mesh links are taken to
succeed wherever they could. The tile and the innermost loop are kept exact, so the data spaces cannot all stay at once.
Minimising over the lattice is a closure along prime steps, one pass over the points in ascending order.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import HardwareArrays, LayerArrays
from jouleloop.model.kernel import Bools, Ints
from jouleloop.search.arrays import Grid, SlotArrays, Tables, Unrolled
from jouleloop.search.costs import crossing_pj


@nb.njit(cache=True)
def relaxed_words(
    coef: Ints,
    halo: Ints,
    extent: Ints,
    tile: Ints,
    inside: Ints,
    outside: Ints,
    iterations: float,
    innermost: int,
) -> float:
    """Words of one data space that enter a tile at least, whatever the loops outside it, given the innermost of them.

    Parameters
    ----------
    halo
        By dimension: the rank it shares with another open dimension, or -1.
    extent, tile
        Indices of the tile by dimension, with and without the unrolled ones.
    inside
        Unrolled indices inside the level that the innermost loop belongs to, at least.
    outside
        Temporal iterations outside the tile, by dimension; ``iterations`` is their product.
    innermost
        Dimension of the innermost loop, or -1 where there is no loop.
    """
    ranks = coef.shape[0]
    dims = coef.shape[1]
    full = 1.0
    for r in range(ranks):
        side = 1
        for d in range(dims):
            side += coef[r, d] * (extent[d] - 1)
        full *= side
    if innermost < 0:
        return full
    relevant = False
    for r in range(ranks):
        if coef[r, innermost] != 0:
            relevant = True
    if relevant and halo[innermost] < 0:
        return full * iterations
    # Ranks that two open dimensions move may repeat a move, or stand still, by coincidence: count only sure moves.
    if not relevant:
        sure = 1.0
        for d in range(dims):
            if outside[d] == 1:
                continue
            moves = False
            for r in range(ranks):
                if coef[r, d] != 0:
                    moves = True
            if not moves:
                continue
            doubly = False
            if halo[d] >= 0:
                for other in range(dims):
                    if other != d and halo[other] == halo[d] and outside[other] > 1:
                        doubly = True
            if not doubly:
                sure *= outside[d]
        return full * sure
    rank = halo[innermost]
    side = 1
    for d in range(dims):
        side += coef[rank, d] * (extent[d] - 1)
    step = coef[rank, innermost] * tile[innermost] * inside[innermost]
    if step >= side:
        return full * iterations
    part = full / side * step
    along = 1.0
    for d in range(dims):
        if halo[d] == rank:
            along *= outside[d]
    return iterations / along * (full + part * (along - 1.0))


@nb.njit(cache=True)
def passable(slots: SlotArrays, level: int) -> bool:
    """Whether a level may go without any loop."""
    for d in range(slots.fixed.shape[1]):
        if slots.fixed[level, d] > 1 or (slots.fixed[level, d] == 0 and slots.least[level, d] > 1):
            return False
    return True


@nb.njit(cache=True)
def further(tables: Tables, slots: SlotArrays, level: int, point: int, innermost: int) -> float:
    """Least energy [pJ] from the loops of a level inward, given its tile and the innermost loop outside it."""
    least_pj = tables.ahead[level, point]
    if level > 0 and passable(slots, level) and tables.enter[level, point, innermost] < least_pj:
        least_pj = tables.enter[level, point, innermost]
    return least_pj


@nb.njit(cache=True)
def fill_bounds(
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    slots: SlotArrays,
    unrolled: Unrolled,
    grid: Grid,
    points: int,
    tables: Tables,
) -> None:
    """Fill the bound tables of one unrolling, from the innermost level outward."""
    levels = keep.shape[0]
    dims = grid.rest.shape[0]
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
        _bound_boundary(layer, hardware, elided, keep, slots, unrolled, grid, points, tables, level)
        for point in range(points):
            tables.ahead[level, point] = np.inf
        for j in range(dims):
            _close(slots, grid, points, tables, level, j)


@nb.njit(cache=True)
def _bound_boundary(
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    slots: SlotArrays,
    unrolled: Unrolled,
    grid: Grid,
    points: int,
    tables: Tables,
    level: int,
) -> None:
    """Bound the boundary below ``level`` and all further in, for every tile there and every innermost loop outside."""
    dims = grid.rest.shape[0]
    spaces = layer.coef.shape[0]
    ranks = layer.coef.shape[1]
    child = level - 1
    capacity = hardware.capacity_words[child]
    tile = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    outside = np.empty(dims, np.int64)
    for point in range(points):
        iterations = 1.0
        for d in range(dims):
            tile[d] = grid.divisor[d, (point // grid.radix[d]) % grid.count[d]]
            outside[d] = grid.rest[d] // tile[d]
            iterations *= outside[d]
            extent[d] = tile[d] * unrolled.inside[child, d]
        needed = 0
        for v in range(spaces):
            if keep[child, v]:
                words = 1
                for r in range(ranks):
                    side = 1
                    for d in range(dims):
                        side += layer.coef[v, r, d] * (extent[d] - 1)
                    words *= side
                needed += words
        fits = (capacity < 0 or needed <= capacity) and needed >= hardware.min_words[child]
        for j in range(dims + 1):
            tables.enter[level, point, j] = np.inf
            innermost = j if j < dims else -1
            if not fits or (iterations == 1.0) != (innermost < 0):
                continue
            if innermost >= 0 and outside[innermost] == 1:
                continue
            value = further(tables, slots, child, point, j)
            if value < np.inf:
                for v in range(spaces):
                    parent = unrolled.parent[child, v]
                    if not keep[child, v] or parent < 0:
                        continue
                    words = relaxed_words(
                        layer.coef[v],
                        unrolled.halo[v],
                        extent,
                        tile,
                        unrolled.inside[level],
                        outside,
                        iterations,
                        innermost,
                    )
                    share = unrolled.spread[child, v]
                    if innermost >= 0 and unrolled.link_rank[v, innermost] == 1:
                        share = unrolled.spread_linked[child, v]
                    value += crossing_pj(
                        hardware.spec,
                        unrolled.instances,
                        unrolled.partition,
                        v,
                        layer.read_write[v],
                        elided,
                        child,
                        parent,
                        words,
                        words * share,
                    )
            tables.enter[level, point, j] = value


@nb.njit(cache=True)
def _close(slots: SlotArrays, grid: Grid, points: int, tables: Tables, level: int, j: int) -> None:
    """Lower ``tables.ahead[level]`` by all cuts of the tile whose innermost loop is over dimension ``j``."""
    dims = grid.rest.shape[0]
    fixed = slots.fixed[level]
    rank = slots.rank[level]
    if fixed[j] == 1:
        return
    for d in range(dims):
        if rank[d] < rank[j] and fixed[d] > 1:
            return
    # Least over all tiles inside, dimensions ordered inside j excepted; smaller tiles have smaller indices.
    for point in range(points):
        best = tables.enter[level, point, j]
        for d in range(dims):
            if fixed[d] != 0 or rank[d] < rank[j]:
                continue
            at = (point // grid.radix[d]) % grid.count[d]
            for t in range(grid.prime_count[d, at]):
                lower = tables.closure[point - (at - grid.down[d, at, t]) * grid.radix[d]]
                if lower < best:
                    best = lower
        tables.closure[point] = best
    for point in range(points):
        # Take the fixed factors off, then one prime of the innermost dimension where it is open.
        cut = point
        valid = True
        for d in range(dims):
            if fixed[d] > 1:
                at = (point // grid.radix[d]) % grid.count[d]
                if grid.divisor[d, at] % fixed[d] != 0:
                    valid = False
                    break
                lower_at = at
                while grid.divisor[d, lower_at] * fixed[d] != grid.divisor[d, at]:
                    lower_at -= 1
                cut -= (at - lower_at) * grid.radix[d]
        if not valid:
            continue
        least_pj = tables.ahead[level, point]
        if fixed[j] > 1:
            least_pj = min(least_pj, tables.closure[cut])
        else:
            at = (cut // grid.radix[j]) % grid.count[j]
            for t in range(grid.prime_count[j, at]):
                least_pj = min(least_pj, tables.closure[cut - (at - grid.down[j, at, t]) * grid.radix[j]])
        tables.ahead[level, point] = least_pj
