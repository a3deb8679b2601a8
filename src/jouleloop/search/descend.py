"""The descent: from DRAM inward, level by level, every cut of the tile and every loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.search.bounds`. A complete nest is
evaluated by the model itself, in every admissible arrangement of its spatial loops where that can matter.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from jouleloop.model.arrays import (
    READ_BANDWIDTH,
    SHARED_BANDWIDTH,
    WRITE_BANDWIDTH,
    HardwareArrays,
    LayerArrays,
    NestArrays,
    WorkArrays,
)
from jouleloop.model.evaluate import evaluate_nest
from jouleloop.model.kernel import Bools, Floats, Ints
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
    LIMIT_PJ,
    LIMIT_PRODUCT,
    NODES,
    PRODUCT,
    SLACK,
    STOPPED,
    VISITED,
    Arrangements,
    Found,
    Grid,
    Runs,
    SlotArrays,
    Tables,
    Unrolled,
)
from jouleloop.search.bounds import further
from jouleloop.search.costs import crossing_pj, words_into
from jouleloop.search.lattice import index_of


class Path(NamedTuple):
    """The node that the descent stands at.

    Attributes
    ----------
    loop_dim, loop_bound, loop_step
        Temporal loops chosen so far, outermost first, with the index step of one iteration.
    loops
        Number of loops outside each level.
    point
        Lattice index of each level's tile.
    prefix_pj
        Energy that is certain once the loops outside a level are chosen.
    reads, writes
        Words per instance that are certain, shape (levels outside which loops are chosen, levels).
    t_count, t_dim, t_bound
        The same loops by level, as the model reads them.
    """

    loop_dim: Ints
    loop_bound: Ints
    loop_step: Ints
    loops: Ints
    point: Ints
    prefix_pj: Floats
    reads: Floats
    writes: Floats
    t_count: Ints
    t_dim: Ints
    t_bound: Ints


class Case(NamedTuple):
    """One unrolling of one layer, ready to be searched."""

    layer: LayerArrays
    hardware: HardwareArrays
    keep: Bools
    slots: SlotArrays
    runs: Runs
    unrolled: Unrolled
    grid: Grid
    tables: Tables


@nb.njit(cache=True)
def beaten(mode: int, best: Floats, energy_pj: float, cycles: float) -> bool:
    """Whether a nest of at least this energy and these cycles can no longer improve on the incumbent."""
    if mode == ENERGY:
        return energy_pj >= best[BEST_PJ] * (1.0 - SLACK)
    if mode == DELAY:
        if energy_pj > best[LIMIT_PJ] or cycles > best[BEST_CYCLES]:
            return True
        return cycles == best[BEST_CYCLES] and energy_pj >= best[BEST_PJ] * (1.0 - SLACK)
    if mode == PRODUCT:
        return energy_pj * cycles >= best[BEST_PRODUCT] * (1.0 - SLACK)
    if energy_pj > best[LIMIT_PJ] or energy_pj * cycles > best[LIMIT_PRODUCT]:
        return True
    return cycles >= best[BEST_CYCLES]


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
def _sort_by_rank(rank: Ints, moving: Ints, n: int) -> None:
    for a in range(n):
        for b in range(a + 1, n):
            first = rank[moving[a]]
            second = rank[moving[b]]
            if second < first or (second == first and moving[b] < moving[a]):
                moving[a], moving[b] = moving[b], moving[a]


@nb.njit(cache=True)
def _place(case: Case, path: Path, level: int, inner_point: int, moving: Ints, n: int) -> int:
    """Append a level's loops (``moving``: dimensions, innermost first) to the path; return the innermost dimension.

    Without any loop outside, that is the number of dimensions.
    """
    grid = case.grid
    loops = path.loops[level]
    point = path.point[level]
    path.t_count[level] = n
    for a in range(n):
        d = moving[a]
        whole = grid.divisor[d, (point // grid.radix[d]) % grid.count[d]]
        part = grid.divisor[d, (inner_point // grid.radix[d]) % grid.count[d]]
        at = loops + n - 1 - a
        path.loop_dim[at] = d
        path.loop_bound[at] = whole // part
        path.loop_step[at] = part * case.unrolled.inside[level, d]
        path.t_dim[level, n - 1 - a] = d
        path.t_bound[level, n - 1 - a] = whole // part
    total = loops + n
    return path.loop_dim[total - 1] if total > 0 else grid.rest.shape[0]


@nb.njit(cache=True)
def _state(case: Case, path: Path, inner_point: int, total: int) -> int:
    """Return the state of the bound tables that the first ``total`` loops of the path lead to."""
    grid = case.grid
    runs = case.runs
    dims = grid.rest.shape[0]
    if total == 0:
        return 0
    kind = runs.kind[path.loop_dim[total - 1]]
    table = kind if kind >= 0 else grid.states.shape[0] - 1
    state = 0
    for d in range(dims):
        now = (inner_point // grid.radix[d]) % grid.count[d]
        if kind < 0 or runs.kind[d] != kind:
            state += now * grid.state_radix[table, d]
            continue
        value = grid.divisor[d, now]
        k = total - 1
        while k >= 0 and runs.kind[path.loop_dim[k]] == kind:
            if path.loop_dim[k] == d:
                value *= path.loop_bound[k]
            k -= 1
        start = index_of(grid.divisor[d], grid.count[d], value)
        state += grid.pair_of[d, start, now] * grid.state_radix[table, d]
    return state


@nb.njit(cache=True)
def _floor_pj(case: Case, path: Path, level: int, index: Ints, target: Ints, moving: Ints, n: int) -> float:
    """Least energy [pJ] below a cut of the tile over all orders of its loops, from the tables alone."""
    grid = case.grid
    runs = case.runs
    dims = grid.rest.shape[0]
    loops = path.loops[level]
    if n == 0:
        if loops == 0:
            return case.tables.enter_whole[level]
        return case.tables.enter[level, path.loop_dim[loops - 1], _state(case, path, path.point[level], loops)]
    least_pj = np.inf
    for a in range(n):
        j = moving[a]
        kind = runs.kind[j]
        table = kind if kind >= 0 else grid.states.shape[0] - 1
        alone = kind >= 0 and loops > 0 and runs.kind[path.loop_dim[loops - 1]] == kind
        if alone:
            for b in range(n):
                if runs.kind[moving[b]] != kind:
                    alone = False
        state = 0
        for d in range(dims):
            if kind < 0 or runs.kind[d] != kind:
                state += target[d] * grid.state_radix[table, d]
                continue
            start = index[d]
            if alone:
                value = grid.divisor[d, index[d]]
                k = loops - 1
                while k >= 0 and runs.kind[path.loop_dim[k]] == kind:
                    if path.loop_dim[k] == d:
                        value *= path.loop_bound[k]
                    k -= 1
                start = index_of(grid.divisor[d], grid.count[d], value)
            state += grid.pair_of[d, start, target[d]] * grid.state_radix[table, d]
        least_pj = min(least_pj, case.tables.enter[level, j, state])
    return least_pj


@nb.njit(cache=True)
def _cross(case: Case, path: Path, elided: bool, level: int, innermost: int, total: int, extent: Ints) -> float:
    """Energy [pJ] of the boundary below ``level``, its loops placed; adds the words to the child's reads and writes."""
    child = level - 1
    unrolled = case.unrolled
    total_pj = 0.0
    for k in range(case.keep.shape[0]):
        path.reads[child, k] = path.reads[level, k]
        path.writes[child, k] = path.writes[level, k]
    for v in range(case.keep.shape[1]):
        up = unrolled.parent[child, v]
        if not case.keep[child, v] or up < 0:
            continue
        words = words_into(case.layer.coef[v], extent, path.loop_dim, path.loop_bound, path.loop_step, total)
        share = unrolled.spread[child, v]
        if innermost < extent.shape[0] and unrolled.link_rank[v, innermost] == 1:
            share = unrolled.spread_linked[child, v]
        asked = words * share
        written = case.layer.read_write[v]
        total_pj += crossing_pj(
            case.hardware.spec, unrolled.instances, unrolled.partition, v, written, elided, child, up, words, asked
        )
        if written:
            path.writes[child, up] += asked
            path.reads[child, up] += max(0.0, asked - unrolled.partition[up, v])
            path.writes[child, child] += max(0.0, words - (unrolled.partition[child, v] if elided else 0.0))
        else:
            path.reads[child, up] += asked
            path.writes[child, child] += words
    return total_pj


@nb.njit(cache=True)
def _least_cycles(case: Case, path: Path, row: int, steps: float) -> float:
    """Cycles at least, from the words that are certain; a hair less, since the model rounds differently."""
    cycles = steps
    spec = case.hardware.spec
    for k in range(spec.shape[0]):
        cycles = max(cycles, path.reads[row, k] / spec[k, READ_BANDWIDTH])
        cycles = max(cycles, path.writes[row, k] / spec[k, WRITE_BANDWIDTH])
        cycles = max(cycles, (path.reads[row, k] + path.writes[row, k]) / spec[k, SHARED_BANDWIDTH])
    return cycles if cycles == steps else max(steps, cycles * (1.0 - 1e-9))


@nb.njit(cache=True)
def _evaluate_leaf(
    mode: int,
    elided: bool,
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
    grid = case.grid
    dims = grid.rest.shape[0]
    moving = np.empty(dims, np.int64)
    n = 0
    for d in range(dims):
        value = grid.divisor[d, (path.point[0] // grid.radix[d]) % grid.count[d]]
        if value > 1:
            moving[n] = d
            n += 1
    _sort_by_rank(case.slots.rank[0], moving, n)
    path.t_count[0] = n
    for a in range(n):
        d = moving[a]
        path.t_dim[0, n - 1 - a] = d
        path.t_bound[0, n - 1 - a] = grid.divisor[d, (path.point[0] // grid.radix[d]) % grid.count[d]]
    for arrangement in range(first, last):
        counters[VISITED] += 1
        nest = NestArrays(
            path.t_count,
            path.t_dim,
            path.t_bound,
            arrangements.count[arrangement],
            arrangements.dim[arrangement],
            arrangements.bound[arrangement],
            arrangements.axis[arrangement],
            case.keep,
        )
        total_pj, cycles, _, _ = evaluate_nest(case.layer, case.hardware, elided, nest, work)
        if beaten(mode, best, total_pj, float(cycles)):
            continue
        best[BEST_PJ] = total_pj
        best[BEST_CYCLES] = cycles
        best[BEST_PRODUCT] = total_pj * cycles
        found.arrangement[0] = arrangement
        found.count[:] = path.t_count
        found.dim[:] = path.t_dim
        found.bound[:] = path.t_bound


@nb.njit(cache=True)
def descend(
    mode: int,
    elided: bool,
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

    Children of a node wait on a stack, the cheapest bound first (in canonical mode: in canonical order). A child is the
    tile inside, the loop order (four bits a dimension, innermost lowest), its bound and its certain energy.
    """
    slots = case.slots
    grid = case.grid
    dims = grid.rest.shape[0]
    top = case.keep.shape[0] - 1
    room = 1024
    wait_point = np.empty(room, np.int64)
    wait_order = np.empty(room, np.int64)
    wait_bound = np.empty(room)
    wait_prefix = np.empty(room)
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
                _evaluate_leaf(mode, elided, case, path, first, last, arrangements, work, best, counters, found)
                level = 1
                expand = False
                continue
            child = level - 1
            for d in range(dims):
                index[d] = (path.point[level] // grid.radix[d]) % grid.count[d]
                target[d] = 0
            begin[level] = end[level + 1] if level < top else 0
            size = begin[level]
            while True:
                # `target` runs over all tiles inside the present one, the first dimension fastest.
                valid = True
                inner_point = 0
                n = 0
                for d in range(dims):
                    whole = grid.divisor[d, index[d]]
                    part = grid.divisor[d, target[d]]
                    factor = whole // part
                    if factor * part != whole:
                        valid = False
                        break
                    if slots.fixed[level, d] != 0:
                        if factor != slots.fixed[level, d]:
                            valid = False
                            break
                    elif factor < slots.least[level, d] or factor > slots.most[level, d]:
                        valid = False
                        break
                    inner_point += target[d] * grid.radix[d]
                    if factor > 1:
                        moving[n] = d
                        n += 1
                if valid:
                    # The least over all innermost loops ends most tiles.
                    floor_pj = _floor_pj(case, path, level, index, target, moving, n)
                    if floor_pj == np.inf:
                        counters[CUT_CAPACITY] += 1
                    elif beaten(mode, best, path.prefix_pj[level] + floor_pj, steps):
                        counters[CUT_BOUND] += 1
                    else:
                        _sort_by_rank(slots.rank[level], moving, n)
                        start = 0
                        stop = 0
                        for a in range(n):
                            b = a
                            while b < n and slots.rank[level, moving[b]] == slots.rank[level, moving[a]]:
                                b += 1
                            if b - a > stop - start:
                                start = a
                                stop = b
                        for d in range(dims):
                            extent[d] = grid.divisor[d, target[d]] * case.unrolled.inside[child, d]
                        more = True
                        while more:
                            innermost = _place(case, path, level, inner_point, moving, n)
                            own_pj = _cross(case, path, elided, level, innermost, path.loops[level] + n, extent)
                            cycles = _least_cycles(case, path, child, steps)
                            certain_pj = path.prefix_pj[level] + own_pj
                            state = _state(case, path, inner_point, path.loops[level] + n)
                            bound_pj = certain_pj + further(
                                case.tables, slots, case.runs, child, inner_point, innermost, state
                            )
                            if beaten(mode, best, bound_pj, cycles):
                                counters[CUT_BOUND] += 1
                            else:
                                if size == room:
                                    wait_point = np.append(wait_point, np.empty(room, np.int64))
                                    wait_order = np.append(wait_order, np.empty(room, np.int64))
                                    wait_bound = np.append(wait_bound, np.empty(room))
                                    wait_prefix = np.append(wait_prefix, np.empty(room))
                                    room *= 2
                                code = 0
                                for a in range(n - 1, -1, -1):
                                    code = code * 16 + moving[a] + 1
                                wait_point[size] = inner_point
                                wait_order[size] = code
                                wait_bound[size] = bound_pj
                                wait_prefix[size] = certain_pj
                                size += 1
                            more = stop - start > 1 and _order_after(moving, start, stop)
                d = 0
                while d < dims:
                    target[d] += 1
                    if target[d] <= index[d]:
                        break
                    target[d] = 0
                    d += 1
                if d == dims:
                    break
            end[level] = size
            if mode != CANONICAL and size - begin[level] > 1:
                sequence = np.argsort(wait_bound[begin[level] : size], kind="mergesort") + begin[level]
                wait_point[begin[level] : size] = wait_point[sequence]
                wait_order[begin[level] : size] = wait_order[sequence]
                wait_prefix[begin[level] : size] = wait_prefix[sequence]
                wait_bound[begin[level] : size] = wait_bound[sequence]
            expand = False
        if begin[level] == end[level]:
            level += 1
            continue
        c = begin[level]
        begin[level] += 1
        if beaten(mode, best, wait_bound[c], steps):
            counters[CUT_BOUND] += 1
            continue
        code = wait_order[c]
        n = 0
        while code > 0:
            moving[n] = code % 16 - 1
            code //= 16
            n += 1
        child = level - 1
        for d in range(dims):
            part = grid.divisor[d, (wait_point[c] // grid.radix[d]) % grid.count[d]]
            extent[d] = part * case.unrolled.inside[child, d]
        innermost = _place(case, path, level, wait_point[c], moving, n)
        _cross(case, path, elided, level, innermost, path.loops[level] + n, extent)
        path.loops[child] = path.loops[level] + n
        path.point[child] = wait_point[c]
        path.prefix_pj[child] = wait_prefix[c]
        level = child
        expand = True
