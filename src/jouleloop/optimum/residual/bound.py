"""What is sure of a nest before it is complete: energy of a boundary whatever stands outside.

All bounds are for one unrolling and one choice of what is kept. Along a dimension an instance sees at least its bound
over all units unrolled outside, rounded up: instance 0, which Timeloop executes, has the largest share. Words that
reach a level are averaged over the fan-out just outside of it.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, Record, Records, copy_rows
from jouleloop.model.links import mesh_below, neighbour_of
from jouleloop.model.steps import moves
from jouleloop.optimum.costs import vectors
from jouleloop.optimum.residual.state import Design, Unrolled, value_of

#: Products of shares are rounded; words are whole numbers, or far from one by comparison.
_ROUNDING = 1e-14


@njit
def crossing_pj(design: Design, unrolled: Unrolled, v: int, i: int, times: float, fill_times: float) -> float:
    """Energy [pJ] of a crossing whose words are asked for and filled so many times, at least; over all instances."""
    crossing, levels, instances = unrolled.crossings[v, i], design.target.hardware.levels, unrolled.instances
    read_write = design.target.layer.read_write[v]
    parent, child = crossing.parent, crossing.child
    sharing = min(instances[parent], levels[parent].clusters)
    block = levels[parent].block_words
    asked = crossing.asked * times
    if read_write:
        total = vectors(asked, block) * levels[parent].write_pj
        again = np.floor((asked - crossing.spared_parent) * (1.0 + _ROUNDING))
        if again > 0:
            total += vectors(again, block) * levels[parent].read_pj
    else:
        total = vectors(asked, block) * levels[parent].read_pj
    total *= sharing
    if child >= 0:
        filled = np.floor(crossing.filled * fill_times * (1.0 + _ROUNDING))
        if read_write and design.target.elided:
            filled = np.floor(filled - crossing.spared_child)
        if filled > 0:
            sharing = min(instances[child], levels[child].clusters)
            total += vectors(filled, levels[child].block_words) * levels[child].write_pj * sharing
    return float(total)


@njit
def union_words(here: int, there: int, step_here: int, step_there: int, solid_here: bool, solid_there: bool) -> float:
    """Return the words along a rank that two dimensions move, of which so many values are seen, at least.

    Sums of two sets are as many as both have values, less one. A dimension of step 1 whose values are ``solid``, one
    next to another, has no gaps: every value of the other adds as many words as it is apart from the next, at most the
    length.
    """
    words = here + there - 1
    if step_there == 1 and solid_there:
        words = max(words, (here - 1) * min(step_here, there) + there)
    if step_here == 1 and solid_here:
        words = max(words, (there - 1) * min(step_there, here) + here)
    return float(words)


@njit
def tiled_words(
    bounds: Ints, step: Ints, units_a: int, units_b: int, extent: Ints, a: int, b: int
) -> float:  # fmt: skip
    """Return what `union_words` does where tiles are known: a box has the words between its values as well.

    They count where all of one dimension that an instance sees lies in every tile, and is shorter than a step of the
    other. ``units_a`` and ``units_b``: how often each dimension is unrolled outside the tile.
    """
    here, there = -(-bounds[a] // units_a), -(-bounds[b] // units_b)
    all_here, all_there = extent[a] >= here, extent[b] >= there
    words = union_words(here, there, step[a], step[b], units_a == 1 or all_here, units_b == 1 or all_there)
    if all_there:
        words = max(words, _apart_words(bounds[a], extent[a], here, step[a], step[b] * (there - 1) + 1))
    if all_here:
        words = max(words, _apart_words(bounds[b], extent[b], there, step[b], step[a] * (here - 1) + 1))
    return words


@njit
def _apart_words(bound: int, extent: int, share: int, step: int, whole: int) -> float:
    """Return the words of all tiles of a dimension, of which each value has ``whole`` words; 0 unless a step is longer.

    So they are apart, and tiles have the words between as well.
    """
    tiles = min(-(-bound // extent), share)
    return float(step * (share - tiles) + tiles * whole) if whole < step else 0.0


@njit
def _share(design: Design, factors: Ints, v: int, first: int) -> float:
    """Return the words of a data space that an instance sees, of what is unrolled from a level outward."""
    bounds, mate, step = design.target.layer.bounds, design.mate[v], design.step[v]
    words = 1.0
    for d in range(bounds.shape[0]):
        if not design.relevant[v, d] or 0 <= mate[d] < d:
            continue
        units = _beyond(factors, first, d)
        here = -(-bounds[d] // units)
        if mate[d] < 0:
            words *= here
        else:
            e = mate[d]
            units_there = _beyond(factors, first, e)
            words *= union_words(here, -(-bounds[e] // units_there), step[d], step[e], units == 1, units_there == 1)
    return words


@njit
def _beyond(factors: Ints, first: int, d: int) -> int:
    """Return how often a dimension is unrolled from a level outward."""
    units = 1
    for level in range(first, factors.shape[0]):
        units *= factors[level, d]
    return units


@njit
def spread_requests(relevant: Bools, mate: Ints, factors: Ints, first: int, last: int) -> float:
    """Return by how much levels from ``first`` to before ``last``, which keep nothing, multiply what is asked of them.

    That is the fan-out over the mean multicast: at least the units that no other can stand for.
    """
    times = 1.0
    for level in range(first, last):
        for d in range(relevant.shape[0]):
            if relevant[d] and mate[d] < 0:
                times *= factors[level, d]
            elif relevant[d] and mate[d] > d:
                times *= max(factors[level, d], factors[level, mate[d]])
    return times


@njit
def slides(relevant: Bools, mate: Ints, factors: Ints) -> bool:
    """Whether a rank that two dimensions move is unrolled: then units may hand words on to each other."""
    found = False
    for d in range(relevant.shape[0]):
        found = found or (relevant[d] and mate[d] >= 0 and factors[d] > 1)
    return found


@njit
def has_mate(mate: Ints) -> bool:
    """Whether windows slide over a data space, or over any of several: a dimension has a mate."""
    return bool(mate.max() >= 0)


@njit
def may_link(design: Design, unrolled: Unrolled, v: int, level: int, extent: Ints, largest: Ints) -> bool:
    """Whether a unit of the fan-out of a level may take words from a mesh neighbour, once a step has moved the box.

    A step moves a rank by multiples of what all units span. A neighbour has the words only if it is as far away.

    Parameters
    ----------
    extent, largest
        The tile of a unit, at least and at most.
    """
    bounds, coef, factors = design.target.layer.bounds, design.target.layer.coef[v], unrolled.factors[level]
    numbers = unrolled.numbers[level]
    ranks, dims = coef.shape
    for d in range(dims):
        left = -(-bounds[d] // extent[d])
        moving = moves(coef, d)
        # In the last pass units may be others than before, or fewer.
        if factors[d] > 1 and (moving or numbers[0] > 1) and left % factors[d] > 0:
            return True
        if factors[d] > 1 and moving and extent[d] != largest[d]:
            return True
    least = np.zeros(ranks, np.int64)
    for r in range(ranks):
        for d in range(dims):
            if coef[r, d] > 0 and bounds[d] > extent[d] * factors[d]:
                held = factors[d] * (extent[d] if extent[d] == largest[d] else 1)
                least[r] = np.gcd(least[r], coef[r, d] * held)
    for n in range(numbers[1]):
        if _meets(coef, design.target.hardware.levels[level], unrolled.loops[level, n, : numbers[0]], extent, least):
            return True
    return False


@njit
def _meets(coef: Ints, outer: Record, loops: Records, extent: Ints, least: Ints) -> bool:
    """Whether two mesh neighbours of an arrangement are apart by multiples of the ``least`` move, by rank."""
    ranks, units, mesh = coef.shape[0], 1, mesh_below(outer, loops)
    for i in range(loops.shape[0]):
        units *= loops[i].bound
    offsets = np.zeros((units, ranks), np.int64)
    for unit in range(units):
        rest = unit
        for i in range(loops.shape[0] - 1, -1, -1):
            d = loops[i].dim
            for r in range(ranks):
                offsets[unit, r] += coef[r, d] * extent[d] * (rest % loops[i].bound)
            rest //= loops[i].bound
    for unit in range(units):
        for way in range(4):
            other = neighbour_of(unit, way, units, mesh)
            if other < 0:
                continue
            apart, alike = False, True
            for r in range(ranks):
                distance = offsets[other, r] - offsets[unit, r]
                apart = apart or distance != 0
                alike = alike and (distance == 0 if least[r] == 0 else distance % least[r] == 0)
            if apart and alike:
                return True
    return False


@njit
def _fill_crossings(design: Design, unrolled: Unrolled) -> None:
    """Write the crossings of every data space, innermost first, their number, and the instances of every level."""
    factors, bounds = unrolled.factors, design.target.layer.bounds
    levels, dims = factors.shape
    points, alone = 1.0, True
    for d in range(dims):
        points *= -(-bounds[d] // _beyond(factors, 0, d))
        alone = alone and factors[0, d] == 1
    for level in range(levels):
        unrolled.instances[level] = 1.0
        for d in range(dims):
            unrolled.instances[level] *= _beyond(factors, level + 1, d)
    for v in range(design.relevant.shape[0]):
        relevant, mate = design.relevant[v], design.mate[v]
        unrolled.counts[v] = 0
        child = -1
        for level in range(levels):
            if not design.keep[level, v]:
                continue
            crossing = unrolled.crossings[v, unrolled.counts[v]]
            crossing.child, crossing.parent = child, level
            crossing.spared_parent = _spared(design, unrolled, v, level)
            crossing.linkless = False
            crossing.asked = _share(design, factors, v, child + 2)
            crossing.asked *= spread_requests(relevant, mate, factors, child + 2, level + 1)
            if child >= 0:
                crossing.filled = _filled(design, unrolled, v, child)
                crossing.spared_child = _spared(design, unrolled, v, child)
            elif alone:
                crossing.asked = points * spread_requests(relevant, mate, factors, 1, level + 1)
            unrolled.counts[v] += 1
            child = level


@njit
def _spared(design: Design, unrolled: Unrolled, v: int, level: int) -> float:
    """Return the words of a level that need no read before the first write, at most."""
    most = 1.0
    for d in range(unrolled.factors.shape[1]):
        if design.relevant[v, d]:
            most *= design.target.layer.bounds[d]
    for outer in range(unrolled.factors.shape[0] - 1, level, -1):
        for d in range(unrolled.factors.shape[1]):
            # A box of all units is at least one unit short of their number times that of one.
            if design.relevant[v, d] and unrolled.factors[outer, d] > 1 and unrolled.idle[outer, d] == 0:
                most /= unrolled.factors[outer, d] - 1
    return most


@njit
def _filled(design: Design, unrolled: Unrolled, v: int, child: int) -> float:
    """Return the words filled into an instance of a level, at least, before any end is known."""
    relevant, factors, idle = design.relevant[v], unrolled.factors[child + 1], unrolled.idle[child + 1]
    words = _share(design, unrolled.factors, v, child + 2)
    for d in range(factors.shape[0]):
        if relevant[d]:
            words /= factors[d]
        elif idle[d] > 0:
            # So many units have work, or the loop would not stand.
            words *= idle[d] / factors[d]
    if slides(relevant, design.mate[v], factors):
        for d in range(factors.shape[0]):
            if not relevant[d] and idle[d] == 0:
                words /= factors[d]
    return words


@njit(apart=True)
def bound_part(design: Design, unrolled: Unrolled) -> float:
    """Write the crossings of an unrolling; return the energy [pJ] that its nests cost at least, before any end."""
    factors = unrolled.factors
    _fill_crossings(design, unrolled)
    units, points = 1.0, 1.0
    for d in range(factors.shape[1]):
        outside = _beyond(factors, 1, d)
        units *= outside * factors[0, d]
        # Below the innermost level Timeloop averages over the units that it visits.
        points *= -(-design.target.layer.bounds[d] // outside) / factors[0, d]
    total = np.floor(points * units * (1.0 - 1e-12)) * design.target.compute_pj
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            root_pj = crossing_pj(design, unrolled, v, i, 1.0, 1.0)
            unrolled.crossings[v, i].root_pj = root_pj
            total += root_pj
    return float(total)


@njit
def bound_parts(design: Design, factors: Ints, idle: Ints, unrolled: Unrolled, bounds: Floats) -> None:
    """Write the value of the objective that every unrolling has at least, (unrollings,), before any end is known.

    ``factors`` and ``idle`` have shape (unrollings, levels, dimensions); ``unrolled`` is room to work in.
    """
    for n in range(factors.shape[0]):
        copy_rows(factors[n], unrolled.factors)
        copy_rows(idle[n], unrolled.idle)
        steps = 1.0
        for d in range(factors.shape[2]):
            steps *= -(-design.target.layer.bounds[d] // _beyond(factors[n], 0, d))
        bounds[n] = value_of(design, bound_part(design, unrolled), steps)


@njit
def fill_line(design: Design, unrolled: Unrolled, v: int, i: int) -> None:
    """Write a line below the energy [pJ] of a crossing, over how often its words are asked for and filled.

    Rounding down loses at most what ``lost_pj`` says.
    """
    crossing, levels, instances = unrolled.crossings[v, i], design.target.hardware.levels, unrolled.instances
    read_write = design.target.layer.read_write[v]
    parent, child = crossing.parent, crossing.child
    sharing = min(instances[parent], levels[parent].clusters)
    read_pj = levels[parent].read_pj / levels[parent].block_words * sharing
    write_pj = levels[parent].write_pj / levels[parent].block_words * sharing
    lost = 0.0
    if read_write:
        crossing.asked_pj = crossing.asked * (read_pj + write_pj)
        lost = (crossing.spared_parent + 1.0) * read_pj
    else:
        crossing.asked_pj = crossing.asked * read_pj
    crossing.filled_pj = 0.0
    if child >= 0:
        fill_pj = levels[child].write_pj / levels[child].block_words * min(instances[child], levels[child].clusters)
        crossing.filled_pj = crossing.filled * fill_pj
        lost += fill_pj
        if read_write and design.target.elided:
            lost += (crossing.spared_child + 1.0) * fill_pj
    # Vectors are rounded up, but for a billionth of a word.
    crossing.lost_pj = lost + 1e-8 * (read_pj + write_pj + lost)


@njit
def refine_crossing(design: Design, unrolled: Unrolled, v: int, i: int, extent: Ints, largest: Ints) -> float:
    """Renew a crossing whose child's ``extent`` is known; return by how much [pJ] it costs more than it did at first.

    A unit that is not in the last place of its dimension gets a whole tile in every pass. Instance 0 stands for all; so
    if several units work in the last pass, all of its tiles are whole. Where a tile stands for several up to the
    ``largest``, words are those of the one that has the least.
    """
    crossing, bounds, factors = unrolled.crossings[v, i], design.target.layer.bounds, unrolled.factors
    relevant, mate, child = design.relevant[v], design.mate[v], crossing.child
    dims = factors.shape[1]
    asked, filled, spared = 1.0, 1.0, 1.0
    for d in range(dims):
        fan = factors[child + 1, d]
        if not relevant[d]:
            boxes = -(-bounds[d] // extent[d])
            if boxes < fan:
                filled *= boxes / fan
        elif mate[d] < 0:
            words, spared = _refine_dimension(design, unrolled, child, d, extent[d], largest[d], spared)
            asked *= words
            filled *= words / fan
    for d in range(dims):
        if relevant[d] and mate[d] > d:
            e, first = mate[d], child + (1 if crossing.linkless else 2)
            here, there = factors[child + 1, d], factors[child + 1, e]
            units, units_there = _beyond(factors, first, d), _beyond(factors, first, e)
            union = tiled_words(bounds, design.step[v], units, units_there, extent, d, e)
            # Units that hand nothing on ask each for its own; those apart in one of two dimensions are apart.
            asked *= union * (max(here, there) if crossing.linkless else 1)
            filled *= union / (1 if crossing.linkless else here * there)
    asked *= spread_requests(relevant, mate, factors, child + 2, crossing.parent + 1)
    if not crossing.linkless and slides(relevant, mate, factors[child + 1]):
        for d in range(dims):
            if not relevant[d] and unrolled.idle[child + 1, d] == 0:
                filled /= factors[child + 1, d]
    crossing.asked, crossing.filled = asked, filled
    crossing.spared_child = spared
    # Words of one unit may be fewer than those of all units by the root's lemma: what was sure stays so.
    once_pj = max(float(crossing.root_pj), crossing_pj(design, unrolled, v, i, 1.0, 1.0))
    crossing.once_pj = once_pj
    return float(once_pj - crossing.root_pj)


@njit
def _refine_dimension(
    design: Design, unrolled: Unrolled, child: int, d: int, extent: int, largest: int, spared: float
) -> tuple[float, float]:  # fmt: skip
    """Return the words along a dimension that no other shares, at least, and what is spared with it, at most."""
    bound, factors = design.target.layer.bounds[d], unrolled.factors
    known, boxes = True, -(-bound // extent)
    beyond = _beyond(factors, child + 2, d)
    spared *= bound
    left, tile, whole = boxes, largest, False
    words = -(-bound // beyond)
    least = (-(-boxes // beyond) - 1) * tile + bound - (boxes - 1) * tile
    for level in range(child + 1, factors.shape[0]):
        factor = factors[level, d]
        if factor > 1:
            whole = whole or (known and (left - 1) % factor > 0)
            if unrolled.idle[level, d] == 0:
                # The box of all units against that of one; they are at least one tile short of their number.
                spared *= tile / min(factor * tile, bound) if known else 1.0 / (factor - 1)
            left = -(-left // factor)
            tile *= factor
        slot = design.slots[level, d]
        known = known and (slot.fixed == 1 or (slot.fixed == 0 and slot.most == 1))
    return float(max(words, -(-boxes // beyond) * extent if whole else least)), spared


@njit
def fill_halos(
    design: Design, unrolled: Unrolled, v: int, i: int, extent: Ints, largest: Ints, inner: Ints
) -> None:  # fmt: skip
    """Write what windows of a data space ask for once more at a crossing, see `Unrolled.halos`.

    ``extent`` and ``largest`` are the child's tile and the largest that leaves as many passes, ``inner`` the tiles that
    an instance sees.
    """
    bounds, mate, step, factors = design.target.layer.bounds, design.mate[v], design.step[v], unrolled.factors
    halos, child, linkless = unrolled.halos[v, i], unrolled.crossings[v, i].child, unrolled.crossings[v, i].linkless
    dims = factors.shape[1]
    for a in range(dims):
        b = mate[a]
        if b < a:
            continue
        first = child + (1 if linkless else 2)
        units_a, units_b = _beyond(factors, first, a), _beyond(factors, first, b)
        alone_a, alone_b = _beyond(factors, child + 2, a) == 1, _beyond(factors, child + 2, b) == 1
        spread_a = 1 if linkless else factors[child + 1, a]
        spread_b = 1 if linkless else factors[child + 1, b]
        share_a, share_b = -(-bounds[a] // units_a), -(-bounds[b] // units_b)
        words = tiled_words(bounds, step, units_a, units_b, extent, a, b)
        side = 1.0 + step[a] * (spread_a * largest[a] - 1) + step[b] * (spread_b * largest[b] - 1)
        step_a, step_b = step[a], step[b]
        if spread_a * spread_b > 1:
            # The boxes of all units together may have gaps.
            step_a = min(step[a], share_b) if step[b] == 1 and alone_b and inner[b] == 1 else 1
            step_b = min(step[b], share_a) if step[a] == 1 and alone_a and inner[a] == 1 else 1
        # Without a remainder Timeloop runs iterations 0 and 1 alone, and falls back from there.
        may_skip = not linkless and ((extent != largest) | (bounds % extent == 0)).all()
        again = np.inf
        # An instance outside of which nothing is unrolled sees so many tiles, no more.
        for most_a in range(1 if alone_a else 2):
            for most_b in range(1 if alone_b else 2):
                n_a = float(share_a if most_a else min(inner[a], share_a))
                n_b = float(share_b if most_b else min(inner[b], share_b))
                sides = step_a * (share_a - n_a) * n_b + step_b * (share_b - n_b) * n_a + n_a * n_b
                again = min(again, sides / words)
        # While one dimension stays in its last tile the other goes through all of its own.
        through_a = min(
            side + step[a] * max(0, share_a - spread_a * largest[a]), side * (inner[a] if alone_a else share_a)
        )
        through_b = min(
            side + step[b] * max(0, share_b - spread_b * largest[b]), side * (inner[b] if alone_b else share_b)
        )
        for d in (a, b):
            halos[d].again = max(1.0, again)
            halos[d].rested = 1.0 if _may_cancel(bounds, step, extent, largest, a, b) else max(1.0, again)
            halos[d].box = min(1.0, (through_b if d == a else through_a) / words)
            back = min(inner[d] - 1, 1) if may_skip else inner[d] - 1
            move = step[d] * extent[d] * (spread_a if d == a else spread_b) * back
            halos[d].over = min(1.0, max(0.0, side - move) / words)


@njit
def _may_cancel(bounds: Ints, step: Ints, extent: Ints, largest: Ints, a: int, b: int) -> bool:
    """Whether a step of two dimensions of a rank may leave centres of boxes where they are: one moves on, one back.

    Whole tiles move by multiples of step times tile. The centre of a last, smaller one lies half of what it lacks
    before that.
    """
    if extent[a] >= bounds[a] or extent[b] >= bounds[b]:
        return False
    if extent[a] != largest[a] or extent[b] != largest[b]:
        return True
    twice_b = 2 * step[b] * extent[b]
    far_b = twice_b * ((bounds[b] - 1) // extent[b])
    for n in range(1, (bounds[a] - 1) // extent[a] + 1):
        for last_a in range(2):
            move = 2 * n * step[a] * extent[a] - last_a * step[a] * (-bounds[a] % extent[a])
            for last_b in range(2):
                more = move + last_b * step[b] * (-bounds[b] % extent[b])
                if more % twice_b == 0 and more <= far_b:
                    return True
    return False
