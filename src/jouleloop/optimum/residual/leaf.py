"""Complete ends: every order of loops that can still win, and where windows slide every end that one stands for."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Floats, Ints, NestArrays, Records, copy_row, copy_rows
from jouleloop.model.evaluate import count_nest, evaluate_residual_nest
from jouleloop.model.kernel import held_words
from jouleloop.model.price import fits
from jouleloop.model.residual import has_residuals
from jouleloop.optimum.order import free_group, order_after, reverse, sort_by_rank
from jouleloop.optimum.path import copy_nest
from jouleloop.optimum.residual.bound import fill_halos, fill_line, has_mate, may_link, refine_crossing, slides
from jouleloop.optimum.residual.counts import least_cost
from jouleloop.optimum.residual.ordered import ordered_pj
from jouleloop.optimum.residual.state import SLACK, Design, Ends, Trial, Unrolled, Walk, value_of

#: Work of one closed form and of one evaluation, where a node is 1 (measured).
_BOUND_TICKS, _EVALUATION_TICKS = 10, 100


@njit
def tile_words(design: Design, level: int, extent: Ints, size: Ints) -> int:
    """Return the words of all data spaces that a level keeps of a tile."""
    bounds = design.target.layer.bounds
    for d in range(bounds.shape[0]):
        size[d] = min(extent[d], bounds[d])
    return held_words(design.target.layer.coef, design.keep[level], size)


@njit
def refine(design: Design, unrolled: Unrolled, ends: Ends, level: int, inner: Ints) -> float:
    """Renew the crossings into the level inside ``level``, whose tiles are known.

    Returns by how much [pJ] they cost more than before any end was known. ``inner`` is room to work in.
    """
    extent, largest = ends.extent[level], ends.largest[level]
    for d in range(inner.shape[0]):
        inner[d] = -(-ends.passes[level, d] // ends.beyond[level, d])
    more_pj = 0.0
    for v in range(design.relevant.shape[0]):
        windows = has_mate(design.mate[v])
        for i in range(unrolled.counts[v]):
            crossing = unrolled.crossings[v, i]
            if crossing.child != level - 1:
                continue
            if windows:
                slid = slides(design.relevant[v], design.mate[v], unrolled.factors[level])
                crossing.linkless = not (slid and may_link(design, unrolled, v, level, extent, largest))
            more_pj += refine_crossing(design, unrolled, v, i, extent, largest)
            fill_line(design, unrolled, v, i)
            if windows:
                fill_halos(design, unrolled, v, i, extent, largest, inner)
    return more_pj


@njit
def _evaluate(design: Design, early: bool, trial: Trial) -> float:
    """Let the model evaluate a nest, which becomes the best where it is; return its value."""
    best, nest = trial.best, trial.nest
    trial.counters[0].visited += 1
    trial.counters[0].ticks += _EVALUATION_TICKS
    if early:
        total_pj, cycles, _, _, _ = evaluate_residual_nest(design.target, nest, trial.work)
    else:
        total_pj, cycles, _, _ = count_nest(design.target, nest, trial.work)
    value = value_of(design, total_pj, cycles)
    if value < best.mark[0].value * (1.0 - SLACK):
        best.mark[0].value, best.mark[0].cycles = value, cycles
        best.mark[0].found += 1
        copy_nest(nest, best)
    else:
        best.mark[0].cut = min(best.mark[0].cut, value)
    return value


@njit
def _try_nest(design: Design, unrolled: Unrolled, walk: Walk, trial: Trial) -> None:
    """Bound a complete nest, evaluate it where it can win, on every arrangement where these may differ."""
    nest, best, chosen = trial.nest, trial.best, walk.room.chosen
    levels = nest.counts.shape[0]
    early, windows = has_residuals(design.target.layer.bounds, nest), has_mate(design.mate)
    least, value = -1.0, -1.0
    chosen[:] = 0
    while True:
        for level in range(levels):
            nest.loops[level, SPATIAL] = unrolled.loops[level, chosen[level]]
        # What windows cost depends on who neighbours whom; nothing else does in the closed form.
        if (early and windows) or (least < 0.0 and not windows):
            least_pj, steps = least_cost(design.target, design.relevant, nest, trial.work)
            least = value_of(design, least_pj, steps)
        worth = least < best.mark[0].value * (1.0 - SLACK)
        trial.counters[0].ticks += _BOUND_TICKS
        if not worth:
            best.mark[0].cut = min(best.mark[0].cut, least)
        else:
            value = _evaluate(design, early, trial)
        if not windows and (not worth or value <= least * (1.0 + SLACK)):
            break
        level = 0
        while level < levels and chosen[level] + 1 >= unrolled.numbers[level, 1]:
            chosen[level] = 0
            level += 1
        if level == levels:
            break
        chosen[level] += 1
    for level in range(levels):
        copy_row(unrolled.loops[level, 0], nest.loops[level, SPATIAL])


@njit
def _first_order(slots: Records, level: int, ends: Ints, nest: NestArrays) -> None:
    """Write the loops of a level in the first order that is allowed."""
    loops, number = nest.loops[level, TEMPORAL], 0
    for d in range(ends.shape[0]):
        if ends[d] > 1:
            loops[number].dim, loops[number].axis = d, 0
            number += 1
    nest.counts[level, TEMPORAL] = number
    dims = loops["dim"]
    sort_by_rank(slots, level, dims, number)
    # The nest has the outermost loop first.
    reverse(dims, 0, number)
    reverse(dims, *free_group(slots, level, dims, number))
    for i in range(number):
        loops[i].bound = ends[dims[i]]


@njit
def _advance_order(design: Design, unrolled: Unrolled, level: int, ends: Ints, nest: NestArrays) -> bool:
    """Advance the loops of a level to the next order that may matter; return False after the last."""
    loops, number = nest.loops[level, TEMPORAL], nest.counts[level, TEMPORAL]
    start, stop = free_group(design.slots, level, loops["dim"], number)
    # Where nothing is unrolled inside the innermost loops, their order changes nothing.
    more = (level > 0 or unrolled.factors[0].max() > 1) and order_after(loops["dim"], start, stop)
    for i in range(number):
        loops[i].bound = ends[loops[i].dim]
    return more


@njit
def _try_orders(
    design: Design, unrolled: Unrolled, walk: Walk, trial: Trial, base_pj: float, steps: float, evaluate: bool
) -> bool:  # fmt: skip
    """Try all orders of loops that can still win, the outermost level first; return whether there is any.

    ``base_pj``, ``steps``: what all of them take at least. ``evaluate``: nests are evaluated, not only looked for.
    """
    nest, best, sure_pj = trial.nest, trial.best, walk.room.sure_pj
    levels = nest.counts.shape[0]
    level, found, enter = levels - 1, False, True
    sure_pj[levels] = base_pj
    while level < levels:
        if enter:
            _first_order(design.slots, level, walk.ends.least[level], nest)
        elif not _advance_order(design, unrolled, level, walk.ends.least[level], nest):
            level += 1
            continue
        enter = False
        sure_pj[level] = sure_pj[level + 1]
        if level > 0:
            sure_pj[level] += ordered_pj(design, unrolled, walk, nest, level - 1)
        trial.counters[0].ticks += 1
        value = value_of(design, sure_pj[level], steps)
        if value >= best.mark[0].value * (1.0 - SLACK):
            best.mark[0].cut = min(best.mark[0].cut, value)
            continue
        if level > 0:
            level -= 1
            enter = True
            continue
        found = True
        if not evaluate:
            return True
        _try_nest(design, unrolled, walk, trial)
    return found


@njit
def _settle(
    design: Design, unrolled: Unrolled, walk: Walk, trial: Trial, first: int, sure_pj: Floats, later_pj: Floats
) -> int:  # fmt: skip
    """Write the tiles and crossings of one choice of ends, from a level outward, as long as it can win.

    Returns the level that was reached: ends from there outward do not matter where it is not the last. ``sure_pj``:
    what the crossings into all levels inside one cost, ``later_pj``: those from it outward, for all choices.
    """
    ends, best, room = walk.ends, trial.best, walk.room
    levels, dims = ends.least.shape
    steps = float(np.prod(ends.least))
    for level in range(first, levels):
        for d in range(dims):
            ends.extent[level + 1, d] = ends.extent[level, d] * unrolled.factors[level, d] * ends.least[level, d]
            ends.largest[level + 1, d] = ends.extent[level + 1, d]
        needed = tile_words(design, level, ends.extent[level + 1], room.size)
        trial.counters[0].ticks += 1
        if not fits(design.target.hardware.levels[level], needed):
            return level + 1
        if level + 1 < levels:
            sure_pj[level + 1] = sure_pj[level] + refine(design, unrolled, ends, level + 1, room.rest)
            value = value_of(design, sure_pj[level + 1] + later_pj[level + 1], steps)
            if value >= best.mark[0].value * (1.0 - SLACK):
                best.mark[0].cut = min(best.mark[0].cut, value)
                return level + 1
    return int(levels + 1)


@njit
def try_leaf(design: Design, unrolled: Unrolled, walk: Walk, trial: Trial) -> None:
    """Try every order of the loops whose ends are complete; where one end stands for several, each of them."""
    ends = walk.ends
    levels = ends.least.shape[0]
    # What all nests of the unrolling cost at least, and these more, whole tiles counted.
    base_pj, steps = walk.bound_pj[0] + walk.pressed_pj[levels - 1], float(walk.steps[levels])
    several = bool((ends.largest_end > ends.least).any())
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            base_pj += _more_pj(unrolled, v, i)
    if _try_orders(design, unrolled, walk, trial, base_pj, steps, not several) and several:
        _try_several(design, unrolled, walk, trial)


@njit
def _more_pj(unrolled: Unrolled, v: int, i: int) -> float:
    """Return by how much [pJ] a crossing of known tile costs more than before any end was known."""
    crossing = unrolled.crossings[v, i]
    return max(0.0, float(crossing.once_pj - crossing.root_pj)) if crossing.child >= 0 else 0.0


@njit
def _next_end(design: Design, unrolled: Unrolled, ends: Ends, level: int, d: int, last: int) -> int:
    """Return the next end of a loop, of those up to the last that leave as many passes; 0 where no other counts.

    Without windows only the least counts and the one whose last run is a single iteration, unless instance 0 alone
    works in the last pass: then its last piece, the smaller the larger the tile, stands for all.
    """
    end, passes = ends.least[level, d], ends.passes[level, d]
    left = -(-passes // end)
    several, alone, outside = False, True, left
    for outer in range(level + 1, ends.least.shape[0]):
        factor = unrolled.factors[outer, d]
        several = several or factor > 1
        alone = alone and (outside - 1) % factor == 0
        outside = -(-outside // (factor * ends.least[outer, d]))
    asks = design.target.hardware.levels["least_words"].max() > 0
    if (several and alone) or asks or has_mate(design.mate):
        return end + 1 if end < last else 0
    if left > 1 and (passes - 1) % (left - 1) == 0:
        single = (passes - 1) // (left - 1)
        return single if end < single <= last else 0
    return 0


@njit
def _try_several(design: Design, unrolled: Unrolled, walk: Walk, trial: Trial) -> None:
    """Try each of the ends that one choice stands for."""
    ends = walk.ends
    levels, dims = ends.least.shape
    crossings, halos = unrolled.crossings.copy(), unrolled.halos.copy()
    least, largest_end = ends.least.copy(), ends.largest_end.copy()
    extent, largest = ends.extent.copy(), ends.largest.copy()
    copy_rows(least, ends.largest_end)
    sure_pj, later_pj = np.full(levels, walk.bound_pj[0]), np.zeros(levels)
    for level in range(levels):
        for v in range(design.relevant.shape[0]):
            for i in range(unrolled.counts[v]):
                if crossings[v, i].child >= level:
                    later_pj[level] += _more_pj(unrolled, v, i)
    first = 0
    while first >= 0:
        reached = _settle(design, unrolled, walk, trial, first, sure_pj, later_pj)
        if reached > levels:
            _try_orders(design, unrolled, walk, trial, float(sure_pj[levels - 1]), float(np.prod(ends.least)), True)
        first = -1
        for at in range(levels * dims - 1, -1, -1):
            level, d = at // dims, at % dims
            following = 0
            if level < reached:
                following = _next_end(design, unrolled, ends, level, d, largest_end[level, d])
            ends.least[level, d] = ends.largest_end[level, d] = following if following > 0 else least[level, d]
            if following > 0:
                first = level
                break
    copy_rows(least, ends.least)
    copy_rows(largest_end, ends.largest_end)
    copy_rows(extent, ends.extent)
    copy_rows(largest, ends.largest)
    copy_rows(crossings, unrolled.crossings)
    for v in range(halos.shape[0]):
        copy_rows(halos[v], unrolled.halos[v])
