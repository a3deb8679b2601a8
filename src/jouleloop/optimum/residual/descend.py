"""Walk all ends of one unrolling, innermost level first, and all orders of those that can still win.

The ends of a dimension multiply from inside; what is left outside a tile are its passes, the bound over the tile,
rounded up. The residual end of a loop follows from the passes at it alone, so everything that stands inside a level is
exactly known when the level is complete.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    AXIS,
    BOUND,
    CAPACITY,
    DIM,
    MAX_LOOPS,
    MIN_WORDS,
    SPATIAL,
    TEMPORAL,
    Bools,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
)
from jouleloop.model.evaluate import count_nest, evaluate_residual_nest
from jouleloop.model.kernel import box_words
from jouleloop.model.residual import has_residuals
from jouleloop.optimum.residual.ahead import ahead_pj
from jouleloop.optimum.residual.bound import (
    CHILD,
    CROSSING,
    FIXED,
    HALO,
    LEAST,
    MOST,
    RANK,
    bound_unrolling,
    fill_halos,
    refine_crossing,
)
from jouleloop.optimum.residual.counts import least_cost

#: Places of a search's counters: leaves bounded, nests evaluated, nodes left out by bound, by capacity, and nodes.
LEAVES, VISITED, CUT_BOUND, CUT_CAPACITY, NODES, COUNTERS = range(6)
#: Relative slack: sums are added in another order.
SLACK = 1e-11


class Design(NamedTuple):
    """What a search is about.

    Attributes
    ----------
    relevant, mate, step
        Whether a dimension moves a data space, which other dimension moves the same rank of it (-1: none), and by how
        much it moves, each of shape (data spaces, dimensions).
    slots
        Temporal slots, shape (levels, dimensions, SLOT).
    """

    layer: LayerArrays
    relevant: Bools
    mate: Ints
    step: Ints
    spec: Floats
    compute_pj: float
    elided: bool
    keep: Bools
    slots: Ints


class Unrolled(NamedTuple):
    """One unrolling.

    Attributes
    ----------
    factors, idle
        Spatial factors, and whether some of those units are never used, shape (levels, dimensions).
    crossings, counts, instances, halos
        See `jouleloop.optimum.residual.bound`.
    loops
        Arrangements on the mesh by level, shape (levels, arrangements, MAX_LOOPS, 3); outermost first.
    numbers
        By level: loops of an arrangement, and arrangements.
    """

    factors: Ints
    idle: Bools
    crossings: Floats
    counts: Ints
    instances: Floats
    halos: Floats
    loops: Ints
    numbers: Ints


class Best(NamedTuple):
    """The best nest so far: energy [pJ] and cycles, number of improvements, and its arrays."""

    value: Floats
    found: Ints
    counts: Ints
    loops: Ints
    keep: Bools


@njit
def _most_outside(slots: Ints, factors: Ints, bounds: Ints) -> Ints:
    """Return by level and dimension how often all loops outside that level can run at most."""
    levels, dims = factors.shape
    most = np.ones((levels, dims), np.int64)
    for level in range(levels - 2, -1, -1):
        for d in range(dims):
            here = slots[level + 1, d, FIXED] or slots[level + 1, d, MOST]
            most[level, d] = min(most[level + 1, d] * here * factors[level + 1, d], bounds[d])
    return most


@njit
def _next_factor(slots: Ints, factors: Ints) -> Ints:
    """Return by level and dimension which unrolled factor alone stands outside a loop, next to it.

    1 where nothing is unrolled outside, 0 where several factors are or loops may stand between.
    """
    levels, dims = factors.shape
    found = np.ones((levels, dims), np.int64)
    for d in range(dims):
        for level in range(levels):
            between = False
            for outer in range(level + 1, levels):
                if factors[outer, d] > 1:
                    found[level, d] = 0 if between or found[level, d] != 1 else factors[outer, d]
                between = between or slots[outer, d, FIXED] > 1
                between = between or (slots[outer, d, FIXED] == 0 and slots[outer, d, MOST] > 1)
    return found


@njit
def list_ends(slot: Ints, passes: int, most: int, most_outside: int, factor: int, found: Ints, largest: Ints) -> int:
    """Write the ends that a loop with so many passes may have, ascending; return their number.

    Ends above the passes change nothing but the cycles. A loop that leaves passes outside needs somebody who makes
    them. All that stands outside depends on the passes left alone; so of all ends that leave as many only the least
    counts, and the one whose last run is a single iteration. Not so where the last pass is done by one instance of
    those unrolled next to the loop (``factor``, see `_next_factor`; -1 where every end counts).

    ``most``: the largest for which there is room; ``largest``: beside each end the largest that leaves as many passes;
    ``factor`` -2: only the least of them counts.
    """
    idle = factor != 1 and factor >= 0
    if slot[FIXED] > 0:
        left = -(-passes // slot[FIXED])
        if (slot[FIXED] > 1 and passes < 2) or left > most_outside or (left == 1 and idle):
            return 0
        found[0], largest[0] = slot[FIXED], slot[FIXED]
        return 1
    high = min(slot[MOST], passes, most)
    end = max(slot[LEAST], -(-passes // most_outside))
    number = 0
    while end <= high:
        left = -(-passes // end)
        if left == 1 and idle:
            break
        last = min(high, (passes - 1) // (left - 1)) if left > 1 else high
        if factor == -2:
            found[number], largest[number] = end, last
            number += 1
        elif factor < 1 or (factor > 1 and (left - 1) % factor == 0):
            for one in range(end, last + 1):
                found[number], largest[number] = one, one
                number += 1
        else:
            found[number], largest[number] = end, end
            number += 1
            # Of these ends only the last can divide the passes but one.
            if last > end and (passes - 1) % last == 0:
                found[number], largest[number] = last, last
                number += 1
        end = last + 1
    return number


@njit
def _tile_words(design: Design, level: int, extent: Ints, size: Ints) -> int:
    bounds = design.layer.bounds
    for d in range(bounds.shape[0]):
        size[d] = min(extent[d], bounds[d])
    needed = 0
    for v in range(design.relevant.shape[0]):
        if design.keep[level, v]:
            needed += box_words(design.layer.coef[v], size)
    return needed


@njit
def _most_room(
    design: Design, level: int, d: int, passes: int, factors: Ints, ends: Ints, extent: Ints, room: Ints, size: Ints
) -> int:
    """Return the largest end of a dimension for which a level has room, whatever ends the next dimensions have.

    ``extent`` are the tiles inside the level, ``ends`` those of the dimensions before; ``room`` and ``size`` are room
    to work in.
    """
    if design.spec[level, CAPACITY] == np.inf:
        return passes
    for e in range(ends.shape[0]):
        least = max(design.slots[level, e, FIXED], design.slots[level, e, LEAST])
        room[e] = extent[e] * factors[e] * (ends[e] if e < d else least)
    low, high = 0, passes
    while low < high:
        middle = (low + high + 1) // 2
        room[d] = extent[d] * factors[d] * middle
        if _tile_words(design, level, room, size) <= design.spec[level, CAPACITY]:
            low = middle
        else:
            high = middle - 1
    return low


@njit
def _tile_fits(design: Design, level: int, extent: Ints, size: Ints) -> bool:
    needed = _tile_words(design, level, extent, size)
    # Where one tile stands for several, a larger one may fill more.
    enough = design.spec[level, MIN_WORDS] <= needed or design.mate.max() >= 0
    return bool(enough and needed <= design.spec[level, CAPACITY])


@njit
def _try_nest(
    design: Design, unrolled: Unrolled, nest: NestArrays, work: WorkArrays, best: Best, counters: Ints
) -> None:
    """Bound a complete nest, evaluate it where it can win, on every arrangement where these may differ."""
    layer = design.layer
    counters[LEAVES] += 1
    levels = nest.counts.shape[0]
    least_pj, _ = least_cost(layer, design.relevant, design.spec, design.compute_pj, design.elided, nest, work)
    if least_pj >= best.value[0] * (1.0 - SLACK):
        return
    early = has_residuals(layer.bounds, nest)
    chosen = np.zeros(levels, np.int64)
    while True:
        for level in range(levels):
            nest.loops[level, SPATIAL] = unrolled.loops[level, chosen[level]]
        counters[VISITED] += 1
        if early:
            total_pj, cycles, _, _, _ = evaluate_residual_nest(
                layer, design.spec, design.compute_pj, design.elided, nest, work
            )
        else:
            total_pj, cycles, _, _ = count_nest(layer, design.spec, design.compute_pj, design.elided, nest, work)
        if total_pj < best.value[0] * (1.0 - SLACK):
            best.value[0], best.value[1] = total_pj, cycles
            best.found[0] += 1
            best.counts[:] = nest.counts
            best.loops[:] = nest.loops
            best.keep[:] = nest.keep
        if total_pj <= least_pj * (1.0 + SLACK):
            break
        level = 0
        while level < levels and chosen[level] + 1 >= unrolled.numbers[level, 1]:
            chosen[level] = 0
            level += 1
        if level == levels:
            break
        chosen[level] += 1
    for level in range(levels):
        nest.loops[level, SPATIAL] = unrolled.loops[level, 0]


@njit
def _order_allowed(slots: Ints, level: int, loops: Ints, number: int) -> bool:
    """Whether loops, outermost first, stand in an order that their ranks allow."""
    allowed = True
    for i in range(1, number):
        allowed = allowed and slots[level, loops[i - 1, DIM], RANK] >= slots[level, loops[i, DIM], RANK]
    return allowed


@njit
def _next_order(loops: Ints, number: int) -> bool:
    """Advance loops to the next order by dimension; return False, in ascending order again, after the last."""
    i = number - 2
    while i >= 0 and loops[i, DIM] >= loops[i + 1, DIM]:
        i -= 1
    if i >= 0:
        j = number - 1
        while loops[j, DIM] <= loops[i, DIM]:
            j -= 1
        for place in range(3):
            loops[i, place], loops[j, place] = loops[j, place], loops[i, place]
    low, high = i + 1, number - 1
    while low < high:
        for place in range(3):
            loops[low, place], loops[high, place] = loops[high, place], loops[low, place]
        low += 1
        high -= 1
    return bool(i >= 0)


@njit
def _try_orders(
    design: Design, unrolled: Unrolled, ends: Ints, nest: NestArrays, work: WorkArrays, best: Best, counters: Ints
) -> None:
    """Try every order of the loops whose ends are complete."""
    levels, dims = ends.shape
    for level in range(levels):
        number = 0
        for d in range(dims):
            if ends[level, d] > 1:
                nest.loops[level, TEMPORAL, number, DIM] = d
                nest.loops[level, TEMPORAL, number, BOUND] = ends[level, d]
                nest.loops[level, TEMPORAL, number, AXIS] = 0
                number += 1
        nest.counts[level, TEMPORAL] = number
        while not _order_allowed(design.slots, level, nest.loops[level, TEMPORAL], number):
            _next_order(nest.loops[level, TEMPORAL], number)
    while True:
        _try_nest(design, unrolled, nest, work, best, counters)
        level = 0
        while level < levels:
            loops, number = nest.loops[level, TEMPORAL], nest.counts[level, TEMPORAL]
            more = _next_order(loops, number)
            while more and not _order_allowed(design.slots, level, loops, number):
                more = _next_order(loops, number)
            if more:
                break
            # Around again: to the first order that is allowed.
            while not _order_allowed(design.slots, level, loops, number):
                _next_order(loops, number)
            level += 1
        if level == levels:
            return


@njit
def descend(
    design: Design, unrolled: Unrolled, root_pj: float, last: int, most_nodes: int, work: WorkArrays, nest: NestArrays,
    best: Best, counters: Ints,
) -> bool:  # fmt: skip
    """Search one unrolling, of which every nest costs ``root_pj`` at least; return whether it was searched to its end.

    ``last`` is the level at which nests are complete: where it is not that outside all, ``best`` becomes the least
    bound of what is open there. ``most_nodes``: where the search ends before it is done, 0 for never.
    """
    bounds = design.layer.bounds
    levels, dims = unrolled.factors.shape
    slots, factors = design.slots, unrolled.factors
    most_outside = _most_outside(slots, factors, bounds)
    factor_outside = _next_factor(slots, factors)
    windows = design.mate.max() >= 0
    for level in range(levels):
        if design.spec[level, MIN_WORDS] > 0:
            # Larger tiles may be asked for, so every end counts.
            for within in range(levels):
                for e in range(dims):
                    factor_outside[within, e] = -1 if factor_outside[within, e] in (1, -1) else 0
    if windows:
        factor_outside[:] = -2
    # How often a level is unrolled outside its own fan-out.
    beyond = np.ones((levels, dims), np.int64)
    for level in range(levels - 2, -1, -1):
        beyond[level] = beyond[level + 1] * factors[level + 1]
    ends, ends_most = np.ones((levels, dims), np.int64), np.ones((levels, dims), np.int64)
    listed = np.empty((levels, dims, bounds.max() + 1), np.int64)
    listed_most = np.empty((levels, dims, bounds.max() + 1), np.int64)
    open_ends = np.zeros((levels, dims), np.int64)
    extent, extent_most = np.ones((levels + 1, dims), np.int64), np.ones((levels + 1, dims), np.int64)
    passes = np.ones((levels, dims), np.int64)
    inner, rest = np.empty(dims, np.int64), np.empty(dims, np.int64)
    size, room = np.empty(dims, np.int64), np.empty(dims, np.int64)
    bound_pj, entered_pj = np.zeros(levels + 1), np.zeros(levels)
    bound_pj[0] = root_pj
    # By level: whose boundaries wait for a loop outside that moves them.
    spaces = design.relevant.shape[0]
    pending = np.zeros((levels + 1, spaces, levels), np.bool_)
    counts, crossings = unrolled.counts, unrolled.crossings
    has_choice = np.zeros(levels, np.bool_)
    for level in range(levels):
        for e in range(dims):
            free = slots[level, e, FIXED] == 0 and slots[level, e, MOST] > 1
            has_choice[level] = has_choice[level] or free
    # The share of the units of a fan-out that the last pass needs.
    used = np.ones((levels + 1, dims))
    nodes, level, d = 0, 0, 0
    entering = True
    while True:
        if entering and d == 0:
            # Passes at the temporal loops of a level: what its unrolled loops leave.
            nodes += 1
            counters[NODES] += 1
            if most_nodes and nodes > most_nodes:
                return False
            sound = True
            for e in range(dims):
                left = -(-bounds[e] // extent[level, e])
                factor = factors[level, e]
                if factor > 1 and (left < 2 or (left < factor) != unrolled.idle[level, e]):
                    sound = False
                passes[level, e] = -(-left // factor)
                inner[e] = -(-passes[level, e] // beyond[level, e])
                used[level, e] = ((left - 1) % factor + 1) / factor if left >= factor else 1.0
            if sound:
                entered_pj[level] = bound_pj[level]
                for v in range(spaces):
                    for i in range(counts[v]):
                        if crossings[v, i, CHILD] == level - 1 and level > 0:
                            pending[level, v, i] = True
                            entered_pj[level] += refine_crossing(
                                bounds, design.relevant[v], design.mate[v], design.step[v],
                                design.layer.read_write[v], design.spec, design.elided,
                                factors, unrolled.idle, slots, extent[level], unrolled.instances, crossings[v, i],
                            )  # fmt: skip
                            if windows:
                                fill_halos(
                                    bounds, design.mate[v], design.step[v], factors, extent[level], extent_most[level],
                                    inner, crossings[v, i], unrolled.halos[v, i],
                                )  # fmt: skip
                least_pj = entered_pj[level]
                # Where no loop can stand nothing is to be decided.
                if level == last or has_choice[level]:
                    least_pj += ahead_pj(
                    design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                    ends[level], passes[level],
                    inner, rest, used, False,
                )  # fmt: skip
                sound = least_pj < best.value[0] * (1.0 - SLACK)
                if not sound:
                    counters[CUT_BOUND] += 1
                elif level == last:
                    best.value[0] = least_pj
                    sound = False
            if not sound:
                level -= 1
                d = dims - 1
                entering = False
                if level < 0:
                    return True
                continue
        if entering:
            most = _most_room(
                design, level, d, passes[level, d], factors[level], ends[level], extent[level], room, size
            )
            open_ends[level, d] = list_ends(
                slots[level, d], passes[level, d], most, most_outside[level, d], factor_outside[level, d],
                listed[level, d], listed_most[level, d],
            )  # fmt: skip
        if open_ends[level, d] == 0:
            d -= 1
            entering = False
            if d < 0:
                level -= 1
                d = dims - 1
                if level < 0:
                    return True
            continue
        # The largest first: they are used again most.
        open_ends[level, d] -= 1
        ends[level, d] = listed[level, d, open_ends[level, d]]
        ends_most[level, d] = listed_most[level, d, open_ends[level, d]]
        entering = True
        if d + 1 < dims:
            d += 1
            continue
        # A complete level.
        empty = True
        for e in range(dims):
            extent[level + 1, e] = extent[level, e] * factors[level, e] * ends[level, e]
            inner[e] = -(-passes[level, e] // beyond[level, e])
            rest[e] = -(-passes[level, e] // (ends[level, e] * beyond[level, e]))
            extent_most[level + 1, e] = extent_most[level, e] * factors[level, e] * ends_most[level, e]
            empty = empty and ends[level, e] == 1
        if not _tile_fits(design, level, extent[level + 1], size):
            counters[CUT_CAPACITY] += 1
            entering = False
            continue
        bound_pj[level + 1] = entered_pj[level]
        pending[level + 1] = pending[level]
        if not empty:
            bound_pj[level + 1] += ahead_pj(
                design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                    ends[level], passes[level], inner,
                rest, used, True,
            )  # fmt: skip
            for v in range(spaces):
                moved = False
                for e in range(dims):
                    moved = moved or (design.relevant[v, e] and ends[level, e] > 1)
                if moved:
                    pending[level + 1, v] = False
        if level + 1 == levels:
            entering = False
            if windows:
                best.value[0] = min(best.value[0], bound_pj[levels])
            elif bound_pj[levels] < best.value[0] * (1.0 - SLACK):
                _try_orders(design, unrolled, ends, nest, work, best, counters)
            else:
                counters[CUT_BOUND] += 1
            continue
        level += 1
        d = 0


@njit
def bound_part(design: Design, unrolled: Unrolled) -> float:
    """Write the crossings of an unrolling; return the energy [pJ] that its nests cost at least, before any end."""
    layer = design.layer
    return bound_unrolling(
        layer.bounds, design.relevant, design.mate, design.step, layer.read_write, design.spec, design.compute_pj,
        design.elided, design.keep,
        unrolled.factors, unrolled.idle, unrolled.crossings, unrolled.counts, unrolled.instances,
    )  # fmt: skip


@njit
def bound_parts(
    design: Design, last: int, most_nodes: int, factors: Ints, idle: Bools, unrolled: Unrolled, work: WorkArrays,
    nest: NestArrays, best: Best, counters: Ints, bounds_pj: Floats,
) -> None:  # fmt: skip
    """Write what every unrolling costs at least [pJ], (unrollings,), once the levels inside ``last`` are chosen.

    ``factors`` and ``idle`` have shape (unrollings, levels, dimensions); all else is room to work in.
    """
    for n in range(factors.shape[0]):
        unrolled.factors[:] = factors[n]
        unrolled.idle[:] = idle[n]
        root_pj = bound_part(design, unrolled)
        best.value[0] = np.inf
        done = descend(design, unrolled, root_pj, last, most_nodes, work, nest, best, counters)
        bounds_pj[n] = best.value[0] if done else root_pj


def new_unrolled(levels: int, spaces: int, factors: Ints, idle: Bools, loops: Ints, numbers: Ints) -> Unrolled:
    """Return an unrolling whose crossings are not written yet."""
    room = np.zeros((spaces, levels, CROSSING)), np.zeros(spaces, np.int64), np.zeros(levels)
    return Unrolled(factors, idle, *room, np.zeros((spaces, levels, factors.shape[1], HALO)), loops, numbers)


def new_best(levels: int, spaces: int) -> Best:
    """Return the record of a search that has found nothing."""
    return Best(
        np.array([np.inf, np.inf]),
        np.zeros(1, np.int64),
        np.zeros((levels, 2), np.int64),
        np.zeros((levels, 2, MAX_LOOPS, 3), np.int64),
        np.zeros((levels, spaces), np.bool_),
    )
