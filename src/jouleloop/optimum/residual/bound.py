"""What is sure of a nest before it is complete: energy of a boundary whatever stands outside.

All bounds are for one unrolling and one choice of what is kept. Along a dimension an instance sees at least its bound
over all units unrolled outside, rounded up: instance 0, which Timeloop executes, has the largest share. Words that
reach a level are averaged over the fan-out just outside of it.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import BLOCK_WORDS, CLUSTERS, FANOUT_X, FANOUT_Y, READ_PJ, WRITE_PJ, Bools, Floats, Ints

#: Places of a crossing: child (-1: compute units), parent, words asked of a parent and filled into a child, both per
#: instance and at least, words of the parent and of the child that need no read before the first write; energy [pJ] of
#: words that pass once, before any end is known and as far as ends are, and by how much it grows for every time more
#: that they are asked for, and that they are filled; 1 where no instance takes words that slide from its neighbours.
(
    CHILD,
    PARENT,
    ASKED,
    FILLED,
    SPARED_PARENT,
    SPARED_CHILD,
    ROOT_PJ,
    ONCE_PJ,
    ASKED_PJ,
    FILLED_PJ,
    LOST_PJ,
    LINKLESS,
    CROSSING,
) = range(13)
#: Places of a halo, by dimension: how often the words of its rank pass if no window slides along it, where every step
#: outside moves it and where two loops may cancel; all boxes that an instance, or all of a fan-out, hold at once, and
#: what of it is still there when the dimension is through and begins again; as shares of all words along the rank.
AGAIN, RESTED, BOX, OVER, HALO = range(5)
#: Products of shares are rounded; words are whole numbers, or far from one by comparison.
_ROUNDING = 1e-14
#: Places of a slot: the factor where it is fixed (0 where it is free), most, least, and rank of its loop.
FIXED, MOST, LEAST, RANK, SLOT = range(5)


@njit
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair above a whole number is rounding, not a word."""
    return float(np.ceil(words / block_words - 1e-9))


@njit
def crossing_pj(
    spec: Floats, instances: Floats, crossing: Floats, read_write: bool, elided: bool, times: float, fill_times: float
) -> float:
    """Energy [pJ] of a crossing whose words are asked for and filled so many times, at least; over all instances."""
    parent, child = int(crossing[PARENT]), int(crossing[CHILD])
    sharing = min(instances[parent], spec[parent, CLUSTERS])
    block = spec[parent, BLOCK_WORDS]
    asked = crossing[ASKED] * times
    if read_write:
        total = vectors(asked, block) * spec[parent, WRITE_PJ]
        again = np.floor((asked - crossing[SPARED_PARENT]) * (1.0 + _ROUNDING))
        if again > 0:
            total += vectors(again, block) * spec[parent, READ_PJ]
    else:
        total = vectors(asked, block) * spec[parent, READ_PJ]
    total *= sharing
    if child >= 0:
        filled = np.floor(crossing[FILLED] * fill_times * (1.0 + _ROUNDING))
        if read_write and elided:
            filled = np.floor(filled - crossing[SPARED_CHILD])
        if filled > 0:
            sharing = min(instances[child], spec[child, CLUSTERS])
            total += vectors(filled, spec[child, BLOCK_WORDS]) * spec[child, WRITE_PJ] * sharing
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
def _share(bounds: Ints, relevant: Bools, mate: Ints, step: Ints, units: Ints) -> float:
    """Return the words of a data space that an instance sees, of as many as are unrolled outside by dimension."""
    words = 1.0
    for d in range(bounds.shape[0]):
        if relevant[d] and mate[d] < 0:
            words *= -(-bounds[d] // units[d])
        elif relevant[d] and mate[d] > d:
            e = mate[d]
            here, there = -(-bounds[d] // units[d]), -(-bounds[e] // units[e])
            words *= union_words(here, there, step[d], step[e], units[d] == 1, units[e] == 1)
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
    """Whether windows slide over a data space: any dimension of it has a mate."""
    found = False
    for d in range(mate.shape[0]):
        found = found or mate[d] >= 0
    return found


@njit
def has_windows(mate: Ints) -> bool:
    """Whether windows slide over any data space."""
    found = False
    for v in range(mate.shape[0]):
        found = found or has_mate(mate[v])
    return found


@njit
def may_link(
    bounds: Ints, coef: Ints, spec: Floats, level: int, factors: Ints, loops: Ints, numbers: Ints, extent: Ints,
    largest: Ints,
) -> bool:  # fmt: skip
    """Whether a unit of the fan-out of a level may take words from a mesh neighbour, once a step has moved the box.

    A step moves a rank by multiples of what all units span. A neighbour has the words only if it is as far away.

    Parameters
    ----------
    coef
        Of the data space, shape (ranks, dimensions).
    factors
        Unrolled at the level, by dimension.
    loops, numbers
        Its arrangements, and loops of each and their number, see `jouleloop.optimum.residual.descend.Unrolled`.
    extent, largest
        The tile of a unit, at least and at most.
    """
    ranks, dims = coef.shape
    for d in range(dims):
        left = -(-bounds[d] // extent[d])
        moves = False
        for r in range(ranks):
            moves = moves or coef[r, d] > 0
        # In the last pass units may be others than before, or fewer.
        if factors[d] > 1 and (moves or numbers[0] > 1) and left % factors[d] > 0:
            return True
        if factors[d] > 1 and moves and extent[d] != largest[d]:
            return True
    least = np.zeros(ranks, np.int64)
    for r in range(ranks):
        for d in range(dims):
            if coef[r, d] > 0 and bounds[d] > extent[d] * factors[d]:
                held = factors[d] * (extent[d] if extent[d] == largest[d] else 1)
                least[r] = np.gcd(least[r], coef[r, d] * held)
    for n in range(numbers[1]):
        units, along_x, along_y = 1, 1, 1
        for i in range(numbers[0]):
            units *= loops[n, i, 1]
            if loops[n, i, 2] == 0:
                along_x *= loops[n, i, 1]
            else:
                along_y *= loops[n, i, 1]
        columns, rows = max(along_x, int(spec[level, FANOUT_X])), max(along_y, int(spec[level, FANOUT_Y]))
        offsets = np.zeros((units, ranks), np.int64)
        for unit in range(units):
            rest = unit
            for i in range(numbers[0] - 1, -1, -1):
                d = loops[n, i, 0]
                for r in range(ranks):
                    offsets[unit, r] += coef[r, d] * extent[d] * (rest % loops[n, i, 1])
                rest //= loops[n, i, 1]
        for unit in range(units):
            for side in range(2):
                other = unit + (columns if side else 1)
                if (side == 0 and other % columns == 0) or other >= units or other // columns >= rows:
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
def fill_crossings(
    bounds: Ints, relevant: Bools, mate: Ints, step: Ints, keep: Bools, factors: Ints, idle: Bools,
    crossings: Floats, counts: Ints, instances: Floats,
) -> None:  # fmt: skip
    """Write the crossings of every data space, innermost first, their number, and the instances of every level.

    ``factors`` holds spatial factors, ``idle`` whether some of those units are never used, shape (levels, dimensions).
    """
    levels, spaces = keep.shape
    dims = bounds.shape[0]
    outside = np.ones((levels + 2, dims), np.int64)
    for level in range(levels - 1, -1, -1):
        for d in range(dims):
            outside[level, d] = outside[level + 1, d] * factors[level, d]
    # What is unrolled outside a level are the factors of the levels outside it.
    points = 1.0
    for d in range(dims):
        points *= -(-bounds[d] // outside[0, d])
    alone = True
    for d in range(dims):
        alone = alone and factors[0, d] == 1
    for level in range(levels):
        instances[level] = 1.0
        for d in range(dims):
            instances[level] *= outside[level + 1, d]
    for v in range(spaces):
        counts[v] = 0
        child = -1
        spared = np.ones(levels)
        most = 1.0
        for d in range(dims):
            if relevant[v, d]:
                most *= bounds[d]
        for level in range(levels - 1, -1, -1):
            spared[level] = most
            for d in range(dims):
                # A box of all units is at least one unit short of their number times that of one.
                if relevant[v, d] and factors[level, d] > 1 and not idle[level, d]:
                    most /= factors[level, d] - 1
        for level in range(levels):
            if not keep[level, v]:
                continue
            crossing = crossings[v, counts[v]]
            crossing[CHILD], crossing[PARENT] = child, level
            crossing[SPARED_PARENT] = spared[level]
            crossing[LINKLESS] = 0.0
            crossing[ASKED] = _share(bounds, relevant[v], mate[v], step[v], outside[child + 2])
            crossing[ASKED] *= spread_requests(relevant[v], mate[v], factors, child + 2, level + 1)
            if child >= 0:
                crossing[FILLED] = _share(bounds, relevant[v], mate[v], step[v], outside[child + 2])
                for d in range(dims):
                    if relevant[v, d]:
                        crossing[FILLED] /= factors[child + 1, d]
                    elif idle[child + 1, d]:
                        # Two units have work, or the loop would not stand.
                        crossing[FILLED] *= 2.0 / factors[child + 1, d]
                if slides(relevant[v], mate[v], factors[child + 1]):
                    for d in range(dims):
                        if not relevant[v, d] and not idle[child + 1, d]:
                            crossing[FILLED] /= factors[child + 1, d]
                crossing[SPARED_CHILD] = spared[child]
            elif alone:
                crossing[ASKED] = points * spread_requests(relevant[v], mate[v], factors, 1, level + 1)
            counts[v] += 1
            child = level


@njit
def bound_unrolling(
    bounds: Ints, relevant: Bools, mate: Ints, step: Ints, read_write: Bools, spec: Floats, compute_pj: float,
    elided: bool, keep: Bools, factors: Ints, idle: Bools, crossings: Floats, counts: Ints, instances: Floats,
) -> float:  # fmt: skip
    """Return the energy [pJ] that every nest of an unrolling costs at least; write its crossings."""
    fill_crossings(bounds, relevant, mate, step, keep, factors, idle, crossings, counts, instances)
    units, points = 1.0, 1.0
    for d in range(bounds.shape[0]):
        outside = 1
        for level in range(1, factors.shape[0]):
            outside *= factors[level, d]
        units *= outside * factors[0, d]
        # Below the innermost level Timeloop averages over the units that it visits.
        points *= -(-bounds[d] // outside) / factors[0, d]
    total = np.floor(points * units * (1.0 - 1e-12)) * compute_pj
    for v in range(keep.shape[1]):
        for i in range(counts[v]):
            crossings[v, i, ROOT_PJ] = crossing_pj(spec, instances, crossings[v, i], read_write[v], elided, 1.0, 1.0)
            total += crossings[v, i, ROOT_PJ]
    return float(total)


@njit
def fill_line(spec: Floats, instances: Floats, crossing: Floats, read_write: bool, elided: bool) -> None:
    """Write a line below the energy [pJ] of a crossing, over how often its words are asked for and filled.

    Rounding down loses at most what ``LOST_PJ`` says.
    """
    parent, child = int(crossing[PARENT]), int(crossing[CHILD])
    sharing = min(instances[parent], spec[parent, CLUSTERS])
    read_pj = spec[parent, READ_PJ] / spec[parent, BLOCK_WORDS] * sharing
    write_pj = spec[parent, WRITE_PJ] / spec[parent, BLOCK_WORDS] * sharing
    lost = 0.0
    if read_write:
        crossing[ASKED_PJ] = crossing[ASKED] * (read_pj + write_pj)
        lost = (crossing[SPARED_PARENT] + 1.0) * read_pj
    else:
        crossing[ASKED_PJ] = crossing[ASKED] * read_pj
    crossing[FILLED_PJ] = 0.0
    if child >= 0:
        fill_pj = spec[child, WRITE_PJ] / spec[child, BLOCK_WORDS] * min(instances[child], spec[child, CLUSTERS])
        crossing[FILLED_PJ] = crossing[FILLED] * fill_pj
        lost += fill_pj
        if read_write and elided:
            lost += (crossing[SPARED_CHILD] + 1.0) * fill_pj
    # Vectors are rounded up, but for a billionth of a word.
    crossing[LOST_PJ] = lost + 1e-8 * (read_pj + write_pj + lost)


@njit
def refine_crossing(
    bounds: Ints, relevant: Bools, mate: Ints, step: Ints, read_write: bool, spec: Floats, elided: bool, factors: Ints,
    idle: Bools, slots: Ints, extent: Ints, largest: Ints, instances: Floats, crossing: Floats,
) -> float:  # fmt: skip
    """Renew a crossing whose child's ``extent`` is known; return by how much [pJ] it costs more than it did at first.

    A unit that is not in the last place of its dimension gets a whole tile in every pass. Instance 0 stands for all; so
    if several units work in the last pass, all of its tiles are whole. Where a tile stands for several up to the
    ``largest``, words are those of the one that has the least. An extent of 0 is not known yet.
    """
    levels, dims = factors.shape
    parent, child = int(crossing[PARENT]), int(crossing[CHILD])
    asked, filled, spared = 1.0, 1.0, 1.0
    linkless = crossing[LINKLESS] > 0
    for d in range(dims):
        known = extent[d] > 0
        boxes = -(-bounds[d] // extent[d]) if known else 2
        fan = factors[child + 1, d]
        if not relevant[d]:
            if boxes < fan and (known or idle[child + 1, d]):
                filled *= boxes / fan
            continue
        if mate[d] >= 0:
            continue
        beyond = _beyond(factors, child + 2, d)
        spared *= bounds[d]
        left, tile, whole = boxes, largest[d], False
        words = -(-bounds[d] // beyond)
        least = (-(-boxes // beyond) - 1) * tile + bounds[d] - (boxes - 1) * tile if known else words
        for level in range(child + 1, levels):
            factor = factors[level, d]
            if factor > 1:
                whole = whole or (known and (left - 1) % factor > 0)
                if not idle[level, d]:
                    # The box of all units against that of one; they are at least one tile short of their number.
                    spared *= tile / min(factor * tile, bounds[d]) if known else 1.0 / (factor - 1)
                left = -(-left // factor)
                tile *= factor
            slot = slots[level, d]
            known = known and (slot[FIXED] == 1 or (slot[FIXED] == 0 and slot[MOST] == 1))
        words = max(words, -(-boxes // beyond) * extent[d] if whole else least)
        asked *= words
        filled *= words / fan
    for d in range(dims):
        if relevant[d] and mate[d] > d:
            e, first = mate[d], child + (1 if linkless else 2)
            here, there = factors[child + 1, d], factors[child + 1, e]
            union = tiled_words(bounds, step, _beyond(factors, first, d), _beyond(factors, first, e), extent, d, e)
            # Units that hand nothing on ask each for its own; those apart in one of two dimensions are apart.
            asked *= union * (max(here, there) if linkless else 1)
            filled *= union / (1 if linkless else here * there)
    asked *= spread_requests(relevant, mate, factors, child + 2, parent + 1)
    if not linkless and slides(relevant, mate, factors[child + 1]):
        for d in range(dims):
            if not relevant[d] and not idle[child + 1, d]:
                filled /= factors[child + 1, d]
    crossing[ASKED], crossing[FILLED] = asked, filled
    crossing[SPARED_CHILD] = spared
    crossing[ONCE_PJ] = crossing_pj(spec, instances, crossing, read_write, elided, 1.0, 1.0)
    return max(0.0, float(crossing[ONCE_PJ] - crossing[ROOT_PJ]))


@njit
def fill_halos(
    bounds: Ints, mate: Ints, step: Ints, factors: Ints, extent: Ints, largest: Ints, inner: Ints, crossing: Floats,
    halos: Floats,
) -> None:  # fmt: skip
    """Write what is known of windows that slide over a data space, shape (dimensions, HALO), see `AGAIN`.

    ``extent`` and ``largest`` are the child's tile and the largest that leaves as many passes, ``inner`` the tiles that
    an instance sees.
    """
    dims = factors.shape[1]
    child = int(crossing[CHILD])
    linkless = crossing[LINKLESS] > 0
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
        again = np.inf
        # An instance outside of which nothing is unrolled sees so many tiles, no more.
        for most_a in range(1 if alone_a else 2):
            for most_b in range(1 if alone_b else 2):
                n_a = float(share_a if most_a else min(inner[a], share_a))
                n_b = float(share_b if most_b else min(inner[b], share_b))
                sides = step_a * (share_a - n_a) * n_b + step_b * (share_b - n_b) * n_a + n_a * n_b
                again = min(again, sides / words)
        for d in (a, b):
            halos[d, AGAIN] = max(1.0, again)
            halos[d, RESTED] = 1.0 if _may_cancel(bounds, step, extent, largest, a, b) else max(1.0, again)
            halos[d, BOX] = min(1.0, side / words)
            move = step[d] * extent[d] * (spread_a if d == a else spread_b) * (inner[d] - 1)
            halos[d, OVER] = min(1.0, max(0.0, side - move) / words)


@njit
def _may_cancel(bounds: Ints, step: Ints, extent: Ints, largest: Ints, a: int, b: int) -> bool:
    """Whether a step of two dimensions of a rank may leave tiles where they are: one moves on as the other falls back.

    Each moves by multiples of its tile; of one that is not known yet, by multiples of its step.
    """
    if extent[a] >= bounds[a] or extent[b] >= bounds[b]:
        return False
    unit_a = step[a] * (extent[a] if extent[a] == largest[a] else 1)
    unit_b = step[b] * (extent[b] if extent[b] == largest[b] else 1)
    least = unit_a // np.gcd(unit_a, unit_b) * unit_b
    return bool(least <= min(step[a] * (bounds[a] - 1), step[b] * (bounds[b] - 1)))
