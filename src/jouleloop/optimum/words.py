"""Words that cross a boundary, at least: what mesh links may save is taken off, what they cannot is kept.

`docs/search.md` states the lemmas: *steps*, *ends of chains*, *fills*. A step is one advance of a temporal loop outside
the boundary, all loops inside it falling back to their start. Without links it asks the parent once for every distinct
box. With links, an instance whose box a mesh neighbour held one step before is not served.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import BOUND, DIM, STEP, Floats, Ints
from jouleloop.optimum.arrays import (
    BEYOND,
    BOXES,
    COINCIDE,
    DISTINCT_LINKED,
    FARTHEST,
    FILL_LINKED,
    FILL_STANDING,
    HALO,
    INSTANCES_BELOW,
    LINKED,
    MOVED,
    PLAIN,
    QUANTUM,
    REST,
    SERVED,
    SERVED_BOXES,
    SERVED_INSTANCES,
    SHAPES,
    SPARED,
    STANDING,
    WEIGHT,
)


@njit
def common(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b != 0:
        a, b = b, a % b
    return a


@njit
def _most_lost(m: int, n: int, a: int, b: int, most_a: int, most_b: int) -> int:
    """Of the sums of one of m multiples of ``a`` and one of n of ``b``, how many are the same as others, at most.

    Both may be multiplied by a divisor of what they may be at most.
    """
    lost = 0
    for x in range(1, n):
        for y in range(1, m):
            # Steps as x to y: then sums are the same y of the first and x of the second apart.
            if (m - y) * (n - x) > lost and common(x, y) == 1:
                one, other = x * b, y * a
                both = common(one, other)
                if most_a % (one // both) == 0 and most_b % (other // both) == 0:
                    lost = (m - y) * (n - x)
    return lost


@njit
def offsets_of(coef: Ints, extent: Ints, factors: Ints, rests: Ints, known: bool) -> int:
    """Distinct offsets along a rank among the instances below a level, at least (*distinct boxes*).

    Parameters
    ----------
    coef
        Of the rank, by dimension.
    extent
        Indices of one instance's tile by dimension, if it is known. Else those of all instances together whose tiles
        have no loops; any loops that divide ``rests`` count.
    factors
        Spatial factors of the level.
    rests
        What temporal loops must cover, by dimension: places `REST` of `Grid.axis`.
    """
    widest = first = second = 1
    a = b = count = 0
    for d in range(coef.shape[0]):
        if coef[d] != 0 and factors[d] > 1:
            widest, count = max(widest, factors[d]), count + 1
            a, b, first, second = b, d, second, factors[d]
    if count != 2:
        return int(widest)
    one, other = abs(coef[a]) * extent[a], abs(coef[b]) * extent[b]
    if known:
        both = common(one, other)
        return int(first * second - max(0, first - other // both) * max(0, second - one // both))
    one, other = one // first, other // second
    return int(first * second - _most_lost(first, second, one, other, rests[a, REST], rests[b, REST]))


@njit
def boxes_of(coef: Ints, extent: Ints, factors: Ints, rests: Ints) -> float:
    """Distinct boxes among the instances below a level of such factors, tiles of these extents, at least."""
    boxes = 1.0
    for r in range(coef.shape[0]):
        boxes *= offsets_of(coef[r], extent, factors, rests, True)
    return boxes


@njit
def find_reach(coef: Ints, side: Ints, extent: Ints, factors: Ints, reach: Ints) -> int:
    """Write by rank how far apart two instances below a level can be, see `FARTHEST`; return how many distances.

    ``reach`` has shape (REACH, ranks), 0 where one dimension alone moves the rank.

    Parameters
    ----------
    coef
        Projection of the data space, shape (ranks, dimensions); ``side`` its rows of `Unrolled.side`.
    extent
        Indices of one instance's tile by dimension.
    factors
        Spatial factors of the level.
    """
    distances = 1
    for r in range(coef.shape[0]):
        reach[FARTHEST, r] = 0
        reach[QUANTUM, r] = 0
        for d in range(coef.shape[1]):
            if side[d, HALO] == r and factors[d] > 1:
                reach[FARTHEST, r] += coef[r, d] * extent[d] * (factors[d] - 1)
                reach[QUANTUM, r] = common(reach[QUANTUM, r], coef[r, d] * extent[d])
        reach[WEIGHT, r] = distances
        if reach[QUANTUM, r] > 0:
            distances *= 2 * (reach[FARTHEST, r] // reach[QUANTUM, r]) + 1
    return distances


@njit(inline="always")
def unit_of(coef: Ints, side: Ints, extent: Ints, factors: Ints, reach: Ints, d: int) -> int:
    """Return how far one index of a dimension that shares a rank and is unrolled moves it, in quanta; else 0."""
    r = side[d, HALO]
    if r < 0 or factors[d] == 1:
        return 0
    return int(coef[r, d] * extent[d] // reach[QUANTUM, r])


@njit
def shape_of(coef: Ints, side: Ints, extent: Ints, factors: Ints, reach: Ints, unit: Ints) -> tuple[int, bool]:
    """Return the place of a tile's shape in a table of shapes, and whether it stands there, see `Mesh`."""
    code = 0
    for d in range(extent.shape[0]):
        code = code * 31 + unit_of(coef, side, extent, factors, reach, d)
    place = code % SHAPES
    stands = True
    for d in range(extent.shape[0]):
        stands = stands and unit[place, d] == unit_of(coef, side, extent, factors, reach, d)
    return place, stands


@njit(inline="always")
def _within(reach: Ints, r: int, move: int) -> bool:
    """Whether two instances may lie so far apart along a rank."""
    return move == 0 or (abs(move) <= reach[FARTHEST, r] and move % reach[QUANTUM, r] == 0)


@njit
def words_of_plain_ranks(coef: Ints, full: float, loop: Ints, loops: int) -> float:
    """Words into one instance where every rank is moved by one dimension: all but the trailing steps that stand."""
    total = full
    trailing = True
    for j in range(loops - 1, -1, -1):
        if trailing:
            for r in range(coef.shape[0]):
                if coef[r, loop[j, DIM]] != 0:
                    trailing = False
        if not trailing:
            total *= loop[j, BOUND]
    return total


@njit
def _leaves(coef: Ints, d: int) -> bool:
    """Whether a dimension leaves a data space in place."""
    moves = False
    for r in range(coef.shape[0]):
        moves = moves or coef[r, d] != 0
    return not moves


@njit(inline="always")
def number_of(reach: Ints, r: int, move: int) -> int:
    """What a move along an unrolled rank adds to the number of its distance, where that is one."""
    return int(reach[WEIGHT, r] * ((move + reach[FARTHEST, r]) // reach[QUANTUM, r]))


@njit(inline="always")
def _link(words: Floats, number: float, known: bool, served: Ints, key: int) -> None:
    """Add words of steps that links may serve, by what is known of neighbours at that distance."""
    if not known:
        words[MOVED] += number
        return
    words[PLAIN] += number
    words[SPARED] += number * served[key, SERVED_BOXES]
    words[SERVED] += number * served[key, SERVED_INSTANCES]
    if served[key, SERVED_BOXES] > 0:
        words[LINKED] += number


@njit
def count_steps(
    coef: Ints,
    extent: Ints,
    reach: Ints,
    loop: Ints,
    loops: int,
    resting: bool,
    at: Ints,
    move: Ints,
    known: bool,
    served: Ints,
    words: Floats,
) -> None:
    """Write the words of all steps into one instance: those that no link serves, those one may, those that stand.

    A link needs equal boxes now and before, and a move in every rank that is a distance of two instances, see
    `find_reach`.
    Timeloop reads a tile anew where a step stands still since loops of one window cancel out, but lets neighbours hand
    it on.

    Parameters
    ----------
    loop
        Temporal loops outside the boundary, outermost first: dimension, bound, index step.
    resting
        Whether steps that stand are none, as in Timeloop 4: loops further in than the first that moves do not count,
        and let nothing be handed on.
    at, move
        Work space by rank: what all loops further in fall back by; the move of a step.
    known, served
        Whether neighbours are known; of `Mesh`, for this shape.
    words
        Out: see `PLAIN`, `MOVED`, `STANDING`.
    """
    ranks = coef.shape[0]
    words[:] = 0.0
    key = 0
    full = 1.0
    part = 1.0
    moved = 0
    apart = False
    first = loops - 1
    while resting and first >= 0 and _leaves(coef, loop[first, DIM]):
        first -= 1
    near = not resting or first == loops - 1
    loops = first + 1
    may_link = near
    for r in range(ranks):
        side = 1
        for d in range(coef.shape[1]):
            side += coef[r, d] * (extent[d] - 1)
        full *= side
        at[r] = 0
        if loops > 0:
            step = coef[r, loop[first, DIM]] * loop[first, STEP]
            move[r] = step
            if known and reach[QUANTUM, r] > 0:
                key += number_of(reach, r, step)
            if step == 0:
                part *= side
                continue
            moved += 1
            part *= step
            apart = apart or step >= side
            near = near and _within(reach, r, step)
    # The first box has no predecessor.
    words[PLAIN] = full
    if loops == 0:
        return
    if moved == 0:
        part = 0.0
    elif moved > 1 or apart:
        part = full
    outer = 1.0
    for j in range(loops):
        outer *= loop[j, BOUND]
    for j in range(first, -1, -1):
        outer /= loop[j, BOUND]
        calls = (loop[j, BOUND] - 1) * outer
        same = True
        stands = True
        within = may_link
        outer_key = 0
        for r in range(ranks):
            step = coef[r, loop[j, DIM]] * loop[j, STEP]
            value = step - at[r]
            at[r] += step
            same = same and value == move[r]
            stands = stands and value == 0
            within = within and _within(reach, r, value)
            if known and reach[QUANTUM, r] > 0:
                outer_key += number_of(reach, r, value)
        if resting and stands:
            continue
        if same:
            # A step as the innermost loop's: the part that is new.
            if near and moved > 0:
                _link(words, calls * part, known, served, key)
            else:
                words[PLAIN] += calls * part
        elif part < full or not within:
            # The box before was smaller, or further away than any neighbour.
            words[PLAIN] += calls * full
        elif stands:
            words[STANDING] += calls * full
        else:
            _link(words, calls * full, known, served, outer_key)


@njit
def settle(words: Floats, edge: Floats) -> None:
    """Take steps that stand as served in full only where two instances can hold one box."""
    if edge[COINCIDE] == 0.0:
        words[PLAIN] += words[STANDING]
        words[STANDING] = 0.0


@njit
def asked_words(words: Floats, edge: Floats, distinct: float, known: bool, fan: Ints) -> float:
    """Words that the next kept level outside is asked for, at least.

    ``edge`` is the boundary's of `Unrolled.edge`, ``distinct`` its `DISTINCT` for this tile, ``fan`` that of
    `Mesh.fan`, where it is known.
    """
    if known:
        return float((words[PLAIN] * fan[BOXES] - words[SPARED]) * edge[BEYOND])
    return float(words[PLAIN] * distinct + words[MOVED] * edge[DISTINCT_LINKED])


@njit
def filled_words(words: Floats, edge: Floats, fan: Ints) -> float:
    """Words counted as fills of one instance, at least.

    Timeloop averages what the parent sends over the fan-out, adds what links bring divided by the instances of *all*
    levels above, and rounds: so words that come over links can be missing.
    """
    linked = words[MOVED] * edge[FILL_LINKED] + words[STANDING] * edge[FILL_STANDING]
    if words[SERVED] > 0.0:
        linked -= words[SERVED] / fan[INSTANCES_BELOW] * (1.0 - edge[FILL_STANDING])
    elif words[MOVED] == 0.0 and words[STANDING] == 0.0:
        return float(words[PLAIN])
    return float(math.floor((words[PLAIN] + linked) * (1.0 - 1e-12)))
