"""Lower bounds for every tile of the lattice: the least energy that all boundaries further in can cost.

The bound relaxes three things: every data space that the innermost loop does not move is taken to stay through all loops
that do not move it; sliding windows lose nothing but where a loop outside their rank moves; mesh links are taken to
succeed wherever they could. The tile and the innermost loop are kept exact, so the data spaces cannot all stay at once.
Minimising over the lattice is a closure along prime steps, one pass over the points in ascending order.
"""

import numba as nb
import numpy as np

from jouleloop.model.kernel import Bools, Floats, Ints
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
def fill_bounds(
    coef: Ints,
    read_write: Bools,
    elided: bool,
    spec: Floats,
    capacity: Ints,
    min_words: Floats,
    keep: Bools,
    parent: Ints,
    spread: Floats,
    spread_linked: Floats,
    link_rank: Ints,
    instances: Ints,
    partition: Floats,
    inside: Ints,
    halo: Ints,
    fixed: Ints,
    most: Ints,
    least: Ints,
    rank: Ints,
    rest: Ints,
    points: int,
    count: Ints,
    divisor: Ints,
    radix: Ints,
    prime_count: Ints,
    down: Ints,
    enter: Floats,
    ahead: Floats,
    closure: Floats,
) -> None:
    """Fill the bound tables of one unrolling.

    Parameters
    ----------
    parent
        Next kept level outside, shape (levels, data spaces).
    spread, spread_linked
        Words asked of the parent per word into the child, without and at best with mesh links.
    link_rank
        By data space and dimension: 1 where loops of the dimension can cause links.
    inside
        Unrolled indices inside each level, its own fan-out included, shape (levels, dimensions).
    rest
        What temporal loops must cover, by dimension.
    enter
        Out, shape (levels, points, dimensions + 1): least energy from the boundary below a level inward, given the tile
        there and the innermost loop outside (last column: no loop). Infinite where nothing fits.
    ahead
        Out, shape (levels, points): the same, with the tile still to be cut by at least one loop of this level.
    closure
        Work array, shape (points,).
    """
    levels = keep.shape[0]
    dims = rest.shape[0]
    spaces = coef.shape[0]
    tile = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    outside = np.empty(dims, np.int64)
    index = np.empty(dims, np.int64)
    # Innermost level: what is left must be covered by its own loops.
    for point in range(points):
        fits = True
        for d in range(dims):
            value = divisor[d, (point // radix[d]) % count[d]]
            if fixed[0, d] != 0:
                if value != fixed[0, d]:
                    fits = False
            elif value < least[0, d] or value > most[0, d]:
                fits = False
        ahead[0, point] = 0.0 if fits else np.inf
    for level in range(1, levels):
        child = level - 1
        # Cost of the boundary below `level` for every tile and innermost loop.
        any_kept = False
        for v in range(spaces):
            if keep[child, v]:
                any_kept = True
        for point in range(points):
            iterations = 1.0
            for d in range(dims):
                index[d] = (point // radix[d]) % count[d]
                tile[d] = divisor[d, index[d]]
                outside[d] = rest[d] // tile[d]
                iterations *= outside[d]
                # The tile of the child holds its own fan-out; what enters it spans no more.
                extent[d] = tile[d] * inside[child, d]
            needed = 0
            if any_kept:
                for v in range(spaces):
                    if keep[child, v]:
                        words = 1
                        for r in range(coef.shape[1]):
                            side = 1
                            for d in range(dims):
                                side += coef[v, r, d] * (extent[d] - 1)
                            words *= side
                        needed += words
            fits = (capacity[child] < 0 or needed <= capacity[child]) and needed >= min_words[child]
            for j in range(dims + 1):
                value = np.inf
                innermost = j if j < dims else -1
                possible = fits and (iterations == 1.0) == (innermost < 0)
                if innermost >= 0 and outside[innermost] == 1:
                    possible = False
                if possible:
                    # Without a loop of its own the child level hands the same innermost loop on.
                    follow = ahead[child, point]
                    if child > 0:
                        stay = enter[child, point, j]
                        passable = True
                        for d in range(dims):
                            if fixed[child, d] > 1 or (fixed[child, d] == 0 and least[child, d] > 1):
                                passable = False
                        if passable and stay < follow:
                            follow = stay
                    value = follow
                    if any_kept and value < np.inf:
                        for v in range(spaces):
                            if not keep[child, v] or parent[child, v] < 0:
                                continue
                            words = relaxed_words(
                                coef[v], halo[v], extent, tile, inside[level], outside, iterations, innermost
                            )
                            factor = spread[child, v]
                            if innermost >= 0 and link_rank[v, innermost] == 1:
                                factor = spread_linked[child, v]
                            value += crossing_pj(
                                spec,
                                instances,
                                partition,
                                v,
                                read_write[v],
                                elided,
                                child,
                                parent[child, v],
                                words,
                                words * factor,
                            )
                enter[level, point, j] = value
        # Least over at least one loop of this level, by which loop is innermost.
        for point in range(points):
            ahead[level, point] = np.inf
        for j in range(dims):
            forced = fixed[level, j]
            if forced == 1:
                continue
            blocked = False
            for d in range(dims):
                if rank[level, d] < rank[level, j] and fixed[level, d] > 1:
                    blocked = True
            if blocked:
                continue
            for point in range(points):
                best = enter[level, point, j]
                for d in range(dims):
                    if fixed[level, d] != 0 or rank[level, d] < rank[level, j]:
                        continue
                    at = (point // radix[d]) % count[d]
                    for t in range(prime_count[d, at]):
                        lower = closure[point - (at - down[d, at, t]) * radix[d]]
                        if lower < best:
                            best = lower
                closure[point] = best
            for point in range(points):
                # Take the fixed factors off, then one prime of the innermost dimension where it is open.
                cut = point
                valid = True
                for d in range(dims):
                    if fixed[level, d] > 1:
                        at = (point // radix[d]) % count[d]
                        value_now = divisor[d, at]
                        if value_now % fixed[level, d] != 0:
                            valid = False
                            break
                        target = value_now // fixed[level, d]
                        lower_at = at
                        while divisor[d, lower_at] != target:
                            lower_at -= 1
                        cut -= (at - lower_at) * radix[d]
                if not valid:
                    continue
                if forced > 1:
                    if closure[cut] < ahead[level, point]:
                        ahead[level, point] = closure[cut]
                else:
                    at = (cut // radix[j]) % count[j]
                    for t in range(prime_count[j, at]):
                        lower = closure[cut - (at - down[j, at, t]) * radix[j]]
                        if lower < ahead[level, point]:
                            ahead[level, point] = lower
