"""Walk all ends of one unrolling, innermost level first, and all orders of those that can still win.

The ends of a dimension multiply from inside; what is left outside a tile are its passes, the bound over the tile,
rounded up. The residual end of a loop follows from the passes at it alone, so everything that stands inside a level is
exactly known when the level is complete.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import CAPACITY, MIN_WORDS, Bools, Floats, Ints, NestArrays, WorkArrays
from jouleloop.optimum.arrays import (
    BUDGET,
    BY_EVALUATIONS,
    CUT_BOUND,
    CUT_CAPACITY,
    NODES,
    PAUSE,
    RUNNING,
    STOPPED,
    TICKS,
    VISITED,
)
from jouleloop.optimum.residual.ahead import ahead_pj
from jouleloop.optimum.residual.bound import CHILD, FIXED, LEAST, MOST, bound_unrolling
from jouleloop.optimum.residual.ends import list_ends
from jouleloop.optimum.residual.leaf import foresee, refine, tile_words, try_leaf
from jouleloop.optimum.residual.state import SLACK, Best, Design, Unrolled, Walk, value_of
from jouleloop.optimum.residual.whole import fill_shares, pressed_pj


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
def _tile_fits(design: Design, level: int, extent: Ints, largest: Ints, size: Ints) -> bool:
    """Whether a tile fits a level; one that stands for several up to the largest, whether any may."""
    if tile_words(design, level, extent, size) > design.spec[level, CAPACITY]:
        return False
    least = design.spec[level, MIN_WORDS]
    return bool(least == 0.0 or least <= tile_words(design, level, largest, size))


@njit
def descend(
    design: Design, unrolled: Unrolled, walk: Walk, work: WorkArrays, nest: NestArrays, best: Best, counters: Ints
) -> bool:  # fmt: skip
    """Search one unrolling, from where its walk stands; return whether it is done, or it is time for a pause."""
    bounds = design.layer.bounds
    levels, dims = unrolled.factors.shape
    slots, factors = design.slots, unrolled.factors
    ends, open_ends, bound_pj, entered_pj, pending = walk.ends, walk.left, walk.bound_pj, walk.entered_pj, walk.pending
    extent, passes = ends.extent, ends.passes
    inner, rest, size, room = walk.room.inner, walk.room.rest, walk.room.size, walk.room.tile
    spaces = design.relevant.shape[0]
    counts, crossings = unrolled.counts, unrolled.crossings
    has_choice = walk.has_choice
    level, d, entering = walk.place[0], walk.place[1], walk.place[2] == 1
    while True:
        if counters[VISITED] >= counters[BUDGET]:
            counters[STOPPED] = BY_EVALUATIONS
        if counters[TICKS] >= counters[PAUSE] or counters[STOPPED] != RUNNING:
            walk.place[0], walk.place[1], walk.place[2] = level, d, entering
            return False
        counters[TICKS] += 1
        if entering and d == 0:
            # Passes at the temporal loops of a level: what its unrolled loops leave.
            counters[NODES] += 1
            sound = True
            steps = walk.steps[level]
            for e in range(dims):
                left = -(-bounds[e] // extent[level, e])
                factor = factors[level, e]
                if factor > 1 and (left < 2 or (left < factor) != unrolled.idle[level, e]):
                    sound = False
                passes[level, e] = -(-left // factor)
                inner[e] = -(-passes[level, e] // ends.beyond[level, e])
                steps *= inner[e]
                ends.used[level, e] = ((left - 1) % factor + 1) / factor if left >= factor else 1.0
            if sound:
                entered_pj[level] = bound_pj[level]
                fill_shares(design, unrolled, ends, level, walk.shares)
                if level > 0:
                    entered_pj[level] += refine(design, unrolled, ends, level, room)
                    walk.pressed_pj[level] = pressed_pj(design, unrolled, level, walk.shares)
                    entered_pj[level] += walk.pressed_pj[level] - walk.pressed_pj[level - 1]
                    for v in range(spaces):
                        for i in range(counts[v]):
                            pending[level, v, i] = pending[level, v, i] or crossings[v, i, CHILD] == level - 1
                least_pj = entered_pj[level]
                if level == 0 or has_choice[level - 1]:
                    least_pj += foresee(design, unrolled, ends, level, room, size)
                # Where no loop can stand nothing is to be decided.
                if has_choice[level] and value_of(design, least_pj, steps) < best.value[0] * (1.0 - SLACK):
                    least_pj += ahead_pj(
                        design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                        ends.least[level], ends.largest_end[level], passes[level], inner, rest, ends.used, False,
                    )  # fmt: skip
                value = value_of(design, least_pj, steps)
                sound = value < best.value[0] * (1.0 - SLACK)
                if not sound:
                    counters[CUT_BOUND] += 1
                    best.cut[0] = min(best.cut[0], value)
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
                slots[level, d], passes[level, d], most, walk.least_outside[level, d], walk.most_outside[level, d],
                walk.factor_outside[level, d], walk.listed[level, d], walk.largest[level, d],
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
        inside = walk.steps[level]
        outside = 1.0
        for e in range(dims):
            here = ends.least[level, e]
            extent[level + 1, e] = extent[level, e] * factors[level, e] * here
            ends.largest[level + 1, e] = ends.largest[level, e] * factors[level, e] * ends.largest_end[level, e]
            inner[e] = -(-passes[level, e] // ends.beyond[level, e])
            rest[e] = -(-passes[level, e] // (here * ends.beyond[level, e]))
            inside *= here
            outside *= rest[e]
            empty = empty and here == 1
        walk.steps[level + 1] = inside
        if not _tile_fits(design, level, extent[level + 1], ends.largest[level + 1], size):
            counters[CUT_CAPACITY] += 1
            entering = False
            continue
        bound_pj[level + 1] = entered_pj[level]
        for v in range(spaces):
            for i in range(counts[v]):
                pending[level + 1, v, i] = pending[level, v, i]
        if not empty:
            bound_pj[level + 1] += ahead_pj(
                design.relevant, design.mate, counts, crossings, unrolled.halos, pending[level], slots[level],
                ends.least[level], ends.largest_end[level], passes[level], inner, rest, ends.used, True,
            )  # fmt: skip
            for v in range(spaces):
                moved = False
                for e in range(dims):
                    moved = moved or (design.relevant[v, e] and ends.least[level, e] > 1)
                if moved:
                    pending[level + 1, v] = False
        value = value_of(design, bound_pj[level + 1], inside * outside)
        if value >= best.value[0] * (1.0 - SLACK):
            counters[CUT_BOUND] += 1
            best.cut[0] = min(best.cut[0], value)
            entering = False
        elif level + 1 == levels:
            entering = False
            try_leaf(
                design, unrolled, ends, bound_pj[0], walk.pressed_pj[level], inside, nest, work, best, counters,
                walk.room,
            )  # fmt: skip
        else:
            level += 1
            d = 0


@njit(apart=True)
def bound_part(design: Design, unrolled: Unrolled) -> float:
    """Write the crossings of an unrolling; return the energy [pJ] that its nests cost at least, before any end."""
    layer = design.layer
    return bound_unrolling(
        layer.bounds, design.relevant, design.mate, design.step, layer.read_write, design.spec, design.compute_pj,
        design.elided, design.keep,
        unrolled.factors, unrolled.idle, unrolled.crossings, unrolled.counts, unrolled.instances,
    )  # fmt: skip


@njit
def bound_parts(design: Design, factors: Ints, idle: Bools, unrolled: Unrolled, bounds: Floats) -> None:
    """Write the value of the objective that every unrolling has at least, (unrollings,), before any end is known.

    ``factors`` and ``idle`` have shape (unrollings, levels, dimensions); ``unrolled`` is room to work in.
    """
    for n in range(factors.shape[0]):
        unrolled.factors[:] = factors[n]
        unrolled.idle[:] = idle[n]
        steps = 1.0
        for d in range(factors.shape[2]):
            units = 1
            for level in range(factors.shape[1]):
                units *= factors[n, level, d]
            steps *= -(-design.layer.bounds[d] // units)
        bounds[n] = value_of(design, bound_part(design, unrolled), steps)
