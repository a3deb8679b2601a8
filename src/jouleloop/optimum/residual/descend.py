"""Walk all ends of one unrolling, innermost level first, and all orders of those that can still win.

The ends of a dimension multiply from inside; what is left outside a tile are its passes, the bound over the tile,
rounded up. The residual end of a loop follows from the passes at it alone, so everything that stands inside a level is
exactly known when the level is complete.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import CAPACITY, MIN_WORDS, Bools, Floats, Ints, NestArrays, WorkArrays
from jouleloop.optimum.arrays import CUT_BOUND, CUT_CAPACITY, NODES, PAUSE, TICKS
from jouleloop.optimum.residual.ahead import ahead_pj
from jouleloop.optimum.residual.bound import CHILD, FIXED, LEAST, MOST, bound_unrolling
from jouleloop.optimum.residual.leaf import foresee, refine, tile_words, try_leaf
from jouleloop.optimum.residual.state import SLACK, Best, Design, Unrolled, Walk


@njit
def passes_outside(slots: Ints, factors: Ints, idle: Bools, bounds: Ints) -> tuple[Ints, Ints]:
    """Return by level and dimension how often all loops outside that level run at least and at most."""
    levels, dims = factors.shape
    least, most = np.ones((levels, dims), np.int64), np.ones((levels, dims), np.int64)
    for level in range(levels - 2, -1, -1):
        for d in range(dims):
            slot, factor = slots[level + 1, d], factors[level + 1, d]
            high = min(most[level + 1, d] * (slot[FIXED] or slot[MOST]), bounds[d])
            end = slot[FIXED] or slot[LEAST]
            low = max((least[level + 1, d] - 1) * end + 1, min(end, 2) if slot[FIXED] else end)
            if idle[level + 1, d]:
                # Some units are never used, so there is one pass.
                low, high = 2 if low == 1 else factor, factor - 1
            elif factor > 1:
                low, high = max((low - 1) * factor + 1, factor), min(high * factor, bounds[d])
            least[level, d], most[level, d] = low, high
    return least, most


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
def list_ends(
    slot: Ints, passes: int, most: int, least_outside: int, most_outside: int, factor: int, found: Ints, largest: Ints
) -> int:
    """Write the ends that a loop with so many passes may have, ascending; return their number.

    Ends above the passes change nothing but the cycles. A loop that leaves passes outside needs somebody who makes
    them. All that stands outside depends on the passes left alone; so of all ends that leave as many only the least
    counts, and the one whose last run is a single iteration. Not so where the last pass is done by one instance of
    those unrolled next to the loop (``factor``, see `_next_factor`; -1 where every end counts).

    ``most``: the largest for which there is room; ``least_outside`` and ``most_outside``: see `passes_outside`;
    ``largest``: beside each end the largest that leaves as many passes; ``factor`` -2: only the least of them counts.
    """
    if slot[FIXED] > 0:
        left = -(-passes // slot[FIXED])
        if (slot[FIXED] > 1 and passes < 2) or not least_outside <= left <= most_outside:
            return 0
        found[0], largest[0] = slot[FIXED], slot[FIXED]
        return 1
    high = min(slot[MOST], passes, most)
    end = max(slot[LEAST], -(-passes // most_outside))
    number = 0
    while end <= high:
        left = -(-passes // end)
        if left < least_outside:
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
def _most_room(
    design: Design, level: int, d: int, passes: int, factors: Ints, ends: Ints, extent: Ints, room: Ints, size: Ints
) -> int:
    """Return the largest end of a dimension for which a level has room, whatever ends the next dimensions have.

    A dimension moves one rank of a data space at most, so words grow by as many with every end, but for the last one,
    which may be cut at the bound. ``extent`` are the tiles inside the level, ``ends`` those of the dimensions before;
    ``room`` and ``size`` are room to work in.
    """
    capacity = design.spec[level, CAPACITY]
    if capacity == np.inf or design.slots[level, d, FIXED] > 0 or design.slots[level, d, MOST] == 1:
        return passes
    for e in range(ends.shape[0]):
        least = max(design.slots[level, e, FIXED], design.slots[level, e, LEAST])
        room[e] = extent[e] * factors[e] * (ends[e] if e < d else least)
    unit = extent[d] * factors[d]
    room[d] = unit * passes
    if tile_words(design, level, room, size) <= capacity:
        return passes
    room[d] = unit
    least = tile_words(design, level, room, size)
    if least > capacity or passes <= 2:
        return 1 if least <= capacity else 0
    room[d] = 2 * unit
    return min(passes - 1, 1 + int((capacity - least) // (tile_words(design, level, room, size) - least)))


@njit
def _tile_fits(design: Design, level: int, extent: Ints, size: Ints) -> bool:
    needed = tile_words(design, level, extent, size)
    # Where one tile stands for several, a larger one may fill more.
    enough = design.spec[level, MIN_WORDS] <= needed or design.mate.max() >= 0
    return bool(enough and needed <= design.spec[level, CAPACITY])


@njit
def descend(
    design: Design, unrolled: Unrolled, walk: Walk, work: WorkArrays, nest: NestArrays, best: Best, counters: Ints
) -> bool:  # fmt: skip
    """Search one unrolling, from where its walk stands; return whether it is done, or it is time for a pause."""
    bounds = design.layer.bounds
    levels, dims = unrolled.factors.shape
    slots, factors = design.slots, unrolled.factors
    least_outside, most_outside = passes_outside(slots, factors, unrolled.idle, bounds)
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
    ends, open_ends, bound_pj, entered_pj, pending = walk.ends, walk.left, walk.bound_pj, walk.entered_pj, walk.pending
    extent, passes = ends.extent, ends.passes
    inner, rest = np.empty(dims, np.int64), np.empty(dims, np.int64)
    size, room = np.empty(dims, np.int64), np.empty(dims, np.int64)
    spaces = design.relevant.shape[0]
    counts, crossings = unrolled.counts, unrolled.crossings
    has_choice = np.zeros(levels, np.bool_)
    for level in range(levels):
        for e in range(dims):
            free = slots[level, e, FIXED] == 0 and slots[level, e, MOST] > 1
            has_choice[level] = has_choice[level] or free
    level, d, entering = walk.place[0], walk.place[1], walk.place[2] == 1
    while True:
        if counters[TICKS] >= counters[PAUSE]:
            walk.place[0], walk.place[1], walk.place[2] = level, d, entering
            return False
        counters[TICKS] += 1
        if entering and d == 0:
            # Passes at the temporal loops of a level: what its unrolled loops leave.
            counters[NODES] += 1
            sound = True
            for e in range(dims):
                left = -(-bounds[e] // extent[level, e])
                factor = factors[level, e]
                if factor > 1 and (left < 2 or (left < factor) != unrolled.idle[level, e]):
                    sound = False
                passes[level, e] = -(-left // factor)
                inner[e] = -(-passes[level, e] // ends.beyond[level, e])
                ends.used[level, e] = ((left - 1) % factor + 1) / factor if left >= factor else 1.0
            if sound:
                entered_pj[level] = bound_pj[level]
                if level > 0:
                    entered_pj[level] += refine(design, unrolled, ends, level, room)
                    for v in range(spaces):
                        for i in range(counts[v]):
                            pending[level, v, i] = pending[level, v, i] or crossings[v, i, CHILD] == level - 1
                least_pj = entered_pj[level]
                if level == 0 or has_choice[level - 1]:
                    least_pj += foresee(design, unrolled, ends, level, room, size)
                # Where no loop can stand nothing is to be decided.
                if has_choice[level] and least_pj < best.value[0] * (1.0 - SLACK):
                    least_pj += ahead_pj(
                        design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                        ends.least[level], passes[level], inner, rest, ends.used, False,
                    )  # fmt: skip
                sound = least_pj < best.value[0] * (1.0 - SLACK)
                if not sound:
                    counters[CUT_BOUND] += 1
                    best.cut[0] = min(best.cut[0], least_pj)
            if not sound:
                level -= 1
                d = dims - 1
                entering = False
                if level < 0:
                    return True
                continue
        if entering:
            most = _most_room(
                design, level, d, passes[level, d], factors[level], ends.least[level], extent[level], room, size
            )
            open_ends[level, d] = list_ends(
                slots[level, d], passes[level, d], most, least_outside[level, d], most_outside[level, d],
                factor_outside[level, d], walk.listed[level, d], walk.largest[level, d],
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
        ends.least[level, d] = walk.listed[level, d, open_ends[level, d]]
        ends.largest_end[level, d] = walk.largest[level, d, open_ends[level, d]]
        entering = True
        if d + 1 < dims:
            d += 1
            continue
        # A complete level.
        empty = True
        for e in range(dims):
            here = ends.least[level, e]
            extent[level + 1, e] = extent[level, e] * factors[level, e] * here
            ends.largest[level + 1, e] = ends.largest[level, e] * factors[level, e] * ends.largest_end[level, e]
            inner[e] = -(-passes[level, e] // ends.beyond[level, e])
            rest[e] = -(-passes[level, e] // (here * ends.beyond[level, e]))
            empty = empty and here == 1
        if not _tile_fits(design, level, extent[level + 1], size):
            counters[CUT_CAPACITY] += 1
            entering = False
            continue
        bound_pj[level + 1] = entered_pj[level]
        pending[level + 1] = pending[level]
        if not empty:
            bound_pj[level + 1] += ahead_pj(
                design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                ends.least[level], passes[level], inner, rest, ends.used, True,
            )  # fmt: skip
            for v in range(spaces):
                moved = False
                for e in range(dims):
                    moved = moved or (design.relevant[v, e] and ends.least[level, e] > 1)
                if moved:
                    pending[level + 1, v] = False
        if bound_pj[level + 1] >= best.value[0] * (1.0 - SLACK):
            counters[CUT_BOUND] += 1
            best.cut[0] = min(best.cut[0], bound_pj[level + 1])
            entering = False
        elif level + 1 == levels:
            entering = False
            try_leaf(design, unrolled, ends, bound_pj[0], nest, work, best, counters)
        else:
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
def bound_parts(design: Design, factors: Ints, idle: Bools, unrolled: Unrolled, bounds_pj: Floats) -> None:
    """Write what every unrolling costs at least [pJ], (unrollings,), before any end is known.

    ``factors`` and ``idle`` have shape (unrollings, levels, dimensions); ``unrolled`` is room to work in.
    """
    for n in range(factors.shape[0]):
        unrolled.factors[:] = factors[n]
        unrolled.idle[:] = idle[n]
        bounds_pj[n] = bound_part(design, unrolled)
