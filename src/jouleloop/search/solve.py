"""One search over all unrollings of a layer: bound each, descend into those that can still win, cheapest bound first."""

import numba as nb
import numpy as np

from jouleloop.model.collapse import RECORD
from jouleloop.model.kernel import MAX_GROUPS, MAX_LOOPS, Bools, Floats, Ints, box_words
from jouleloop.search.bounds import fill_bounds
from jouleloop.search.descend import (
    BEST,
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    BUDGET,
    CANONICAL,
    COUNTERS,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    PRODUCT,
    STOPPED,
    VISITED,
    beaten,
    descend,
)
from jouleloop.search.lattice import MAX_DIVISORS, MAX_PRIMES, divisor_tables
from jouleloop.search.prepare import open_ranks, prepare


@nb.njit(cache=True)
def solve(
    mode: int,
    coef: Ints,
    read_write: Bools,
    bounds: Ints,
    elided: bool,
    spec: Floats,
    fanout_xy: Ints,
    capacity: Ints,
    min_words: Floats,
    compute_pj: float,
    keep: Bools,
    fixed: Ints,
    most: Ints,
    least: Ints,
    rank: Ints,
    factors: Ints,
    variants: Ints,
    v_count: Ints,
    v_dim: Ints,
    v_bound: Ints,
    v_axis: Ints,
    best: Floats,
    counters: Ints,
    unrolling_bound: Floats,
    found_count: Ints,
    found_dim: Ints,
    found_bound: Ints,
    found_variant: Ints,
) -> float:
    """Minimise over all unrollings; return a lower bound on the energy [pJ] of every mapping.

    Parameters
    ----------
    mode
        Objective, see `jouleloop.search.descend`.
    keep
        What is stored where, shape (levels, data spaces).
    fixed, most, least, rank
        Temporal slots, shape (levels, dimensions), see `jouleloop.mapspace.space`.
    factors
        Spatial factors of every unrolling, shape (unrollings, levels, dimensions).
    variants
        First and last arrangement of every unrolling, shape (unrollings, 2), into ``v_*``.
    best, counters
        Incumbent and counters, updated.
    unrolling_bound
        Lower bound of every unrolling; computed where NaN on entry.
    found_*
        Out: temporal loops of the best nest by level, outermost first, and its arrangement; untouched if none was found.
    """
    unrollings = factors.shape[0]
    levels = keep.shape[0]
    spaces = coef.shape[0]
    dims = bounds.shape[0]
    halo = np.empty((spaces, dims), np.int64)
    open_ranks(coef, bounds, halo)
    tensor = np.empty(spaces, np.int64)
    macs = 1.0
    for d in range(dims):
        macs *= bounds[d]
    needed = 0
    for v in range(spaces):
        tensor[v] = box_words(coef[v], bounds)
        if keep[levels - 1, v]:
            needed += tensor[v]
    if capacity[levels - 1] >= 0 and needed > capacity[levels - 1]:
        return np.inf

    count = np.empty(dims, np.int64)
    radix = np.empty(dims, np.int64)
    divisor = np.empty((dims, MAX_DIVISORS), np.int64)
    prime_count = np.empty((dims, MAX_DIVISORS), np.int64)
    down = np.empty((dims, MAX_DIVISORS, MAX_PRIMES), np.int64)
    full_points = divisor_tables(bounds, count, divisor, radix, prime_count, down)
    enter = np.empty((levels, full_points, dims + 1))
    ahead = np.empty((levels, full_points))
    closure = np.empty(full_points)

    inside = np.empty((levels, dims), np.int64)
    instances = np.empty(levels, np.int64)
    parent = np.empty((levels, spaces), np.int64)
    spread = np.zeros((levels, spaces))
    spread_linked = np.zeros((levels, spaces))
    link_rank = np.empty((spaces, dims), np.int64)
    partition = np.empty((levels, spaces))
    reads = np.zeros((levels, levels))
    writes = np.zeros((levels, levels))
    rest = np.empty(dims, np.int64)
    steps_of = np.empty(unrollings)

    loop_dim = np.empty(levels * MAX_LOOPS, np.int64)
    loop_bound = np.empty(levels * MAX_LOOPS, np.int64)
    loop_step = np.empty(levels * MAX_LOOPS, np.int64)
    t_count = np.zeros(levels, np.int64)
    t_dim = np.zeros((levels, MAX_LOOPS), np.int64)
    t_bound = np.ones((levels, MAX_LOOPS), np.int64)
    tile = np.zeros((levels, spaces), np.int64)
    sibling = np.zeros((levels, spaces), np.int64)
    groups = np.zeros((levels, spaces, MAX_GROUPS, 3))
    group_count = np.zeros((levels, spaces), np.int64)
    links = np.zeros((levels, spaces))
    access = np.zeros((levels, spaces, RECORD), np.int64)
    energy_pj = np.zeros((levels, spaces))
    throttle = np.ones(levels)
    level_cycles = np.zeros(levels, np.int64)
    used_fanout = np.ones(levels, np.int64)
    used_instances = np.ones(levels, np.int64)
    variant_range = np.empty(2, np.int64)

    for u in range(unrollings):
        units = 1.0
        for level in range(levels):
            for d in range(dims):
                units *= factors[u, level, d]
        steps_of[u] = macs / units
    # Pass 0 bounds the unrollings not bounded yet, pass 1 descends in order.
    if mode == DELAY:
        sequence = np.argsort(steps_of, kind="mergesort")
    else:
        sequence = np.arange(unrollings)
    for turn in range(2):
        if turn == 1:
            if mode == PRODUCT:
                sequence = np.argsort(unrolling_bound * steps_of, kind="mergesort")
            elif mode == CANONICAL or mode == DELAY:
                sequence = np.argsort(steps_of, kind="mergesort")
            else:
                sequence = np.argsort(unrolling_bound, kind="mergesort")
        for position in range(unrollings):
            u = sequence[position]
            steps = steps_of[u]
            if turn == 0 and not np.isnan(unrolling_bound[u]):
                continue
            if turn == 1 and (unrolling_bound[u] == np.inf or beaten(mode, best, unrolling_bound[u], steps)):
                counters[CUT_BOUND] += 1
                continue
            if counters[STOPPED] != 0:
                continue
            fixed_pj = macs * compute_pj + prepare(
                coef, read_write, elided, spec, keep, factors[u], tensor, halo, steps, inside, instances, parent, spread,
                spread_linked, link_rank, partition, reads[levels - 1], writes[levels - 1],
            )  # fmt: skip
            if turn == 0 and beaten(mode, best, fixed_pj, steps):
                unrolling_bound[u] = fixed_pj
                continue
            for d in range(dims):
                product = 1
                for level in range(levels):
                    product *= factors[u, level, d]
                rest[d] = bounds[d] // product
            points = divisor_tables(rest, count, divisor, radix, prime_count, down)
            fill_bounds(
                coef, read_write, elided, spec, capacity, min_words, keep, parent, spread, spread_linked, link_rank,
                instances, partition, inside, halo, fixed, most, least, rank, rest, points, count, divisor, radix,
                prime_count, down, enter, ahead, closure,
            )  # fmt: skip
            top = points - 1
            least_pj = ahead[levels - 1, top]
            if levels > 1:
                passable = True
                for d in range(dims):
                    if fixed[levels - 1, d] > 1 or (fixed[levels - 1, d] == 0 and least[levels - 1, d] > 1):
                        passable = False
                if passable and enter[levels - 1, top, dims] < least_pj:
                    least_pj = enter[levels - 1, top, dims]
            if turn == 0:
                unrolling_bound[u] = fixed_pj + least_pj
                if least_pj == np.inf:
                    counters[CUT_CAPACITY] += 1
                continue
            variant_range[0] = variants[u, 0]
            variant_range[1] = variants[u, 0] + 1
            for v in range(spaces):
                for d in range(dims):
                    if link_rank[v, d] == 1:
                        variant_range[1] = variants[u, 1]
            for d in range(dims):
                if factors[u, 0, d] > 1:
                    variant_range[1] = variants[u, 1]
            descend(
                mode, levels - 1, top, 0, fixed_pj, coef, read_write, elided, spec, fanout_xy, compute_pj, keep, parent,
                spread, spread_linked, link_rank, instances, partition, inside, fixed, most, least, rank, steps, count,
                divisor, radix, enter, ahead, loop_dim, loop_bound, loop_step, reads, writes, t_count, t_dim, t_bound,
                variant_range, v_count, v_dim, v_bound, v_axis, tile, sibling, groups, group_count, links, access,
                energy_pj, throttle, level_cycles, used_fanout, used_instances, best, counters, found_count, found_dim,
                found_bound, found_variant,
            )  # fmt: skip
    least_of_all = np.inf
    for u in range(unrollings):
        least_of_all = min(least_of_all, unrolling_bound[u])
    return least_of_all


def new_best(limit_pj: float = np.inf, limit_product: float = np.inf) -> Floats:
    """Return an incumbent that anything improves on, under limits on energy [pJ] and energy-delay product."""
    best = np.empty(BEST)
    best[BEST_PJ] = np.inf
    best[BEST_CYCLES] = np.inf
    best[BEST_PRODUCT] = np.inf
    best[LIMIT_PJ] = limit_pj
    best[LIMIT_PRODUCT] = limit_product
    return best


def new_counters(budget: int | None) -> Ints:
    """Return counters at zero that allow ``budget`` evaluations."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[BUDGET] = np.iinfo(np.int64).max if budget is None else budget
    return counters


__all__ = ["CUT_BOUND", "CUT_CAPACITY", "STOPPED", "VISITED", "new_best", "new_counters", "solve"]
