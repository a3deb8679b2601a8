"""The descent: from DRAM inward, level by level, every cut of the tile and loop order that its bound does not rule out.

What is already chosen is counted exactly; what is not is bounded by `jouleloop.optimum.bounds`. A complete nest is
evaluated by the model itself, in every order of its innermost loops and arrangement of its spatial loops that can
matter. A node first lists its tiles, each with the least bound over all orders of its loops; a tile's orders are
priced when its turn comes, so that what no order can save is never ordered. This is step 3 of `docs/search.md`.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Bools, Ints, NestArrays, Record, Records, WorkArrays
from jouleloop.model.evaluate import count_nest
from jouleloop.optimum.arrays import (
    ASIDE,
    BY_LOG,
    CANONICAL,
    DELAY,
    ENERGY,
    ENTER,
    EVALUATED,
    EXPAND,
    LEFT_OUT,
    NO_TILE,
    OPENED,
    PRODUCT,
    RUNNING,
    SLACK,
    TAKE,
    Arrangements,
    Case,
    Path,
    Stack,
    Tally,
)
from jouleloop.optimum.bounds import further, passable
from jouleloop.optimum.classes import passing_pj
from jouleloop.optimum.lattice import digit
from jouleloop.optimum.mesh import has_windows
from jouleloop.optimum.order import (
    decode_order,
    encode_order,
    free_group,
    order_after,
    pop,
    push,
    reverse,
    sort_by_rank,
    used_up,
)
from jouleloop.optimum.path import (
    asks,
    copy_nest,
    cross,
    enter_pj,
    extents,
    floor_pj_of,
    least_cycles,
    next_cut,
    place_loops,
    read_tile,
    state_of,
)

#: Work of one evaluation and of one order, where listing a tile is 1 (measured).
_EVALUATION_TICKS, _ORDER_TICKS = 30, 4


@njit
def beaten(mode: int, best: Records, energy_pj: float, cycles: float) -> bool:
    """Whether a nest of at least this energy and these cycles can no longer improve on the incumbent."""
    if cycles > best[0].most_cycles:
        return True
    if mode == ENERGY:
        if energy_pj < best[0].energy_pj * (1.0 - SLACK):
            return False
        best[0].least_pj = min(best[0].least_pj, energy_pj)
        return True
    if mode == DELAY:
        if energy_pj > best[0].limit_pj or cycles > best[0].cycles:
            return True
        return bool(cycles == best[0].cycles and energy_pj >= best[0].energy_pj * (1.0 - SLACK))
    if mode == PRODUCT:
        return bool(energy_pj * cycles ** best[0].delay_power >= best[0].product * (1.0 - SLACK))
    if energy_pj > best[0].limit_pj:
        return True
    if best[0].limit_product < np.inf and energy_pj * cycles ** best[0].delay_power > best[0].limit_product:
        return True
    return bool(cycles >= best[0].cycles)


@njit
def limit_of(mode: int, best: Records, steps: float) -> float:
    """Energy [pJ] from which on nothing of so many iterations is better or ties."""
    if mode == ENERGY:
        return float(best[0].energy_pj * (1.0 + 1e-9))
    if mode == PRODUCT:
        return float(best[0].product / steps ** best[0].delay_power * (1.0 + 1e-9))
    limit_pj = best[0].limit_pj
    if best[0].limit_product < np.inf:
        limit_pj = min(limit_pj, best[0].limit_product / steps ** best[0].delay_power)
    # What costs nothing ties with what costs nothing.
    return float(limit_pj * (1.0 + 1e-9)) + 1e-300


@njit
def note(tally: Tally, what: int, level: int, point: int, order: int, value: float) -> None:
    """Write one event of the descent to the log where one is kept; a full log ends the search."""
    log = tally.log
    n = log.used[0]
    if n < 0:
        return
    if n == log.event.shape[0]:
        tally.counters[0].stopped = BY_LOG
        return
    event = log.event[n]
    event.what, event.level, event.point, event.order, event.value = what, level, point, order, value
    log.used[0] = n + 1


@njit
def _next_arrangement(arrangements: Arrangements, run: Record, chosen: Ints, member: int) -> bool:
    """Advance to the next arrangement of a member, the outermost level fastest, or to the next member (first -1).

    Returns False after the last member.
    """
    if member >= run.first:
        for level in range(chosen.shape[0] - 1, -1, -1):
            chosen[level] += 1
            if chosen[level] < arrangements.members[member, level, 1]:
                return True
            chosen[level] = arrangements.members[member, level, 0]
    chosen[0] = -1
    return bool(member + 1 < run.last)


@njit
def _holds_passed(case: Case, keep: Bools, work: WorkArrays) -> bool:
    """Whether levels that words pass through hold their tiles: bounds take those words to pass by."""
    for level in range(keep.shape[0]):
        passed = False
        words = 0
        for v in range(keep.shape[1]):
            if keep[level, v]:
                words += work.access[level, v].tile
                passed = passed or not case.keep[level, v]
        if passed and words > case.target.hardware.levels[level].capacity_words:
            return False
    return True


@njit
def _place_innermost(case: Case, path: Path, moving: Ints, n: int) -> None:
    """Write the innermost loops of the nest in their order."""
    for a in range(n):
        d = moving[a]
        path.nest.loops[0, TEMPORAL, n - 1 - a].dim = d
        path.nest.loops[0, TEMPORAL, n - 1 - a].bound = case.grid.divisor[
            d, digit(case.grid.axis, path.node[0].point, d)
        ].value


@njit
def _place_spatial(arrangements: Arrangements, chosen: Ints, nest: NestArrays) -> None:
    """Write the unrolled loops of the arrangements that are chosen, one a level."""
    for level in range(nest.counts.shape[0]):
        spatials = arrangements.counts[chosen[level]]
        nest.counts[level, SPATIAL] = spatials
        for s in range(spatials):
            nest.loops[level, SPATIAL, s] = arrangements.loops[chosen[level], s]


@njit
def _evaluate_arrangements(
    case: Case, path: Path, run: Record, arrangements: Arrangements, work: WorkArrays, tally: Tally, stack: Stack
) -> float:
    """Evaluate the nest in all arrangements that can matter; return the least energy [pJ]."""
    nest, best, chosen, bound_pj = path.nest, tally.best, stack.chosen, float(stack.node_pj[0])
    least_pj = np.inf
    # Of windows the model may look at every instance for what its neighbours hand on.
    ticks = _EVALUATION_TICKS + (int(case.unrolled.instances[0]) if has_windows(case.mesh) else 0)
    member = run.first - 1
    while _next_arrangement(arrangements, run, chosen, member):
        if chosen[0] < 0:
            member += 1
            for level in range(chosen.shape[0]):
                chosen[level] = arrangements.members[member, level, 0]
        entry = case.links.entry[chosen[0]] if chosen[0] < case.links.entry.shape[0] else -1
        if entry >= 0 and beaten(tally.mode, best, bound_pj + case.links.more_pj[entry], 0.0):
            continue
        tally.counters[0].visited += 1
        tally.counters[0].ticks += ticks
        _place_spatial(arrangements, chosen, nest)
        total_pj, cycles, _, _ = count_nest(case.target, nest, work)
        least_pj = min(least_pj, total_pj)
        if total_pj < np.inf and not _holds_passed(case, nest.keep, work):
            total_pj = np.inf
        if total_pj == np.inf:
            continue
        if beaten(tally.mode, best, total_pj, float(cycles)):
            if tally.found.arrangement[0] < 0 and total_pj < best[0].aside_pj:
                best[0].aside_pj = total_pj
                tally.found.arrangement[0] = ASIDE
                copy_nest(nest, tally.found)
            continue
        best[0].energy_pj = best[0].least_pj = total_pj
        best[0].cycles = cycles
        best[0].product = total_pj * float(cycles) ** best[0].delay_power
        tally.found.arrangement[0] = member
        copy_nest(nest, tally.found)
    return float(least_pj)


@njit
def _evaluate_leaf(
    case: Case, path: Path, run: Record, arrangements: Arrangements, work: WorkArrays, tally: Tally, stack: Stack
) -> float:
    """Let the model evaluate the nest in all orders and arrangements that can matter; return the least energy [pJ]."""
    axis, nest, moving = case.grid.axis, path.nest, stack.work[0]
    n = 0
    for d in range(axis.shape[0]):
        if digit(axis, path.node[0].point, d) > 0:
            moving[n] = d
            n += 1
    sort_by_rank(case.slots, 0, moving, n)
    start, stop = free_group(case.slots, 0, moving, n)
    nest.counts[0, TEMPORAL] = n
    # Bounds take words to pass by a level that they pass through.
    for level in range(nest.counts.shape[0]):
        for v in range(case.keep.shape[1]):
            nest.keep[level, v] = case.keep[level, v] or case.target.layer.reuse[level, v].no_coalesce
    least_pj = np.inf
    more = True
    while more:
        _place_innermost(case, path, moving, n)
        least_pj = min(least_pj, _evaluate_arrangements(case, path, run, arrangements, work, tally, stack))
        # The order of the innermost loops changes nothing but what neighbours hand on between the compute units.
        more = run.ordered == 0 and order_after(moving, start, stop)
    return float(least_pj)


@njit
def _bound_order(
    case: Case, path: Path, level: int, point: int, moving: Ints, n: int, extent: Ints
) -> tuple[float, float]:
    """Place the loops of a cut in one order; return the energy [pJ] that is certain then, and the bound."""
    axis = case.grid.axis
    innermost = place_loops(case, path, level, point, moving, n)
    total = path.node[level].loops + n
    certain_pj = path.certain_pj[level] + cross(case, path, level, total, extent)
    run_state = state = state_of(case, path, level, point, total)
    if run_state < 0:
        return certain_pj, np.inf
    if not passable(case.slots, level - 1):
        state = -1
    elif level > 1 and innermost < axis.shape[0] and not case.grid.same[level, axis[innermost].kind]:
        state = state_of(case, path, level - 1, point, total)
    inward_pj = further(case, level - 1, point, innermost, run_state, state) + passing_pj(case, path, level - 1)
    return certain_pj, certain_pj + inward_pj


@njit
def _has_room(stack: Stack, level: int, rows: int) -> bool:
    """Whether so many more children of a level have room; else the stack says that it has to grow."""
    needed = stack.region[level].end + rows
    if needed <= stack.heap.shape[0]:
        return True
    stack.cursor[0].needed = needed
    return False


@njit
def _wait(stack: Stack, level: int, point: int, order: int, key: float, bound_pj: float, certain_pj: float) -> None:
    """Put a child into the heap of its level, where there is room."""
    region = stack.region[level]
    row = region.end
    stack.child[row].point = point
    stack.child[row].order = order
    stack.child[row].key = key
    stack.child[row].bound_pj = bound_pj
    stack.child[row].certain_pj = certain_pj
    region.end += 1
    push(stack.heap, region.begin, region.waiting, stack.child["key"], row)
    region.waiting += 1


@njit
def _list_tiles(case: Case, path: Path, steps: float, level: int, tally: Tally, stack: Stack) -> bool:
    """Let every tile at a node that can still win wait; return whether all are listed, or it is time for a pause."""
    axis, counters = case.grid.axis, tally.counters
    slots = case.slots
    dims = axis.shape[0]
    index, moving = stack.work[2], stack.work[3]
    target = stack.target
    profile = stack.profile[level]
    divisors = 1
    for d in range(dims):
        index[d] = digit(axis, path.node[level].point, d)
        divisors *= index[d] + 1
    # Either all tiles that pass the boundary, or `target` runs over all inside the present one, the first dimension
    # fastest: the same order. A log has to name the tiles that do not pass.
    passing = stack.tile_counts[level]
    few = tally.log.used[0] < 0 and passing < divisors
    count = passing if few else divisors
    cursor = stack.cursor[0]
    certain_pj = path.certain_pj[level] + passing_pj(case, path, level)
    while cursor.listed < count:
        if counters[0].ticks >= counters[0].pause or not _has_room(stack, level, 1):
            return False
        counters[0].ticks += 1
        if few:
            inside = read_tile(axis, stack.tiles[level, cursor.listed], index, target)
            cursor.listed += 1
            if not inside:
                continue
        point, n = next_cut(axis, case.grid.divisor, slots, level, index, target, moving)
        if point >= 0:
            profile.tiles += 1
            floor_pj = certain_pj + floor_pj_of(case, path, level, index, target, moving[:n])
            if floor_pj == np.inf:
                counters[0].cut_capacity += 1
                profile.roomless += 1
                note(tally, NO_TILE, level, point, 0, floor_pj)
            elif beaten(tally.mode, tally.best, floor_pj, steps):
                counters[0].cut_bound += 1
                profile.tiles_out += 1
                note(tally, LEFT_OUT, level, point, -1, floor_pj)
            else:
                key = float(stack.region[level].end) if tally.mode == CANONICAL else floor_pj
                _wait(stack, level, point, -1, key, floor_pj, 0.0)
        if not few:
            cursor.listed += 1
            for d in range(dims):
                target[d] += 1
                if target[d] <= index[d]:
                    break
                target[d] = 0
    return True


@njit
def _orders_at_most(axis: Records, whole: int, part: int) -> int:
    """Return how many orders the loops of a cut have at most; both tiles are lattice points."""
    n = 0
    orders = 1
    for d in range(axis.shape[0]):
        if digit(axis, whole, d) != digit(axis, part, d):
            n += 1
            orders *= n
    return orders


@njit
def _list_orders(case: Case, path: Path, steps: float, level: int, row: int, tally: Tally, stack: Stack) -> None:
    """Let every order of a tile's loops that can still win wait in the place of the tile; there is room."""
    axis, slots = case.grid.axis, case.slots
    mode, best, counters = tally.mode, tally.best, tally.counters
    dims = axis.shape[0]
    point = stack.child[row].point
    key = stack.child[row].key
    target, moving, extent, index = stack.work[4], stack.work[5], stack.work[6], stack.work[7]
    profile = stack.profile[level]
    innermost = -1
    n = 0
    for d in range(dims):
        target[d] = digit(axis, point, d)
        index[d] = digit(axis, path.node[level].point, d)
        if target[d] != index[d]:
            moving[n] = d
            n += 1
    sort_by_rank(slots, level, moving, n)
    start, stop = free_group(slots, level, moving, n)
    extents(case, level, point, extent)
    known_pj = path.certain_pj[level] + passing_pj(case, path, level)
    more = True
    while more:
        counters[0].ticks += _ORDER_TICKS
        profile.orders += 1
        if tally.log.used[0] < 0 and start == 0 and stop > 1 and moving[0] != innermost:
            # Orders of one innermost loop follow each other, and the tables bound them together.
            innermost = moving[0]
            inward_pj = enter_pj(case, path, level, index, target, moving[:n], innermost)
            if beaten(mode, best, known_pj + inward_pj, steps):
                counters[0].cut_bound += 1
                profile.orders_out += 1
                reverse(moving, 1, stop)
                more = order_after(moving, start, stop)
                continue
        certain_pj, bound_pj = _bound_order(case, path, level, point, moving, n, extent)
        cycles = steps
        if tally.log.used[0] < 0:
            cycles = least_cycles(case.target.hardware.levels, path.traffic[level - 1], steps)
        code = encode_order(moving, n)
        if beaten(mode, best, bound_pj, cycles):
            counters[0].cut_bound += 1
            profile.orders_out += 1
            note(tally, LEFT_OUT, level, point, code, bound_pj)
        else:
            _wait(stack, level, point, code, key if mode == CANONICAL else bound_pj, bound_pj, certain_pj)
        more = order_after(moving, start, stop)


@njit
def start_descent(path: Path, passes: Bools, points: int, bound_pj: float, stack: Stack) -> None:
    """Stand at the outermost level, its tile the whole: the last of so many lattice points."""
    top = stack.region.shape[0] - 1
    for level in range(1, top + 1):
        count = 0
        for point in range(points):
            if passes[level, point]:
                stack.tiles[level, count] = point
                count += 1
        stack.tile_counts[level] = count
    path.node[top].loops = 0
    path.node[top].point = points - 1
    stack.node_pj[top] = bound_pj
    for k in range(top + 1):
        stack.region[k].begin = stack.region[k].end = stack.region[k].waiting = 0
    stack.cursor[0].level = top
    stack.cursor[0].phase = ENTER


@njit
def _enter(
    case: Case,
    path: Path,
    run: Record,
    arrangements: Arrangements,
    work: WorkArrays,
    tally: Tally,
    level: int,
    stack: Stack,
) -> int:
    """Enter the node of a level, evaluate nests at the innermost; return the level at which the descent goes on."""
    counters, region, cursor = tally.counters, stack.region, stack.cursor[0]
    if used_up(counters):
        return level
    counters[0].nodes += 1
    stack.profile[level].nodes += 1
    if level == 0:
        least_pj = _evaluate_leaf(case, path, run, arrangements, work, tally, stack)
        note(tally, EVALUATED, 0, path.node[0].point, 0, least_pj)
        cursor.phase = TAKE
        return 1
    region[level].begin = region[level].end = region[level + 1].end if level < region.shape[0] - 1 else 0
    region[level].waiting = 0
    stack.target[:] = 0
    cursor.listed = 0
    cursor.phase = EXPAND
    return level


@njit
def _open_child(case: Case, path: Path, level: int, row: int, tally: Tally, stack: Stack) -> None:
    """Place the loops of a child, and stand before its node."""
    point, order = stack.child[row].point, stack.child[row].order
    moving, extent = stack.work[0], stack.work[1]
    note(tally, OPENED, level, point, order, stack.child[row].bound_pj)
    n = decode_order(order, moving)
    place_loops(case, path, level, point, moving, n)
    total = path.node[level].loops + n
    # Once more for the traffic: other children were placed in between.
    cross(case, path, level, total, extent)
    path.node[level - 1].loops = total
    path.node[level - 1].point = point
    path.certain_pj[level - 1] = stack.child[row].certain_pj
    stack.node_pj[level - 1] = stack.child[row].bound_pj
    stack.cursor[0].phase = ENTER


@njit
def _take(case: Case, path: Path, steps: float, level: int, tally: Tally, stack: Stack) -> tuple[int, bool]:
    """Take the cheapest child that waits at a level; return the level at which the descent goes on.

    Also returns whether something about its neighbours has to be known before it is taken.
    """
    counters, region, profile = tally.counters, stack.region, stack.profile[level]
    if region[level].waiting == 0:
        return level + 1, False
    c = stack.heap[region[level].begin]
    point = stack.child[c].point
    order = stack.child[c].order
    extents(case, level, point, stack.work[1])
    if order < 0 and asks(case, path, level, point, stack.work[1]):
        return level, True
    if order < 0 and not _has_room(stack, level, _orders_at_most(case.grid.axis, path.node[level].point, point)):
        return level, False
    pop(stack.heap, region[level].begin, region[level].waiting, stack.child["key"])
    region[level].waiting -= 1
    if beaten(tally.mode, tally.best, stack.child[c].bound_pj, steps):
        counters[0].cut_bound += 1
        profile.taken_out += 1
        note(tally, LEFT_OUT, level, point, order, stack.child[c].bound_pj)
        if tally.mode != CANONICAL and tally.log.used[0] < 0:
            # No other has a lower bound.
            counters[0].cut_bound += region[level].waiting
            profile.taken_out += region[level].waiting
            region[level].waiting = 0
        return level, False
    if order < 0:
        _list_orders(case, path, steps, level, c, tally, stack)
        return level, False
    _open_child(case, path, level, c, tally, stack)
    return level - 1, False


@njit
def descend(
    case: Case,
    path: Path,
    steps: float,
    run: Record,
    arrangements: Arrangements,
    work: WorkArrays,
    tally: Tally,
    stack: Stack,
) -> bool:
    """Search one unrolling until it ends, it is time for a pause or the stack has to grow; return whether it ended.

    ``run`` says which arrangements and orders matter. Children wait in heaps, the cheapest bound first; in canonical
    mode in canonical order. After a pause the same call goes on where it stood: ``path`` and ``stack`` hold all of it.
    """
    counters, cursor = tally.counters, stack.cursor[0]
    top = stack.region.shape[0] - 1
    level = cursor.level
    asked = False
    cursor.needed = 0
    while level <= top:
        paused = counters[0].ticks >= counters[0].pause or counters[0].visited >= counters[0].enough
        if paused or asked or counters[0].stopped != RUNNING or cursor.needed > 0:
            cursor.level = level
            return False
        if cursor.phase == ENTER:
            level = _enter(case, path, run, arrangements, work, tally, level, stack)
        elif cursor.phase == EXPAND:
            if _list_tiles(case, path, steps, level, tally, stack):
                cursor.phase = TAKE
        else:
            level, asked = _take(case, path, steps, level, tally, stack)
    cursor.level = level
    return True
