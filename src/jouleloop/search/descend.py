"""The descent: from DRAM inward, level by level, every cut of the tile and loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.search.bounds`. A complete nest is
evaluated by the model itself, in every admissible arrangement of its spatial loops where that can matter.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import BOUND, DIM, SPATIAL, TEMPORAL, Floats, Ints, WorkArrays
from jouleloop.model.evaluate import evaluate_nest
from jouleloop.search.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    BUDGET,
    CANONICAL,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    ENERGY,
    KIND,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    LOOPS,
    NODES,
    POINT,
    PRODUCT,
    RANK,
    SLACK,
    STOPPED,
    VALUE,
    VISITED,
    Arrangements,
    Case,
    Found,
    Path,
)
from jouleloop.search.bounds import further
from jouleloop.search.closure import whole_state
from jouleloop.search.lattice import digit
from jouleloop.search.order import (
    CHILD_BOUND,
    CHILD_CERTAIN,
    CHILD_ORDER,
    CHILD_POINT,
    grow_floats,
    grow_ints,
    order_after,
    sort_by_rank,
    sort_children,
)
from jouleloop.search.path import cross, floor_pj_of, least_cycles, next_cut, place_loops, state_of


@nb.njit(cache=True)
def beaten(mode: int, best: Floats, energy_pj: float, cycles: float) -> bool:
    """Whether a nest of at least this energy and these cycles can no longer improve on the incumbent."""
    if mode == ENERGY:
        return bool(energy_pj >= best[BEST_PJ] * (1.0 - SLACK))
    if mode == DELAY:
        if energy_pj > best[LIMIT_PJ] or cycles > best[BEST_CYCLES]:
            return True
        return bool(cycles == best[BEST_CYCLES] and energy_pj >= best[BEST_PJ] * (1.0 - SLACK))
    if mode == PRODUCT:
        return bool(energy_pj * cycles >= best[BEST_PRODUCT] * (1.0 - SLACK))
    if energy_pj > best[LIMIT_PJ] or energy_pj * cycles > best[LIMIT_PRODUCT]:
        return True
    return bool(cycles >= best[BEST_CYCLES])


@nb.njit(cache=True)
def _evaluate_leaf(
    mode: int,
    elided: bool,
    compute_pj: float,
    case: Case,
    path: Path,
    first: int,
    last: int,
    arrangements: Arrangements,
    work: WorkArrays,
    best: Floats,
    counters: Ints,
    found: Found,
) -> None:
    """Place the loops of the innermost level in their canonical order and let the model evaluate the nest."""
    axis = case.grid.axis
    divisor = case.grid.divisor
    dims = axis.shape[0]
    nest = path.nest
    moving = np.empty(dims, np.int64)
    n = 0
    for d in range(dims):
        if digit(axis, path.node[0, POINT], d) > 0:
            moving[n] = d
            n += 1
    sort_by_rank(case.slots, 0, moving, n)
    nest.counts[0, TEMPORAL] = n
    for a in range(n):
        d = moving[a]
        nest.loops[0, TEMPORAL, n - 1 - a, DIM] = d
        nest.loops[0, TEMPORAL, n - 1 - a, BOUND] = divisor[d, digit(axis, path.node[0, POINT], d), VALUE]
    for arrangement in range(first, last):
        counters[VISITED] += 1
        for level in range(nest.counts.shape[0]):
            spatials = arrangements.counts[arrangement, level]
            nest.counts[level, SPATIAL] = spatials
            for s in range(spatials):
                for place in range(3):
                    nest.loops[level, SPATIAL, s, place] = arrangements.loops[arrangement, level, s, place]
        total_pj, cycles, _, _ = evaluate_nest(case.layer, case.spec, compute_pj, elided, nest, work)
        if beaten(mode, best, total_pj, float(cycles)):
            continue
        best[BEST_PJ] = total_pj
        best[BEST_CYCLES] = cycles
        best[BEST_PRODUCT] = total_pj * cycles
        found.arrangement[0] = arrangement
        found.counts[:] = nest.counts
        found.loops[:] = nest.loops


@nb.njit(cache=True)
def descend(
    mode: int,
    elided: bool,
    compute_pj: float,
    case: Case,
    path: Path,
    steps: float,
    first: int,
    last: int,
    arrangements: Arrangements,
    work: WorkArrays,
    best: Floats,
    counters: Ints,
    found: Found,
) -> None:
    """Search one unrolling. ``path`` stands at the outermost level; ``first`` to ``last`` are its arrangements.

    Children of a node wait on a stack, the cheapest bound first; in canonical mode in canonical order.
    """
    axis = case.grid.axis
    divisor = case.grid.divisor
    enter = case.tables.enter
    ahead = case.tables.ahead
    slots = case.slots
    dims = axis.shape[0]
    top = case.keep.shape[0] - 1
    child = np.empty((1024, 2), np.int64)
    value = np.empty((1024, 2))
    begin = np.zeros(top + 2, np.int64)
    end = np.zeros(top + 2, np.int64)
    index = np.empty(dims, np.int64)
    target = np.empty(dims, np.int64)
    moving = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    level = top
    expand = True
    while level <= top:
        if expand:
            counters[NODES] += 1
            if counters[VISITED] >= counters[BUDGET]:
                counters[STOPPED] = 1
            if counters[STOPPED] != 0:
                return
            if level == 0:
                _evaluate_leaf(
                    mode, elided, compute_pj, case, path, first, last, arrangements, work, best, counters, found
                )
                level = 1
                expand = False
                continue
            for d in range(dims):
                index[d] = digit(axis, path.node[level, POINT], d)
                target[d] = 0
            begin[level] = end[level + 1] if level < top else 0
            size = begin[level]
            # `target` runs over all tiles inside the present one, the first dimension fastest.
            done = False
            while not done:
                point, n = next_cut(axis, divisor, slots, level, index, target, moving)
                if point >= 0:
                    # The least over all innermost loops ends most tiles.
                    floor_pj = floor_pj_of(case, path, level, index, target, moving, n)
                    if floor_pj == np.inf:
                        counters[CUT_CAPACITY] += 1
                    elif beaten(mode, best, path.certain_pj[level] + floor_pj, steps):
                        counters[CUT_BOUND] += 1
                    else:
                        sort_by_rank(slots, level, moving, n)
                        start = 0
                        stop = 0
                        for a in range(n):
                            b = a
                            while b < n and slots[level, moving[b], RANK] == slots[level, moving[a], RANK]:
                                b += 1
                            if b - a > stop - start:
                                start = a
                                stop = b
                        for d in range(dims):
                            extent[d] = divisor[d, target[d], VALUE] * case.unrolled.inside[level - 1, d]
                        more = True
                        while more:
                            innermost = place_loops(case, path, level, point, moving, n)
                            total = path.node[level, LOOPS] + n
                            certain_pj = path.certain_pj[level] + cross(
                                case, path, elided, level, innermost, total, extent
                            )
                            cycles = least_cycles(case.spec, path.traffic[level - 1], steps)
                            state = state_of(case, path, point, total)
                            run_state = state
                            if level == top and innermost < dims and axis[innermost, KIND] >= 0:
                                run_state = whole_state(
                                    axis, case.grid.pair_of, case.grid.state, target, axis[innermost, KIND]
                                )
                            bound_pj = certain_pj + further(
                                enter, ahead, slots, axis, level - 1, point, innermost, state, run_state
                            )
                            if beaten(mode, best, bound_pj, cycles):
                                counters[CUT_BOUND] += 1
                            else:
                                if size == child.shape[0]:
                                    child = grow_ints(child)
                                    value = grow_floats(value)
                                code = 0
                                for a in range(n - 1, -1, -1):
                                    code = code * 16 + moving[a] + 1
                                child[size, CHILD_POINT] = point
                                child[size, CHILD_ORDER] = code
                                value[size, CHILD_BOUND] = bound_pj
                                value[size, CHILD_CERTAIN] = certain_pj
                                size += 1
                            more = stop - start > 1 and order_after(moving, start, stop)
                done = True
                for d in range(dims):
                    target[d] += 1
                    if target[d] <= index[d]:
                        done = False
                        break
                    target[d] = 0
            end[level] = size
            if mode != CANONICAL:
                sort_children(child, value, begin[level], size)
            expand = False
        if begin[level] == end[level]:
            level += 1
            continue
        c = begin[level]
        begin[level] += 1
        if beaten(mode, best, value[c, CHILD_BOUND], steps):
            counters[CUT_BOUND] += 1
            continue
        code = child[c, CHILD_ORDER]
        n = 0
        while code > 0:
            moving[n] = code % 16 - 1
            code //= 16
            n += 1
        point = child[c, CHILD_POINT]
        for d in range(dims):
            extent[d] = divisor[d, digit(axis, point, d), VALUE] * case.unrolled.inside[level - 1, d]
        innermost = place_loops(case, path, level, point, moving, n)
        total = path.node[level, LOOPS] + n
        cross(case, path, elided, level, innermost, total, extent)
        level -= 1
        path.node[level, LOOPS] = total
        path.node[level, POINT] = point
        path.certain_pj[level] = value[c, CHILD_CERTAIN]
        expand = True
