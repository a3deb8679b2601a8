"""Walk all ends of one unrolling, innermost level first, and all orders of those that can still win.

The ends of a dimension multiply from inside; what is left outside a tile are its passes, the bound over the tile,
rounded up. The residual end of a loop follows from the passes at it alone, so everything that stands inside a level is
exactly known when the level is complete.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.order import used_up
from jouleloop.optimum.residual.ahead import ahead_pj
from jouleloop.optimum.residual.ends import list_ends
from jouleloop.optimum.residual.leaf import refine, tile_words, try_leaf
from jouleloop.optimum.residual.state import SLACK, Design, Trial, Unrolled, Walk, value_of
from jouleloop.optimum.residual.whole import fill_shares, pressed_pj


@njit
def _most_room(design: Design, unrolled: Unrolled, walk: Walk, level: int, d: int) -> int:
    """Return the largest end of a dimension for which a level has room, whatever ends the next dimensions have.

    A dimension moves one rank of a data space at most, so words grow by as many with every end, but for the last one,
    which may be cut at the bound.
    """
    ends, room, size, passes = walk.ends, walk.room.tile, walk.room.size, walk.ends.passes[level, d]
    capacity = design.target.hardware.levels[level].capacity_words
    if capacity == np.inf or design.slots[level, d].fixed > 0 or design.slots[level, d].most == 1:
        return int(passes)
    for e in range(room.shape[0]):
        least = max(design.slots[level, e].fixed, design.slots[level, e].least)
        end = ends.least[level, e] if e < d else least
        room[e] = ends.extent[level, e] * unrolled.factors[level, e] * end
    unit = ends.extent[level, d] * unrolled.factors[level, d]
    room[d] = unit * passes
    if tile_words(design, level, room, size) <= capacity:
        return int(passes)
    room[d] = unit
    least = tile_words(design, level, room, size)
    if least > capacity or passes <= 2:
        return 1 if least <= capacity else 0
    room[d] = 2 * unit
    return int(min(passes - 1, 1 + int((capacity - least) // (tile_words(design, level, room, size) - least))))


@njit
def _tile_fits(design: Design, level: int, extent: Ints, largest: Ints, size: Ints) -> bool:
    """Whether a tile fits a level; one that stands for several up to the largest, whether any may."""
    if tile_words(design, level, extent, size) > design.target.hardware.levels[level].capacity_words:
        return False
    least = design.target.hardware.levels[level].least_words
    return bool(least == 0.0 or least <= tile_words(design, level, largest, size))


@njit
def _cut(value: float, trial: Trial) -> bool:
    """Return whether a node is pruned: nothing below it is better than the incumbent."""
    best = trial.best
    if value < best.mark[0].value * (1.0 - SLACK):
        return False
    trial.counters[0].cut_bound += 1
    best.mark[0].cut = min(best.mark[0].cut, value)
    return True


@njit
def _unroll(design: Design, unrolled: Unrolled, walk: Walk, level: int) -> float:
    """Write the passes at the temporal loops of a level: what its unrolled loops leave; return the steps at least.

    Negative where the spatial factors do not suit what is left.
    """
    ends, passes, inner = walk.ends, walk.ends.passes, walk.room.inner
    sound, steps = True, walk.steps[level]
    for e in range(passes.shape[1]):
        left = -(-design.target.layer.bounds[e] // ends.extent[level, e])
        factor = unrolled.factors[level, e]
        if factor > 1 and (left < 2 or (left < factor) != (unrolled.idle[level, e] > 0)):
            sound = False
        passes[level, e] = -(-left // factor)
        inner[e] = -(-passes[level, e] // ends.beyond[level, e])
        steps *= inner[e]
        ends.used[level, e] = ((left - 1) % factor + 1) / factor if left >= factor else 1.0
    return steps if sound else -1.0


@njit
def _enter(design: Design, unrolled: Unrolled, walk: Walk, level: int, trial: Trial) -> bool:
    """Bound the node before the ends of a level; return whether it is open."""
    ends, room = walk.ends, walk.room
    trial.counters[0].nodes += 1
    steps = _unroll(design, unrolled, walk, level)
    if steps < 0.0:
        return False
    walk.entered_pj[level] = walk.bound_pj[level]
    fill_shares(design, unrolled, ends, level, walk.shares)
    if level > 0:
        walk.entered_pj[level] += refine(design, unrolled, ends, level, room.tile)
        walk.pressed_pj[level] = pressed_pj(design, unrolled, level, walk.shares)
        walk.entered_pj[level] += walk.pressed_pj[level] - walk.pressed_pj[level - 1]
        for v in range(design.relevant.shape[0]):
            for i in range(unrolled.counts[v]):
                opens = unrolled.crossings[v, i].child == level - 1
                walk.pending[level, v, i] = walk.pending[level, v, i] or opens
    least_pj = walk.entered_pj[level]
    # Where no loop can stand nothing is to be decided.
    if walk.has_choice[level] and value_of(design, least_pj, steps) < trial.best.mark[0].value * (1.0 - SLACK):
        least_pj += ahead_pj(design, unrolled, walk, level, False)
    return not _cut(value_of(design, least_pj, steps), trial)


@njit
def _list_ends(design: Design, unrolled: Unrolled, walk: Walk, level: int, d: int) -> None:
    """List the ends that a dimension may have at a level."""
    most = _most_room(design, unrolled, walk, level, d)
    walk.left[level, d] = list_ends(
        design.slots[level, d], walk.ends.passes[level, d], most, walk.least_outside[level, d],
        walk.most_outside[level, d], walk.factor_outside[level, d], walk.listed[level, d], walk.largest[level, d],
    )  # fmt: skip


@njit
def _take_end(walk: Walk, level: int, d: int) -> None:
    """Take the next end of a dimension, the largest first: they are used again most."""
    walk.left[level, d] -= 1
    walk.ends.least[level, d] = walk.listed[level, d, walk.left[level, d]]
    walk.ends.largest_end[level, d] = walk.largest[level, d, walk.left[level, d]]


@njit
def _close(design: Design, unrolled: Unrolled, walk: Walk, level: int, trial: Trial) -> bool:
    """Bound the node after the ends of a level; return whether it is open."""
    ends, inner, rest = walk.ends, walk.room.inner, walk.room.rest
    empty, inside, outside = True, walk.steps[level], 1.0
    for e in range(inner.shape[0]):
        here, factor = ends.least[level, e], unrolled.factors[level, e]
        ends.extent[level + 1, e] = ends.extent[level, e] * factor * here
        ends.largest[level + 1, e] = ends.largest[level, e] * factor * ends.largest_end[level, e]
        inner[e] = -(-ends.passes[level, e] // ends.beyond[level, e])
        rest[e] = -(-ends.passes[level, e] // (here * ends.beyond[level, e]))
        inside *= here
        outside *= rest[e]
        empty = empty and here == 1
    walk.steps[level + 1] = inside
    if not _tile_fits(design, level, ends.extent[level + 1], ends.largest[level + 1], walk.room.size):
        trial.counters[0].cut_capacity += 1
        return False
    walk.bound_pj[level + 1] = walk.entered_pj[level]
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            walk.pending[level + 1, v, i] = walk.pending[level, v, i]
    if not empty:
        walk.bound_pj[level + 1] += ahead_pj(design, unrolled, walk, level, True)
        for v in range(design.relevant.shape[0]):
            moved = False
            for e in range(inner.shape[0]):
                moved = moved or (design.relevant[v, e] and ends.least[level, e] > 1)
            if moved:
                walk.pending[level + 1, v] = False
    return not _cut(value_of(design, walk.bound_pj[level + 1], inside * outside), trial)


@njit
def descend(design: Design, unrolled: Unrolled, walk: Walk, trial: Trial) -> bool:
    """Search one unrolling, from where its walk stands; return whether it is done, or it is time for a pause."""
    levels, dims = unrolled.factors.shape
    place = walk.place[0]
    level, d, entering = place.level, place.dimension, place.entered
    while level >= 0:
        if used_up(trial.counters) or trial.counters[0].ticks >= trial.counters[0].pause:
            place.level, place.dimension, place.entered = level, d, entering
            return False
        trial.counters[0].ticks += 1
        if entering and d == 0 and not _enter(design, unrolled, walk, level, trial):
            level, d, entering = level - 1, dims - 1, False
            continue
        if entering:
            _list_ends(design, unrolled, walk, level, d)
        if walk.left[level, d] == 0:
            d, entering = d - 1, False
            if d < 0:
                level, d = level - 1, dims - 1
            continue
        _take_end(walk, level, d)
        if d + 1 < dims:
            d, entering = d + 1, True
            continue
        entering = _close(design, unrolled, walk, level, trial)
        if entering and level + 1 == levels:
            entering = False
            try_leaf(design, unrolled, walk, trial)
        elif entering:
            level, d = level + 1, 0
    return True
