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
from jouleloop.model.evaluate import evaluate_nest, evaluate_residual_nest
from jouleloop.model.kernel import box_words
from jouleloop.model.residual import has_residuals
from jouleloop.optimum.residual.bound import CHILD, crossing_pj
from jouleloop.optimum.residual.counts import least_cost

#: Places of a slot: the factor where it is fixed (0 where it is free), most, least, and rank of its loop.
FIXED, MOST, LEAST, RANK, SLOT = range(5)
#: Places of a search's counters: leaves bounded, nests evaluated, nodes left out by bound, by capacity, nodes; and the
#: most nodes that may be walked (0 for any), and whether they were not enough.
LEAVES, VISITED, CUT_BOUND, CUT_CAPACITY, NODES, MOST_NODES, STOPPED, COUNTERS = range(8)
#: Relative slack: sums are added in another order.
SLACK = 1e-11


class Design(NamedTuple):
    """What a search is about.

    Attributes
    ----------
    relevant
        Whether a dimension moves a data space, shape (data spaces, dimensions).
    slots
        Temporal slots, shape (levels, dimensions, SLOT).
    """

    layer: LayerArrays
    relevant: Bools
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
    crossings, counts, instances
        See `jouleloop.optimum.residual.bound.fill_crossings`.
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
def next_end(slot: Ints, passes: int, most_outside: int, factor: int, end: int) -> int:
    """Return the next end after ``end`` (0 to start) that a loop with so many passes may have; 0 after the last.

    Ends above the passes change nothing but the cycles. A loop that leaves passes outside needs somebody who makes
    them. All that stands outside depends on the passes left alone; so of all ends that leave as many only the least
    counts, and those whose last run is a single iteration. Not so where the last pass is done by one instance of those
    unrolled next to the loop (``factor``, see `_next_factor`; -1 where every end counts).
    """
    if slot[FIXED] > 0:
        if end > 0 or (slot[FIXED] > 1 and passes < 2):
            return 0
        left = -(-passes // slot[FIXED])
        return slot[FIXED] if left <= most_outside and (left > 1 or factor == 1 or factor < 0) else 0
    high = min(slot[MOST], passes)
    end = max(end + 1, slot[LEAST])
    while end <= high:
        left = -(-passes // end)
        if left == 1 and factor != 1 and factor >= 0:
            return 0
        if left > most_outside:
            end = max(end + 1, -(-passes // most_outside))
            continue
        least = max(-(-passes // left), slot[LEAST])
        alone = factor < 1 or (factor > 1 and (left - 1) % factor == 0)
        if alone or end == least or (passes - 1) % end == 0:
            return end
        # The next end that leaves fewer passes, or one before it that divides passes - 1.
        more = -(-passes // (left - 1)) if left > 1 else high + 1
        end += 1
        while end < more and (passes - 1) % end:
            end += 1
    return 0


@njit
def _tile_fits(design: Design, level: int, extent: Ints, size: Ints) -> bool:
    bounds = design.layer.bounds
    for d in range(bounds.shape[0]):
        size[d] = min(extent[d], bounds[d])
    needed = 0
    for v in range(design.relevant.shape[0]):
        if design.keep[level, v]:
            needed += box_words(design.layer.coef[v], size)
    return bool(design.spec[level, MIN_WORDS] <= needed <= design.spec[level, CAPACITY])


@njit
def _times(relevant: Bools, j: int, ends: Ints, passes: Ints, inner: Ints, rest: Ints, complete: bool) -> float:
    """Return how often a data space passes a boundary at least, if ``j`` is the innermost loop outside it.

    ``inner`` and ``rest`` hold how often an instance runs all loops from a level outward, and all outside of it. Where
    the level is ``complete`` its ``ends`` and the ``passes`` at them are known.
    """
    dims = relevant.shape[0]
    again = 1.0
    for d in range(dims):
        if not relevant[d]:
            again *= inner[d]
    if not complete:
        if not relevant[j]:
            return 1.0
        # In the last pass of j all may stand still, which is one box of all it visits.
        return float(1.0 + (again - 1.0) * max(0.0, 1.0 - 1.0 / inner[j]))
    if relevant[j] and (passes[j] - 1) % ends[j] > 0:
        return again
    times = 1.0
    moves = False
    for d in range(dims):
        moves = moves or (relevant[d] and ends[d] > 1 and (passes[d] - 1) % ends[d] > 0)
        if not relevant[d]:
            times *= rest[d]
    return float(times) if moves else 1.0


@njit
def _pending_pj(
    design: Design, unrolled: Unrolled, pending: Bools, ends: Ints, passes: Ints, inner: Ints, rest: Ints,
    complete: bool,
) -> float:  # fmt: skip
    """Return by how much [pJ] the boundaries that are not priced yet cost more than once through, at least.

    All of them have the loops of one level next outside; a complete level has some.
    """
    least = np.inf
    for j in range(inner.shape[0]):
        if (ends[j] == 1) if complete else (inner[j] == 1):
            continue
        total = 0.0
        for v in range(design.relevant.shape[0]):
            times = 0.0
            for i in range(unrolled.counts[v]):
                if not pending[v, i]:
                    continue
                if times == 0.0:
                    times = _times(design.relevant[v], j, ends, passes, inner, rest, complete)
                if times > 1.0:
                    crossing = unrolled.crossings[v, i]
                    written = design.layer.read_write[v]
                    total += crossing_pj(design.spec, unrolled.instances, crossing, written, design.elided, times)
                    total -= crossing_pj(design.spec, unrolled.instances, crossing, written, design.elided, 1.0)
        least = min(least, total)
    return 0.0 if least == np.inf else float(least)


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
            total_pj, cycles, _, _ = evaluate_nest(layer, design.spec, design.compute_pj, design.elided, nest, work)
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
    design: Design, unrolled: Unrolled, root_pj: float, work: WorkArrays, nest: NestArrays, best: Best, counters: Ints
) -> None:
    """Search one unrolling, of which every nest costs ``root_pj`` at least, to its end."""
    bounds = design.layer.bounds
    levels, dims = unrolled.factors.shape
    slots, factors = design.slots, unrolled.factors
    most_outside = _most_outside(slots, factors, bounds)
    factor_outside = _next_factor(slots, factors)
    for level in range(levels):
        if design.spec[level, MIN_WORDS] > 0:
            # Larger tiles may be asked for, so every end counts.
            for within in range(levels):
                for e in range(dims):
                    factor_outside[within, e] = -1 if factor_outside[within, e] in (1, -1) else 0
    share = np.empty(dims, np.int64)
    for d in range(dims):
        outside = 1
        for level in range(levels):
            outside *= factors[level, d]
        share[d] = -(-bounds[d] // outside)
    ends = np.ones((levels, dims), np.int64)
    end_now = np.zeros((levels, dims), np.int64)
    extent = np.ones((levels + 1, dims), np.int64)
    inside = np.ones((levels + 1, dims), np.int64)
    passes = np.ones((levels, dims), np.int64)
    inner, rest = np.empty(dims, np.int64), np.empty(dims, np.int64)
    size = np.empty(dims, np.int64)
    bound_pj = np.zeros(levels + 1)
    bound_pj[0] = root_pj
    # By level: whose boundaries wait for a loop outside that moves them.
    spaces = design.relevant.shape[0]
    pending = np.zeros((levels + 1, spaces, levels), np.bool_)
    level, d = 0, 0
    entering = True
    while True:
        if entering and d == 0:
            # Passes at the temporal loops of a level: what its unrolled loops leave.
            counters[NODES] += 1
            if counters[MOST_NODES] and counters[NODES] > counters[MOST_NODES]:
                counters[STOPPED] = 1
                return
            for v in range(spaces):
                for i in range(unrolled.counts[v]):
                    child = int(unrolled.crossings[v, i, CHILD])
                    if child >= 0 and child + 1 == level:
                        pending[level, v, i] = True
            sound = True
            for e in range(dims):
                left = -(-bounds[e] // extent[level, e])
                factor = factors[level, e]
                if factor > 1 and (left < 2 or (left < factor) != unrolled.idle[level, e]):
                    sound = False
                passes[level, e] = -(-left // factor)
                inner[e] = max(1, -(-share[e] // inside[level, e]))
            if sound:
                ahead_pj = _pending_pj(design, unrolled, pending[level], ends[level], passes[level], inner, rest, False)
                sound = bound_pj[level] + ahead_pj < best.value[0] * (1.0 - SLACK)
                if not sound:
                    counters[CUT_BOUND] += 1
            if not sound:
                level -= 1
                d = dims - 1
                entering = False
                if level < 0:
                    return
                continue
        if entering:
            end_now[level, d] = 0
        end = next_end(
            slots[level, d], passes[level, d], most_outside[level, d], factor_outside[level, d], end_now[level, d]
        )  # fmt: skip
        if end == 0:
            d -= 1
            entering = False
            if d < 0:
                level -= 1
                d = dims - 1
                if level < 0:
                    return
            continue
        end_now[level, d] = end
        ends[level, d] = end
        entering = True
        if d + 1 < dims:
            d += 1
            continue
        # A complete level.
        empty = True
        for e in range(dims):
            extent[level + 1, e] = extent[level, e] * factors[level, e] * ends[level, e]
            inner[e] = max(1, -(-share[e] // inside[level, e]))
            inside[level + 1, e] = inside[level, e] * ends[level, e]
            rest[e] = max(1, -(-share[e] // inside[level + 1, e]))
            empty = empty and ends[level, e] == 1
        if not _tile_fits(design, level, extent[level + 1], size):
            counters[CUT_CAPACITY] += 1
            entering = False
            continue
        bound_pj[level + 1] = bound_pj[level]
        pending[level + 1] = pending[level]
        if not empty:
            bound_pj[level + 1] += _pending_pj(
                design, unrolled, pending[level], ends[level], passes[level], inner, rest, True
            )
            for v in range(spaces):
                moved = False
                for e in range(dims):
                    moved = moved or (design.relevant[v, e] and ends[level, e] > 1)
                if moved:
                    pending[level + 1, v] = False
        if level + 1 == levels:
            entering = False
            if bound_pj[levels] < best.value[0] * (1.0 - SLACK):
                _try_orders(design, unrolled, ends, nest, work, best, counters)
            else:
                counters[CUT_BOUND] += 1
            continue
        level += 1
        d = 0


def new_best(levels: int, spaces: int) -> Best:
    """Return the record of a search that has found nothing."""
    return Best(
        np.array([np.inf, np.inf]),
        np.zeros(1, np.int64),
        np.zeros((levels, 2), np.int64),
        np.zeros((levels, 2, MAX_LOOPS, 3), np.int64),
        np.zeros((levels, spaces), np.bool_),
    )
