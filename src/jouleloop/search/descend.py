"""The descent: from DRAM inward, level by level, every cut of the tile and loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.search.bounds`. A complete nest is
evaluated by the model itself, in every admissible arrangement of its spatial loops where that can matter.
"""

import numba as nb
import numpy as np

from jouleloop.model.arrays import (
    BOUND,
    DIM,
    READ_BANDWIDTH,
    SHARED_BANDWIDTH,
    SPATIAL,
    TEMPORAL,
    WRITE_BANDWIDTH,
    Floats,
    Ints,
    WorkArrays,
)
from jouleloop.model.evaluate import evaluate_nest
from jouleloop.model.kernel import STEP
from jouleloop.search.arrays import (
    BEST_CYCLES,
    BEST_PJ,
    BEST_PRODUCT,
    BUDGET,
    CANONICAL,
    COUNT,
    CUT_BOUND,
    CUT_CAPACITY,
    DELAY,
    ENERGY,
    KIND,
    LIMIT_PJ,
    LIMIT_PRODUCT,
    LINKED,
    LOOPS,
    NODES,
    PARENT,
    PARTITIONED,
    POINT,
    PRODUCT,
    RADIX,
    RANK,
    SLACK,
    SPREAD,
    SPREAD_LINKED,
    STOPPED,
    VALUE,
    VISITED,
    Arrangements,
    Case,
    Found,
    Path,
)
from jouleloop.search.bounds import admits, further
from jouleloop.search.closure import whole_state
from jouleloop.search.costs import crossing_pj, filled_words, words_into
from jouleloop.search.lattice import digit, index_of

#: Places of a waiting child: tile and loop order (four bits a dimension, innermost lowest); bound and certain energy.
CHILD_POINT, CHILD_ORDER = range(2)
CHILD_BOUND, CHILD_CERTAIN = range(2)


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
def _order_after(order: Ints, start: int, stop: int) -> bool:
    """Advance ``order[start:stop]`` to its next permutation; return False after the last."""
    i = stop - 2
    while i >= start and order[i] >= order[i + 1]:
        i -= 1
    if i < start:
        return False
    j = stop - 1
    while order[j] <= order[i]:
        j -= 1
    order[i], order[j] = order[j], order[i]
    a = i + 1
    b = stop - 1
    while a < b:
        order[a], order[b] = order[b], order[a]
        a += 1
        b -= 1
    return True


@nb.njit(cache=True)
def _sort_by_rank(slots: Ints, level: int, moving: Ints, n: int) -> None:
    for a in range(n):
        for b in range(a + 1, n):
            first = slots[level, moving[a], RANK]
            second = slots[level, moving[b], RANK]
            if second < first or (second == first and moving[b] < moving[a]):
                moving[a], moving[b] = moving[b], moving[a]


@nb.njit(cache=True)
def sort_by_value(values: Floats, order: Ints, first: int, last: int) -> None:
    """Sort ``order[first:last]`` by the values it points to, equal ones by place (Shell's method; short to compile)."""
    gap = (last - first) // 2
    while gap > 0:
        for i in range(first + gap, last):
            item = order[i]
            j = i
            while j >= first + gap:
                other = order[j - gap]
                if values[other] < values[item] or (values[other] == values[item] and other < item):
                    break
                order[j] = other
                j -= gap
            order[j] = item
        gap //= 2


@nb.njit(cache=True)
def _place(case: Case, path: Path, level: int, inner_point: int, moving: Ints, n: int) -> int:
    """Append a level's loops (``moving``: dimensions, innermost first) to the path; return the innermost dimension.

    Without any loop outside, that is the number of dimensions.
    """
    axis = case.grid.axis
    divisor = case.grid.divisor
    loops = path.node[level, LOOPS]
    point = path.node[level, POINT]
    path.nest.counts[level, TEMPORAL] = n
    for a in range(n):
        d = moving[a]
        part = divisor[d, digit(axis, inner_point, d), VALUE]
        bound = divisor[d, digit(axis, point, d), VALUE] // part
        at = loops + n - 1 - a
        path.loops[at, DIM] = d
        path.loops[at, BOUND] = bound
        path.loops[at, STEP] = part * case.unrolled.inside[level, d]
        path.nest.loops[level, TEMPORAL, n - 1 - a, DIM] = d
        path.nest.loops[level, TEMPORAL, n - 1 - a, BOUND] = bound
    if loops + n == 0:
        return int(axis.shape[0])
    return int(path.loops[loops + n - 1, DIM])


@nb.njit(cache=True)
def _run_start(case: Case, path: Path, total: int, kind: int, d: int, now: int) -> int:
    """Divisor index where the trailing run of a kind started along a dimension, ``now`` being the index of the tile."""
    axis = case.grid.axis
    divisor = case.grid.divisor
    value = divisor[d, now, VALUE]
    k = total - 1
    while k >= 0 and axis[path.loops[k, DIM], KIND] == kind:
        if path.loops[k, DIM] == d:
            value *= path.loops[k, BOUND]
        k -= 1
    return int(index_of(divisor[d], axis[d, COUNT], value))


@nb.njit(cache=True)
def _state(case: Case, path: Path, inner_point: int, total: int) -> int:
    """Return the state of the bound tables that the first ``total`` loops of the path lead to."""
    axis = case.grid.axis
    pair_of = case.grid.pair_of
    weight = case.grid.state
    if total == 0:
        return 0
    kind = axis[path.loops[total - 1, DIM], KIND]
    state = 0
    for d in range(axis.shape[0]):
        now = digit(axis, inner_point, d)
        if kind >= 0 and axis[d, KIND] == kind:
            now = pair_of[d, _run_start(case, path, total, kind, d, now), now]
        state += now * weight[kind, d]
    return state


@nb.njit(cache=True)
def _floor_pj(case: Case, path: Path, level: int, index: Ints, target: Ints, moving: Ints, n: int) -> float:
    """Least energy [pJ] below a cut of the tile over all orders of its loops, from the tables alone."""
    axis = case.grid.axis
    pair_of = case.grid.pair_of
    weight = case.grid.state
    enter = case.tables.enter
    loops = path.node[level, LOOPS]
    if n == 0:
        if loops == 0:
            return float(case.tables.ahead[level, 0])
        return float(enter[level, path.loops[loops - 1, DIM], _state(case, path, path.node[level, POINT], loops)])
    least_pj = np.inf
    for a in range(n):
        j = moving[a]
        kind = axis[j, KIND]
        alone = kind >= 0 and loops > 0 and axis[path.loops[loops - 1, DIM], KIND] == kind
        for b in range(n):
            if axis[moving[b], KIND] != kind:
                alone = False
        state = 0
        for d in range(axis.shape[0]):
            now = target[d]
            if kind >= 0 and axis[d, KIND] == kind:
                start = _run_start(case, path, loops, kind, d, index[d]) if alone else index[d]
                now = pair_of[d, start, now]
            state += now * weight[kind, d]
        least_pj = min(least_pj, enter[level, j, state])
    return least_pj


@nb.njit(cache=True)
def _cross(case: Case, path: Path, elided: bool, level: int, innermost: int, total: int, extent: Ints) -> float:
    """Energy [pJ] of the boundary below ``level``, its loops placed; adds the words to the child's traffic."""
    child = level - 1
    unrolled = case.unrolled
    traffic = path.traffic[child]
    total_pj = 0.0
    for k in range(traffic.shape[0]):
        traffic[k, 0] = path.traffic[level, k, 0]
        traffic[k, 1] = path.traffic[level, k, 1]
    for v in range(case.keep.shape[1]):
        up = int(unrolled.edge[child, v, PARENT])
        if not case.keep[child, v] or up < 0:
            continue
        words = words_into(case.layer.coef, v, extent, path.loops, total)
        linked = innermost < extent.shape[0] and unrolled.side[v, innermost, LINKED] == 1
        asked = words * unrolled.edge[child, v, SPREAD_LINKED if linked else SPREAD]
        filled = filled_words(unrolled.edge, child, v, words, linked)
        written = case.layer.read_write[v]
        total_pj += crossing_pj(unrolled.rate, child, v, asked, filled)
        if written:
            traffic[up, 1] += asked
            traffic[up, 0] += max(0.0, asked - unrolled.edge[up, v, PARTITIONED])
            traffic[child, 1] += max(0.0, filled - (unrolled.edge[child, v, PARTITIONED] if elided else 0.0))
        else:
            traffic[up, 0] += asked
            traffic[child, 1] += filled
    return total_pj


@nb.njit(cache=True)
def _least_cycles(spec: Floats, traffic: Floats, steps: float) -> float:
    """Cycles at least, from the words that are certain; a hair less, since the model rounds differently."""
    cycles = steps
    for k in range(spec.shape[0]):
        cycles = max(cycles, traffic[k, 0] / spec[k, READ_BANDWIDTH])
        cycles = max(cycles, traffic[k, 1] / spec[k, WRITE_BANDWIDTH])
        cycles = max(cycles, (traffic[k, 0] + traffic[k, 1]) / spec[k, SHARED_BANDWIDTH])
    return cycles if cycles == steps else max(steps, cycles * (1.0 - 1e-9))


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
    _sort_by_rank(case.slots, 0, moving, n)
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
def _grow_ints(array: Ints) -> Ints:
    larger = np.empty((array.shape[0] * 2, 2), np.int64)
    larger[: array.shape[0]] = array
    return larger


@nb.njit(cache=True)
def _grow_floats(array: Floats) -> Floats:
    larger = np.empty((array.shape[0] * 2, 2))
    larger[: array.shape[0]] = array
    return larger


@nb.njit(cache=True)
def _sort_children(child: Ints, value: Floats, first: int, last: int) -> None:
    """Sort waiting children by their bound, equal ones by place."""
    n = last - first
    keys = value[first:last, CHILD_BOUND].copy()
    order = np.arange(n)
    sort_by_value(keys, order, 0, n)
    old_child = child[first:last].copy()
    old_value = value[first:last].copy()
    for k in range(n):
        for place in range(2):
            child[first + k, place] = old_child[order[k], place]
            value[first + k, place] = old_value[order[k], place]


@nb.njit(cache=True)
def _next_cut(
    axis: Ints, divisor: Ints, slots: Ints, level: int, index: Ints, target: Ints, moving: Ints
) -> tuple[int, int]:
    """Read the cut that ``target`` stands for: the point of the tile inside (-1: not admitted), and how many loops.

    Writes the dimensions of those loops to ``moving``.
    """
    point = 0
    n = 0
    for d in range(index.shape[0]):
        whole = divisor[d, index[d], VALUE]
        part = divisor[d, target[d], VALUE]
        factor = whole // part
        if factor * part != whole or not admits(slots, level, d, factor):
            return -1, 0
        point += target[d] * axis[d, RADIX]
        if factor > 1:
            moving[n] = d
            n += 1
    return point, n


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
                point, n = _next_cut(axis, divisor, slots, level, index, target, moving)
                if point >= 0:
                    # The least over all innermost loops ends most tiles.
                    floor_pj = _floor_pj(case, path, level, index, target, moving, n)
                    if floor_pj == np.inf:
                        counters[CUT_CAPACITY] += 1
                    elif beaten(mode, best, path.certain_pj[level] + floor_pj, steps):
                        counters[CUT_BOUND] += 1
                    else:
                        _sort_by_rank(slots, level, moving, n)
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
                            innermost = _place(case, path, level, point, moving, n)
                            total = path.node[level, LOOPS] + n
                            certain_pj = path.certain_pj[level] + _cross(
                                case, path, elided, level, innermost, total, extent
                            )
                            cycles = _least_cycles(case.spec, path.traffic[level - 1], steps)
                            state = _state(case, path, point, total)
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
                                    child = _grow_ints(child)
                                    value = _grow_floats(value)
                                code = 0
                                for a in range(n - 1, -1, -1):
                                    code = code * 16 + moving[a] + 1
                                child[size, CHILD_POINT] = point
                                child[size, CHILD_ORDER] = code
                                value[size, CHILD_BOUND] = bound_pj
                                value[size, CHILD_CERTAIN] = certain_pj
                                size += 1
                            more = stop - start > 1 and _order_after(moving, start, stop)
                done = True
                for d in range(dims):
                    target[d] += 1
                    if target[d] <= index[d]:
                        done = False
                        break
                    target[d] = 0
            end[level] = size
            if mode != CANONICAL:
                _sort_children(child, value, begin[level], size)
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
        innermost = _place(case, path, level, point, moving, n)
        total = path.node[level, LOOPS] + n
        _cross(case, path, elided, level, innermost, total, extent)
        level -= 1
        path.node[level, LOOPS] = total
        path.node[level, POINT] = point
        path.certain_pj[level] = value[c, CHILD_CERTAIN]
        expand = True
