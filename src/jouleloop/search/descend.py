"""The descent: from DRAM inward, level by level, every cut of the tile and loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.search.bounds`. A complete nest is
evaluated by the model itself, in every order of its innermost loops and arrangement of its spatial loops that can
matter.
"""

import numpy as np

from jouleloop.jit import njit
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
    DELAY_POWER,
    ENERGY,
    EVALUATED,
    FIRST,
    KIND,
    LAST,
    LEFT_OUT,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    LOOPS,
    NO_TILE,
    NODES,
    OPENED,
    ORDERED,
    POINT,
    PRODUCT,
    SLACK,
    STOPPED,
    VALUE,
    VISITED,
    Arrangements,
    Case,
    Found,
    Log,
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
    free_group,
    grow_floats,
    grow_ints,
    order_after,
    sort_by_rank,
    sort_children,
)
from jouleloop.search.path import cross, floor_pj_of, least_cycles, next_cut, place_loops, state_of


@njit
def beaten(mode: int, best: Floats, energy_pj: float, cycles: float) -> bool:
    """Whether a nest of at least this energy and these cycles can no longer improve on the incumbent."""
    if mode == ENERGY:
        return bool(energy_pj >= best[BEST_PJ] * (1.0 - SLACK))
    if mode == DELAY:
        if energy_pj > best[LIMIT_PJ] or cycles > best[BEST_CYCLES]:
            return True
        return bool(cycles == best[BEST_CYCLES] and energy_pj >= best[BEST_PJ] * (1.0 - SLACK))
    if mode == PRODUCT:
        return bool(energy_pj * cycles ** best[DELAY_POWER] >= best[BEST_PRODUCT] * (1.0 - SLACK))
    if energy_pj > best[LIMIT_PJ]:
        return True
    if best[LIMIT_PRODUCT] < np.inf and energy_pj * cycles ** best[DELAY_POWER] > best[LIMIT_PRODUCT]:
        return True
    return bool(cycles >= best[BEST_CYCLES])


@njit
def record(log: Log, counters: Ints, what: int, level: int, point: int, order: int, value: float) -> None:
    """Write one event of the descent to the log where one is kept; a full log ends the search."""
    n = log.used[0]
    if n < 0:
        return
    if n == log.value.shape[0]:
        counters[STOPPED] = 1
        return
    log.event[n, 0] = what
    log.event[n, 1] = level
    log.event[n, 2] = point
    log.event[n, 3] = order
    log.value[n] = value
    log.used[0] = n + 1


@njit
def _evaluate_leaf(
    mode: int,
    elided: bool,
    compute_pj: float,
    case: Case,
    path: Path,
    run: Ints,
    arrangements: Arrangements,
    work: WorkArrays,
    best: Floats,
    counters: Ints,
    found: Found,
) -> float:
    """Let the model evaluate the nest in all orders and arrangements that can matter; return the least energy [pJ]."""
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
    start, stop = free_group(case.slots, 0, moving, n)
    nest.counts[0, TEMPORAL] = n
    least_pj = np.inf
    more = True
    while more:
        for a in range(n):
            d = moving[a]
            nest.loops[0, TEMPORAL, n - 1 - a, DIM] = d
            nest.loops[0, TEMPORAL, n - 1 - a, BOUND] = divisor[d, digit(axis, path.node[0, POINT], d), VALUE]
        for arrangement in range(run[FIRST], run[LAST]):
            counters[VISITED] += 1
            for level in range(nest.counts.shape[0]):
                spatials = arrangements.counts[arrangement, level]
                nest.counts[level, SPATIAL] = spatials
                for s in range(spatials):
                    for place in range(3):
                        nest.loops[level, SPATIAL, s, place] = arrangements.loops[arrangement, level, s, place]
            total_pj, cycles, _, _ = evaluate_nest(case.layer, case.spec, compute_pj, elided, nest, work)
            least_pj = min(least_pj, total_pj)
            if total_pj == np.inf or beaten(mode, best, total_pj, float(cycles)):
                continue
            best[BEST_PJ] = total_pj
            best[BEST_CYCLES] = cycles
            best[BEST_PRODUCT] = total_pj * float(cycles) ** best[DELAY_POWER]
            found.arrangement[0] = arrangement
            found.counts[:] = nest.counts
            found.loops[:] = nest.loops
        # The order of the innermost loops changes nothing but what neighbours hand on between the compute units.
        more = run[ORDERED] == 0 and order_after(moving, start, stop)
    return float(least_pj)


@njit
def _encode(moving: Ints, n: int) -> int:
    """One number for an order of loops, innermost first: four bits a dimension, innermost lowest."""
    code = 0
    for a in range(n - 1, -1, -1):
        code = code * 16 + moving[a] + 1
    return code


@njit
def _decode(code: int, moving: Ints) -> int:
    """Write the order that a number stands for; return how many loops it has."""
    n = 0
    while code > 0:
        moving[n] = code % 16 - 1
        code //= 16
        n += 1
    return n


@njit
def _extents(case: Case, level: int, point: int, extent: Ints) -> None:
    """Write the indices of the tile that a cut leaves to the level inside, unrolled ones included."""
    for d in range(extent.shape[0]):
        value = case.grid.divisor[d, digit(case.grid.axis, point, d), VALUE]
        extent[d] = value * case.unrolled.inside[level - 1, d]


@njit
def _bound_order(
    case: Case, path: Path, elided: bool, level: int, point: int, target: Ints, moving: Ints, n: int, extent: Ints
) -> tuple[float, float]:
    """Place the loops of a cut in one order; return the energy [pJ] that is certain then, and the bound."""
    axis = case.grid.axis
    innermost = place_loops(case, path, level, point, moving, n)
    total = path.node[level, LOOPS] + n
    certain_pj = path.certain_pj[level] + cross(case, path, elided, level, total, extent)
    state = state_of(case, path, point, total)
    run_state = state
    if level == case.keep.shape[0] - 1 and innermost < axis.shape[0] and axis[innermost, KIND] >= 0:
        run_state = whole_state(axis, case.grid.pair_of, case.grid.state, target, axis[innermost, KIND])
    tables = case.tables
    inward_pj = further(tables.enter, tables.ahead, case.slots, axis, level - 1, point, innermost, state, run_state)
    return certain_pj, certain_pj + inward_pj


@njit
def _expand(
    mode: int,
    elided: bool,
    case: Case,
    path: Path,
    steps: float,
    level: int,
    size: int,
    child: Ints,
    value: Floats,
    best: Floats,
    counters: Ints,
    log: Log,
) -> tuple[int, Ints, Floats]:
    """Put every cut and order at a node that can still win on the stack from place ``size``; return the new stack."""
    axis = case.grid.axis
    slots = case.slots
    dims = axis.shape[0]
    index = np.empty(dims, np.int64)
    target = np.zeros(dims, np.int64)
    moving = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    for d in range(dims):
        index[d] = digit(axis, path.node[level, POINT], d)
    # `target` runs over all tiles inside the present one, the first dimension fastest.
    done = False
    while not done:
        point, n = next_cut(axis, case.grid.divisor, slots, level, index, target, moving)
        if point >= 0:
            # The least over all innermost loops ends most tiles.
            floor_pj = path.certain_pj[level] + floor_pj_of(case, path, level, index, target, moving, n)
            if floor_pj == np.inf:
                counters[CUT_CAPACITY] += 1
                record(log, counters, NO_TILE, level, point, 0, floor_pj)
            elif beaten(mode, best, floor_pj, steps):
                counters[CUT_BOUND] += 1
                record(log, counters, LEFT_OUT, level, point, -1, floor_pj)
            else:
                sort_by_rank(slots, level, moving, n)
                start, stop = free_group(slots, level, moving, n)
                _extents(case, level, point, extent)
                more = True
                while more:
                    certain_pj, bound_pj = _bound_order(case, path, elided, level, point, target, moving, n, extent)
                    cycles = steps
                    if log.used[0] < 0:
                        cycles = least_cycles(case.spec, path.traffic[level - 1], steps)
                    code = _encode(moving, n)
                    if beaten(mode, best, bound_pj, cycles):
                        counters[CUT_BOUND] += 1
                        record(log, counters, LEFT_OUT, level, point, code, bound_pj)
                    else:
                        if size == child.shape[0]:
                            child = grow_ints(child)
                            value = grow_floats(value)
                        child[size, CHILD_POINT] = point
                        child[size, CHILD_ORDER] = code
                        value[size, CHILD_BOUND] = bound_pj
                        value[size, CHILD_CERTAIN] = certain_pj
                        size += 1
                    more = order_after(moving, start, stop)
        done = True
        for d in range(dims):
            target[d] += 1
            if target[d] <= index[d]:
                done = False
                break
            target[d] = 0
    return size, child, value


@njit
def descend(
    mode: int,
    elided: bool,
    compute_pj: float,
    case: Case,
    path: Path,
    steps: float,
    run: Ints,
    arrangements: Arrangements,
    work: WorkArrays,
    best: Floats,
    counters: Ints,
    found: Found,
    log: Log,
) -> None:
    """Search one unrolling. ``path`` stands at the outermost level; ``run`` says which arrangements and orders matter.

    Children of a node wait on a stack, the cheapest bound first; in canonical mode in canonical order.
    """
    dims = case.grid.axis.shape[0]
    top = case.keep.shape[0] - 1
    child = np.empty((1024, 2), np.int64)
    value = np.empty((1024, 2))
    begin = np.zeros(top + 2, np.int64)
    end = np.zeros(top + 2, np.int64)
    moving = np.empty(dims, np.int64)
    extent = np.empty(dims, np.int64)
    level = top
    opened = True
    while level <= top:
        if opened:
            opened = False
            counters[NODES] += 1
            if counters[VISITED] >= counters[BUDGET]:
                counters[STOPPED] = 1
            if counters[STOPPED] != 0:
                return
            if level == 0:
                least_pj = _evaluate_leaf(
                    mode, elided, compute_pj, case, path, run, arrangements, work, best, counters, found
                )
                record(log, counters, EVALUATED, 0, path.node[0, POINT], 0, least_pj)
                level = 1
                continue
            begin[level] = end[level + 1] if level < top else 0
            end[level], child, value = _expand(
                mode, elided, case, path, steps, level, begin[level], child, value, best, counters, log
            )
            if mode != CANONICAL:
                sort_children(child, value, begin[level], end[level])
        if begin[level] == end[level]:
            level += 1
            continue
        c = begin[level]
        begin[level] += 1
        if beaten(mode, best, value[c, CHILD_BOUND], steps):
            counters[CUT_BOUND] += 1
            record(log, counters, LEFT_OUT, level, child[c, CHILD_POINT], child[c, CHILD_ORDER], value[c, CHILD_BOUND])
            continue
        record(log, counters, OPENED, level, child[c, CHILD_POINT], child[c, CHILD_ORDER], value[c, CHILD_BOUND])
        point = child[c, CHILD_POINT]
        n = _decode(child[c, CHILD_ORDER], moving)
        _extents(case, level, point, extent)
        place_loops(case, path, level, point, moving, n)
        total = path.node[level, LOOPS] + n
        # Once more for the traffic: other children were placed in between.
        cross(case, path, elided, level, total, extent)
        level -= 1
        path.node[level, LOOPS] = total
        path.node[level, POINT] = point
        path.certain_pj[level] = value[c, CHILD_CERTAIN]
        opened = True
