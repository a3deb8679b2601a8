"""Words that cross a boundary, at least: what mesh links may save is taken off, what they cannot is kept.

`docs/proof.md` states the lemmas: *steps*, *ends of chains*, *fills*. A step is one advance of a temporal loop outside
the boundary, all loops inside it falling back to their start. Without links it asks the parent once for every distinct
box. With links, an instance whose box a mesh neighbour held one step before is not served.
"""

import math
from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints, Record, Records
from jouleloop.model.kernel import box_words
from jouleloop.model.steps import NO_RANK, RANKS, alike, moves, new_words, rank_moved, side_of, still
from jouleloop.optimum.arrays import SHAPES, Case, Path


@njit
def common(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b != 0:
        a, b = b, a % b
    return a


@njit
def may_cancel(step: int, most: int, other: int, other_most: int) -> bool:
    """Whether two steps along a rank, at most so many of each, may cancel out (*windows that cannot stand*)."""
    both = common(step, other)
    return other // both <= most and step // both <= other_most


@njit
def instances_at(coef: Ints, factors: Ints) -> Ints:
    """Return how many instances lie at each place along a rank, the first being 0, unrolled by some factors."""
    length = 1
    for d in range(coef.shape[0]):
        length += abs(coef[d]) * (factors[d] - 1)
    instances = np.zeros(length, np.int64)
    instances[0] = 1
    for d in range(coef.shape[0]):
        if coef[d] != 0 and factors[d] > 1:
            for i in range(length - 1, -1, -1):
                for n in range(1, min(factors[d], i // abs(coef[d]) + 1)):
                    instances[i] += instances[i - n * abs(coef[d])]
    return instances


@njit
def served_at(held: Ints, move: int) -> Ints:
    """Return how many instances lie at each place along a rank that has others a move away; ``held``: at all."""
    served = np.zeros(held.shape[0], np.int64)
    for i in range(max(0, -move), min(held.shape[0], held.shape[0] - move)):
        if held[i + move] > 0:
            served[i] = held[i]
    return served


def boxes_by_row(coef: Ints, halo: Ints, rows: Ints) -> tuple[Floats, Floats, Bools]:
    """Return by row of factors the distinct boxes, at least, and of how many links serve all but one, at most.

    And whether links may serve any. That is so along a shared rank, a mesh neighbour having the next box.

    Parameters
    ----------
    coef, halo
        Of one data space, see `SIDE`.
    rows
        Spatial factors of a level, shape (rows, dimensions).
    """
    distinct, widest, near = np.ones(len(rows)), np.ones(len(rows)), np.zeros(len(rows), np.bool_)
    for r, rank in enumerate(coef != 0):
        offsets = np.where(rank, rows, 1).max(axis=1)
        unrolled = (rows[:, halo == r] > 1).any(axis=1)
        distinct *= offsets
        widest = np.maximum(widest, np.where(unrolled, offsets, 1))
        near |= unrolled
    return distinct, widest, near


@njit
def values_of(coef: Ints, seen: Ints, bounds: Ints) -> int:
    """Distinct values of a rank, at least, of so many indices of each dimension, whichever they are.

    A dimension of step 1 whose indices are all there makes runs; each further index of one other adds a run, or its
    step where that is shorter. Any other dimension adds an index each (*every word once*).

    Parameters
    ----------
    coef
        Of the rank, by dimension.
    seen, bounds
        Indices by dimension, of all that there are.
    """
    step, run = 0, 1
    for d in range(coef.shape[0]):
        step = common(step, abs(coef[d]))
    for d in range(coef.shape[0]):
        if abs(coef[d]) == step and seen[d] == bounds[d]:
            run = max(run, seen[d])
    length, gained = 1, 0
    for d in range(coef.shape[0]):
        if coef[d] != 0:
            length += seen[d] - 1
            gained = max(gained, (seen[d] - 1) * (min(abs(coef[d]) // step, run) - 1))
    return int(length + gained)


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
def offsets_of(coef: Ints, extent: Ints, factors: Ints, rests: Records, known: bool) -> int:
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
    return int(first * second - _most_lost(first, second, one, other, rests[a].rest, rests[b].rest))


@njit
def boxes_of(coef: Ints, extent: Ints, factors: Ints, rests: Records) -> float:
    """Distinct boxes among the instances below a level of such factors, tiles of these extents, at least."""
    boxes = 1.0
    for r in range(coef.shape[0]):
        boxes *= offsets_of(coef[r], extent, factors, rests, True)
    return boxes


@njit
def find_reach(coef: Ints, side: Records, extent: Ints, factors: Ints, reach: Records) -> int:
    """Write by rank how far apart two instances below a level can be, see `REACH`; return how many distances.

    ``reach`` has shape (ranks,), 0 where one dimension alone moves the rank.

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
        reach[r].farthest = 0
        reach[r].quantum = 0
        for d in range(coef.shape[1]):
            if side[d].halo == r and factors[d] > 1:
                reach[r].farthest += coef[r, d] * extent[d] * (factors[d] - 1)
                reach[r].quantum = common(reach[r].quantum, coef[r, d] * extent[d])
        reach[r].weight = distances
        if reach[r].quantum > 0:
            distances *= 2 * (reach[r].farthest // reach[r].quantum) + 1
    return distances


@njit(inline="always")
def unit_of(coef: Ints, side: Records, extent: Ints, factors: Ints, reach: Records, d: int) -> int:
    """Return how far one index of a dimension that shares a rank and is unrolled moves it, in quanta; else 0."""
    r = side[d].halo
    if r < 0 or factors[d] == 1:
        return 0
    return int(coef[r, d] * extent[d] // reach[r].quantum)


@njit
def shape_of(coef: Ints, side: Records, extent: Ints, factors: Ints, reach: Records, unit: Ints) -> tuple[int, bool]:
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
def _within(reach: Records, r: int, move: int) -> bool:
    """Whether two instances may lie so far apart along a rank."""
    return move == 0 or (abs(move) <= reach[r].farthest and move % reach[r].quantum == 0)


@njit
def words_of_plain_ranks(coef: Ints, full: float, loop: Records, loops: int) -> float:
    """Words into one instance where every rank is moved by one dimension: all but the trailing steps that stand."""
    total = full
    trailing = True
    for j in range(loops - 1, -1, -1):
        trailing = trailing and not moves(coef, loop[j].dim)
        if not trailing:
            total *= loop[j].bound
    return total


@njit(inline="always")
def number_of(reach: Records, r: int, move: int) -> int:
    """What a move along an unrolled rank adds to the number of its distance, where that is one."""
    return int(reach[r].weight * ((move + reach[r].farthest) // reach[r].quantum))


@njit
def clear_words(words: Record) -> None:
    """Let no words pass."""
    words.plain = words.moved = words.standing = words.spared = words.served = words.linked = 0.0


@njit(inline="always")
def _link(words: Record, number: float, known: bool, served: Records, key: int) -> None:
    """Add words of steps that links may serve, by what is known of neighbours at that distance."""
    if not known:
        words.moved += number
        return
    words.plain += number
    words.spared += number * served[key].boxes
    words.served += number * served[key].instances
    if served[key].boxes > 0:
        words.linked += number


class _Step(NamedTuple):
    """The innermost step outside a boundary that counts."""

    place: int
    """Which of the loops outside, -1 where there is none."""
    full: float
    part: float
    """Words of a tile, and those of them that the step brings in."""
    near: bool
    """Whether a link may serve the step, and any other."""
    may_link: bool
    key: int
    """The number of the distance by which it moves."""


@njit
def _innermost_step(case: Case, path: Path, level: int, v: int, extent: Ints, loops: int, known: bool) -> _Step:
    """Find the innermost step outside a boundary, see `count_steps`; write by rank by how much it moves."""
    coef, loop, reach, resting = (
        case.target.layer.coef[v],
        path.loops,
        path.reach,
        case.target.layer.reuse[level - 1, v].resting,
    )
    key, full = 0, float(box_words(coef, extent))
    first = loops - 1
    while resting and first >= 0 and not moves(coef, loop[first].dim):
        first -= 1
    near = may_link = not resting or first == loops - 1
    for r in range(coef.shape[0]):
        path.at[r] = path.move[r] = 0
        if first < 0:
            continue
        step = path.move[r] = coef[r, loop[first].dim] * loop[first].step
        near = near and _within(reach, r, step)
        if known and reach[r].quantum > 0:
            key += number_of(reach, r, step)
    moved = rank_moved(path.move)
    if moved == NO_RANK:
        return _Step(first, full, 0.0, False, may_link, key)
    part = full if moved == RANKS else new_words(full, side_of(coef, moved, extent), path.move[moved])
    return _Step(first, full, part, near, may_link, key)


@njit
def count_steps(case: Case, path: Path, level: int, v: int, extent: Ints, loops: int, shape: int) -> None:
    """Write to `Path.words` the words of all steps into one instance below a level, see `WORDS`.

    A link needs equal boxes now and before, and a move in every rank that is a distance of two instances, see
    `find_reach`. Timeloop reads a tile anew where a step stands still since loops of one window cancel out, but lets
    neighbours hand it on. In Timeloop 4 steps that stand are none: loops further in than the first that moves do not
    count, and let nothing be handed on.

    Parameters
    ----------
    extent
        Indices of the tile by dimension.
    loops
        How many loops of the path are outside the boundary.
    shape
        The place of the tile's shape in `Mesh`, -1 where neighbours are not known.
    """
    coef, loop, reach, words = case.target.layer.coef[v], path.loops, path.reach, path.words[0]
    resting, served = case.target.layer.reuse[level - 1, v].resting, case.mesh.served[level, v, shape]
    known = shape >= 0
    first = _innermost_step(case, path, level, v, extent, loops, known)
    clear_words(words)
    # The first box has no predecessor.
    words.plain = first.full
    outer = 1.0
    for j in range(first.place + 1):
        outer *= loop[j].bound
    for j in range(first.place, -1, -1):
        outer /= loop[j].bound
        calls = (loop[j].bound - 1) * outer
        within, key = first.may_link, 0
        for r in range(coef.shape[0]):
            step = coef[r, loop[j].dim] * loop[j].step
            # All loops further in fall back.
            value = step - path.at[r]
            path.at[r] += step
            path.shift[r] = value
            within = within and _within(reach, r, value)
            if known and reach[r].quantum > 0:
                key += number_of(reach, r, value)
        same, stands = alike(path.shift, path.move), still(path.shift)
        if resting and stands:
            continue
        number = calls * (first.part if same else first.full)
        # A step as the innermost loop's brings in what is new. Else the box before has to be as large, and near.
        linked = first.near if same else (first.part >= first.full and within)
        if linked and stands and not same:
            words.standing += number
        elif linked:
            _link(words, number, known, served, first.key if same else key)
        else:
            words.plain += number


@njit
def settle(words: Record, edge: Record) -> None:
    """Take steps that stand as served in full only where two instances can hold one box."""
    if not edge.coincide:
        words.plain += words.standing
        words.standing = 0.0


@njit
def asked_words(words: Record, edge: Record, distinct: float, known: bool, fan: Record) -> float:
    """Words that the next kept level outside is asked for, at least.

    ``edge`` is the boundary's of `Unrolled.edge`, ``distinct`` its `DISTINCT` for this tile, ``fan`` that of
    `Mesh.fan`, where it is known.
    """
    if known:
        return float((words.plain * fan.boxes - words.spared) * edge.beyond)
    return float(words.plain * distinct + words.moved * edge.distinct_linked)


@njit
def filled_words(words: Record, edge: Record, fan: Record) -> float:
    """Words counted as fills of one instance, at least.

    Timeloop averages what the parent sends over the fan-out, adds what links bring divided by the instances of *all*
    levels above, and rounds: so words that come over links can be missing.
    """
    linked = words.moved * edge.fill_linked + words.standing * edge.fill_standing
    if words.served > 0.0:
        linked -= words.served / fan.instances * (1.0 - edge.fill_standing)
    elif words.moved == 0.0 and words.standing == 0.0:
        return float(words.plain)
    return float(math.floor((words.plain + linked) * (1.0 - 1e-12)))
