"""One search over all unrollings of a layer: bound each, descend into those that can still win, cheapest bound first."""

import numba as nb
import numpy as np

from jouleloop.model.arrays import RECORD, HardwareArrays, LayerArrays, WorkArrays
from jouleloop.model.kernel import MAX_GROUPS, MAX_LOOPS, Bools, Floats, Ints, box_words
from jouleloop.search.arrays import (
    CANONICAL,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    PRODUCT,
    STOPPED,
    Arrangements,
    Found,
    Runs,
    SlotArrays,
    Tables,
    Unrolled,
)
from jouleloop.search.bounds import fill_bounds, further
from jouleloop.search.descend import Case, Path, beaten, descend
from jouleloop.search.lattice import fill_grid, find_runs, new_grid
from jouleloop.search.prepare import open_ranks, prepare


@nb.njit(cache=True)
def _sequence(mode: int, bound_pj: Floats, steps: Floats) -> Ints:
    """Return the order in which unrollings are searched."""
    if mode == PRODUCT:
        return np.argsort(bound_pj * steps, kind="mergesort")
    if mode in (CANONICAL, DELAY):
        return np.argsort(steps, kind="mergesort")
    return np.argsort(bound_pj, kind="mergesort")


@nb.njit(cache=True)
def solve(
    mode: int,
    layer: LayerArrays,
    hardware: HardwareArrays,
    elided: bool,
    keep: Bools,
    slots: SlotArrays,
    factors: Ints,
    ranges: Ints,
    arrangements: Arrangements,
    best: Floats,
    counters: Ints,
    bound_pj: Floats,
    found: Found,
) -> float:
    """Minimise over all unrollings; return a lower bound on the energy [pJ] of every mapping.

    Parameters
    ----------
    mode
        Objective, see `jouleloop.search.arrays`.
    keep
        What is stored where, shape (levels, data spaces).
    factors
        Spatial factors of every unrolling, shape (unrollings, levels, dimensions).
    ranges
        First and last arrangement of every unrolling, shape (unrollings, 2).
    best, counters, found
        Incumbent, counters and best nest, updated; ``found`` is untouched where nothing improves.
    bound_pj
        Lower bound of every unrolling; computed where NaN on entry.
    """
    unrollings = factors.shape[0]
    levels = keep.shape[0]
    spaces = layer.coef.shape[0]
    dims = layer.bounds.shape[0]
    top = levels - 1
    macs = 1.0
    for d in range(dims):
        macs *= layer.bounds[d]
    needed = 0
    for v in range(spaces):
        if keep[top, v]:
            needed += box_words(layer.coef[v], layer.bounds)
    if hardware.capacity_words[top] >= 0 and needed > hardware.capacity_words[top]:
        return np.inf
    steps = np.empty(unrollings)
    for u in range(unrollings):
        units = 1.0
        for level in range(levels):
            for d in range(dims):
                units *= factors[u, level, d]
        steps[u] = macs / units

    runs = Runs(np.empty(dims, np.int64), np.empty((spaces, dims), np.bool_))
    kinds = find_runs(layer.coef, runs)
    grid = new_grid(layer.bounds, kinds)
    points = fill_grid(grid, runs.kind)
    states = grid.states.max()
    tables = Tables(
        np.empty((levels, dims, states)),
        np.empty(levels),
        np.empty((levels, points)),
        np.empty((levels, max(kinds, 1), states)),
        np.empty(states),
    )
    unrolled = Unrolled(
        np.empty((levels, dims), np.int64),
        np.empty(levels, np.int64),
        np.empty((levels, spaces), np.int64),
        np.zeros((levels, spaces)),
        np.zeros((levels, spaces)),
        np.empty((spaces, dims), np.int64),
        np.empty((levels, spaces)),
        np.empty((spaces, dims), np.int64),
    )
    open_ranks(layer.coef, layer.bounds, unrolled.halo)
    path = Path(
        np.empty(levels * MAX_LOOPS, np.int64),
        np.empty(levels * MAX_LOOPS, np.int64),
        np.empty(levels * MAX_LOOPS, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels),
        np.zeros((levels, levels)),
        np.zeros((levels, levels)),
        np.zeros(levels, np.int64),
        np.zeros((levels, MAX_LOOPS), np.int64),
        np.ones((levels, MAX_LOOPS), np.int64),
    )
    work = WorkArrays(
        np.zeros((levels, spaces), np.int64),
        np.zeros((levels, spaces), np.int64),
        np.zeros((levels, spaces, MAX_GROUPS, 3)),
        np.zeros((levels, spaces), np.int64),
        np.zeros((levels, spaces)),
        np.zeros((levels, spaces, RECORD), np.int64),
        np.zeros((levels, spaces)),
        np.ones(levels),
        np.zeros(levels, np.int64),
        np.ones(levels, np.int64),
        np.ones(levels, np.int64),
        np.ones((levels, 2), np.int64),
    )
    case = Case(layer, hardware, keep, slots, runs, unrolled, grid, tables)

    # Turn 0 bounds the unrollings not bounded yet, turn 1 descends.
    for turn in range(2):
        sequence = _sequence(mode, bound_pj, steps)
        for position in range(unrollings):
            u = sequence[position]
            if counters[STOPPED] != 0 or (turn == 0 and not np.isnan(bound_pj[u])):
                continue
            if turn == 1 and (bound_pj[u] == np.inf or beaten(mode, best, bound_pj[u], steps[u])):
                counters[CUT_BOUND] += 1
                continue
            path.prefix_pj[top] = macs * hardware.compute_pj + prepare(
                layer, hardware, elided, keep, factors[u], steps[u], unrolled, path.reads[top], path.writes[top]
            )
            for d in range(dims):
                product = 1
                for level in range(levels):
                    product *= factors[u, level, d]
                grid.rest[d] = layer.bounds[d] // product
            points = fill_grid(grid, runs.kind)
            fill_bounds(layer, hardware, elided, keep, slots, runs, unrolled, grid, points, tables)
            if turn == 0:
                least_pj = further(tables, slots, runs, top, points - 1, dims, 0)
                bound_pj[u] = path.prefix_pj[top] + least_pj
                if least_pj == np.inf:
                    counters[CUT_CAPACITY] += 1
                continue
            path.loops[top] = 0
            path.point[top] = points - 1
            last = ranges[u, 0] + 1
            for d in range(dims):
                if factors[u, 0, d] > 1:
                    last = ranges[u, 1]
                for v in range(spaces):
                    if unrolled.link_rank[v, d] == 1:
                        last = ranges[u, 1]
            descend(mode, elided, case, path, steps[u], ranges[u, 0], last, arrangements, work, best, counters, found)
    least_of_all = np.inf
    for u in range(unrollings):
        if not np.isnan(bound_pj[u]):
            least_of_all = min(least_of_all, bound_pj[u])
    return least_of_all
