"""The descent: from DRAM inward, level by level, every cut of the tile and every loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.search.bounds`. A complete nest is
evaluated by the model itself, in every admissible arrangement of its spatial loops where that can matter.
"""

import numba as nb
import numpy as np

from jouleloop.model.evaluate import evaluate_nest
from jouleloop.model.kernel import MAX_GROUPS, MAX_LOOPS, Bools, Floats, Ints
from jouleloop.model.price import READ_BANDWIDTH, SHARED_BANDWIDTH, WRITE_BANDWIDTH
from jouleloop.search.costs import crossing_pj, words_into

#: What is minimised: energy; cycles then energy under an energy limit; energy-delay product; or, under limits on energy
#: and product, cycles, keeping the first nest in canonical order.
ENERGY, DELAY, PRODUCT, CANONICAL = 0, 1, 2, 3
#: Relative slack that covers rounding of double-precision sums; results closer than this are ties.
SLACK = 1e-12
#: Places of the incumbent: energy [pJ], cycles, energy x cycles, energy limit, product limit.
BEST_PJ, BEST_CYCLES, BEST_PRODUCT, LIMIT_PJ, LIMIT_PRODUCT, BEST = range(6)
#: Places of the counters: nests evaluated; nodes entered; nodes cut by a bound, by a capacity; evaluations allowed.
VISITED, NODES, CUT_BOUND, CUT_CAPACITY, BUDGET, STOPPED, COUNTERS = range(7)


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
def _evaluate_leaf(
    mode: int,
    coef: Ints,
    read_write: Bools,
    spec: Floats,
    fanout_xy: Ints,
    compute_pj: float,
    elided: bool,
    keep: Bools,
    t_count: Ints,
    t_dim: Ints,
    t_bound: Ints,
    variants: Ints,
    v_count: Ints,
    v_dim: Ints,
    v_bound: Ints,
    v_axis: Ints,
    tile: Ints,
    sibling: Ints,
    groups: Floats,
    group_count: Ints,
    links: Floats,
    access: Ints,
    energy_pj: Floats,
    throttle: Floats,
    level_cycles: Ints,
    fanout: Ints,
    instances: Ints,
    best: Floats,
    counters: Ints,
    found_count: Ints,
    found_dim: Ints,
    found_bound: Ints,
    found_variant: Ints,
) -> None:
    levels = t_count.shape[0]
    for variant in range(variants[0], variants[1]):
        counters[VISITED] += 1
        total_pj, cycles, _, _ = evaluate_nest(
            coef,
            read_write,
            spec,
            fanout_xy,
            compute_pj,
            elided,
            t_count,
            t_dim,
            t_bound,
            v_count[variant],
            v_dim[variant],
            v_bound[variant],
            v_axis[variant],
            keep,
            tile,
            sibling,
            groups,
            group_count,
            links,
            access,
            energy_pj,
            throttle,
            level_cycles,
            fanout,
            instances,
        )
        if beaten(mode, best, total_pj, float(cycles)):
            continue
        best[BEST_PJ] = total_pj
        best[BEST_CYCLES] = cycles
        best[BEST_PRODUCT] = total_pj * cycles
        found_variant[0] = variant
        for level in range(levels):
            found_count[level] = t_count[level]
            for t in range(t_count[level]):
                found_dim[level, t] = t_dim[level, t]
                found_bound[level, t] = t_bound[level, t]


@nb.njit(cache=True)
def descend(
    mode: int,
    level: int,
    point: int,
    loops: int,
    prefix_pj: float,
    coef: Ints,
    read_write: Bools,
    elided: bool,
    spec: Floats,
    fanout_xy: Ints,
    compute_pj: float,
    keep: Bools,
    parent: Ints,
    spread: Floats,
    spread_linked: Floats,
    link_rank: Ints,
    instances: Ints,
    partition: Floats,
    inside: Ints,
    fixed: Ints,
    most: Ints,
    least: Ints,
    rank: Ints,
    steps: float,
    count: Ints,
    divisor: Ints,
    radix: Ints,
    enter: Floats,
    ahead: Floats,
    loop_dim: Ints,
    loop_bound: Ints,
    loop_step: Ints,
    reads: Floats,
    writes: Floats,
    t_count: Ints,
    t_dim: Ints,
    t_bound: Ints,
    variants: Ints,
    v_count: Ints,
    v_dim: Ints,
    v_bound: Ints,
    v_axis: Ints,
    tile: Ints,
    sibling: Ints,
    groups: Floats,
    group_count: Ints,
    links: Floats,
    access: Ints,
    energy_pj: Floats,
    throttle: Floats,
    level_cycles: Ints,
    used_fanout: Ints,
    used_instances: Ints,
    best: Floats,
    counters: Ints,
    found_count: Ints,
    found_dim: Ints,
    found_bound: Ints,
    found_variant: Ints,
) -> int:
    """Search everything below one node: loops of levels outside ``level`` are chosen, its tile is ``point``.

    ``loop_*`` hold the chosen temporal loops outermost first; ``prefix_pj`` what they cost for certain.
    """
    dims = radix.shape[0]
    spaces = coef.shape[0]
    levels = keep.shape[0]
    counters[NODES] += 1
    if counters[STOPPED] != 0:
        return 0
    if counters[VISITED] >= counters[BUDGET]:
        counters[STOPPED] = 1
        return 0
    index = np.empty(dims, np.int64)
    for d in range(dims):
        index[d] = (point // radix[d]) % count[d]
    moving = np.empty(dims, np.int64)
    if level == 0:
        # What is left are the loops of the innermost level, in their canonical order.
        n = 0
        for d in range(dims):
            value = divisor[d, index[d]]
            if fixed[0, d] != 0:
                if value != fixed[0, d]:
                    return 0
            elif value < least[0, d] or value > most[0, d]:
                return 0
            if value > 1:
                moving[n] = d
                n += 1
        for a in range(n):
            for b in range(a + 1, n):
                if rank[0, moving[b]] < rank[0, moving[a]]:
                    moving[a], moving[b] = moving[b], moving[a]
        t_count[0] = n
        for a in range(n):
            t_dim[0, n - 1 - a] = moving[a]
            t_bound[0, n - 1 - a] = divisor[moving[a], index[moving[a]]]
        _evaluate_leaf(
            mode, coef, read_write, spec, fanout_xy, compute_pj, elided, keep, t_count, t_dim, t_bound, variants,
            v_count, v_dim, v_bound, v_axis, tile, sibling, groups, group_count, links, access, energy_pj, throttle,
            level_cycles, used_fanout, used_instances, best, counters, found_count, found_dim, found_bound,
            found_variant,
        )  # fmt: skip
        return 1
    child = level - 1
    any_kept = False
    for v in range(spaces):
        if keep[child, v]:
            any_kept = True
    # Children: the tile below, the order of this level's loops (four bits a dimension, innermost lowest), the bound.
    room = 64
    child_point = np.empty(room, np.int64)
    child_order = np.empty(room, np.int64)
    child_bound = np.empty(room)
    child_prefix = np.empty(room)
    children = 0
    target = np.zeros(dims, np.int64)
    factor = np.ones(dims, np.int64)
    extent = np.empty(dims, np.int64)
    crossing = np.zeros((spaces, 2))
    now_reads = np.empty(levels)
    now_writes = np.empty(levels)
    while True:
        # `target` runs over all tiles inside the present one, the first dimension fastest.
        valid = True
        inner_point = 0
        n = 0
        for d in range(dims):
            whole = divisor[d, index[d]]
            part = divisor[d, target[d]]
            if whole % part != 0:
                valid = False
                break
            factor[d] = whole // part
            if fixed[level, d] != 0:
                if factor[d] != fixed[level, d]:
                    valid = False
                    break
            elif factor[d] < least[level, d] or factor[d] > most[level, d]:
                valid = False
                break
            inner_point += target[d] * radix[d]
            if factor[d] > 1:
                moving[n] = d
                n += 1
        if valid:
            # Least over all innermost loops first: most tiles end here.
            floor = np.inf
            if n == 0:
                inner_most = loop_dim[loops - 1] if loops > 0 else dims
                floor = enter[level, inner_point, inner_most]
            else:
                for a in range(n):
                    if enter[level, inner_point, moving[a]] < floor:
                        floor = enter[level, inner_point, moving[a]]
            if floor == np.inf:
                counters[CUT_CAPACITY] += 1
            elif beaten(mode, best, prefix_pj + floor, steps):
                counters[CUT_BOUND] += 1
            else:
                for a in range(n):
                    for b in range(a + 1, n):
                        ra = rank[level, moving[a]]
                        rb = rank[level, moving[b]]
                        if rb < ra or (rb == ra and moving[b] < moving[a]):
                            moving[a], moving[b] = moving[b], moving[a]
                start = 0
                stop = 0
                for a in range(n):
                    b = a
                    while b < n and rank[level, moving[b]] == rank[level, moving[a]]:
                        b += 1
                    if b - a > stop - start:
                        start = a
                        stop = b
                for d in range(dims):
                    extent[d] = divisor[d, target[d]] * inside[child, d]
                more = True
                while more:
                    for a in range(n):
                        d = moving[a]
                        at = loops + n - 1 - a
                        loop_dim[at] = d
                        loop_bound[at] = factor[d]
                        loop_step[at] = divisor[d, target[d]] * inside[level, d]
                    inner_most = loop_dim[loops + n - 1] if loops + n > 0 else dims
                    own_pj = 0.0
                    cycles = steps
                    if any_kept:
                        for k in range(levels):
                            now_reads[k] = reads[level, k]
                            now_writes[k] = writes[level, k]
                        for v in range(spaces):
                            if not keep[child, v] or parent[child, v] < 0:
                                continue
                            words = words_into(coef[v], extent, loop_dim, loop_bound, loop_step, loops + n)
                            share = spread[child, v]
                            if inner_most < dims and link_rank[v, inner_most] == 1:
                                share = spread_linked[child, v]
                            up = parent[child, v]
                            own_pj += crossing_pj(
                                spec, instances, partition, v, read_write[v], elided, child, up, words, words * share
                            )
                            if read_write[v]:
                                now_writes[up] += words * share
                                now_reads[up] += max(0.0, words * share - partition[up, v])
                                now_writes[child] += max(0.0, words - (partition[child, v] if elided else 0.0))
                            else:
                                now_reads[up] += words * share
                                now_writes[child] += words
                        for k in range(levels):
                            cycles = max(cycles, now_reads[k] / spec[k, READ_BANDWIDTH])
                            cycles = max(cycles, now_writes[k] / spec[k, WRITE_BANDWIDTH])
                            cycles = max(cycles, (now_reads[k] + now_writes[k]) / spec[k, SHARED_BANDWIDTH])
                    follow = ahead[child, inner_point]
                    if child > 0:
                        passable = True
                        for d in range(dims):
                            if fixed[child, d] > 1 or (fixed[child, d] == 0 and least[child, d] > 1):
                                passable = False
                        if passable and enter[child, inner_point, inner_most] < follow:
                            follow = enter[child, inner_point, inner_most]
                    bound = prefix_pj + own_pj + follow
                    if beaten(mode, best, bound, cycles * (1.0 - 1e-9)):
                        counters[CUT_BOUND] += 1
                    else:
                        if children == room:
                            room *= 2
                            child_point = np.append(child_point, np.empty(children, np.int64))
                            child_order = np.append(child_order, np.empty(children, np.int64))
                            child_bound = np.append(child_bound, np.empty(children))
                            child_prefix = np.append(child_prefix, np.empty(children))
                        code = 0
                        for a in range(n - 1, -1, -1):
                            code = code * 16 + moving[a] + 1
                        child_point[children] = inner_point
                        child_order[children] = code
                        child_bound[children] = bound
                        child_prefix[children] = prefix_pj + own_pj
                        children += 1
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
    if mode == CANONICAL:
        sequence = np.arange(children)
    else:
        sequence = np.argsort(child_bound[:children], kind="mergesort")
    for k in range(children):
        c = sequence[k]
        if beaten(mode, best, child_bound[c], steps):
            counters[CUT_BOUND] += 1
            continue
        inner_point = child_point[c]
        code = child_order[c]
        n = 0
        while code > 0:
            moving[n] = code % 16 - 1
            code //= 16
            n += 1
        for d in range(dims):
            target[d] = (inner_point // radix[d]) % count[d]
            extent[d] = divisor[d, target[d]] * inside[child, d]
        t_count[level] = n
        for a in range(n):
            d = moving[a]
            at = loops + n - 1 - a
            loop_dim[at] = d
            loop_bound[at] = divisor[d, index[d]] // divisor[d, target[d]]
            loop_step[at] = divisor[d, target[d]] * inside[level, d]
            t_dim[level, n - 1 - a] = d
            t_bound[level, n - 1 - a] = loop_bound[at]
        inner_most = loop_dim[loops + n - 1] if loops + n > 0 else dims
        for k2 in range(levels):
            reads[child, k2] = reads[level, k2]
            writes[child, k2] = writes[level, k2]
        for v in range(spaces):
            if not keep[child, v] or parent[child, v] < 0:
                continue
            words = words_into(coef[v], extent, loop_dim, loop_bound, loop_step, loops + n)
            share = spread[child, v]
            if inner_most < dims and link_rank[v, inner_most] == 1:
                share = spread_linked[child, v]
            up = parent[child, v]
            if read_write[v]:
                writes[child, up] += words * share
                reads[child, up] += max(0.0, words * share - partition[up, v])
                writes[child, child] += max(0.0, words - (partition[child, v] if elided else 0.0))
            else:
                reads[child, up] += words * share
                writes[child, child] += words
        descend(
            mode, child, inner_point, loops + n, child_prefix[c], coef, read_write, elided, spec, fanout_xy, compute_pj,
            keep, parent, spread, spread_linked, link_rank, instances, partition, inside, fixed, most, least, rank,
            steps, count, divisor, radix, enter, ahead, loop_dim, loop_bound, loop_step, reads, writes, t_count, t_dim,
            t_bound, variants, v_count, v_dim, v_bound, v_axis, tile, sibling, groups, group_count, links, access,
            energy_pj, throttle, level_cycles, used_fanout, used_instances, best, counters, found_count, found_dim,
            found_bound, found_variant,
        )  # fmt: skip
    return children


__all__ = ["MAX_GROUPS", "MAX_LOOPS", "descend"]
