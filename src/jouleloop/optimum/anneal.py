"""Simulated annealing over whole mappings: factors, loop orders and what is kept change together.

The model itself evaluates every mapping, so nothing here is a bound. Random numbers come from a counter of our own and
work is counted in evaluations: equal inputs give equal mappings on every machine.
"""

import math
from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import (
    SPATIAL,
    TEMPORAL,
    Bools,
    Encoded,
    Floats,
    Ints,
    NestArrays,
    Record,
    Records,
    WorkArrays,
    copy_row,
    copy_rows,
)
from jouleloop.model.evaluate import count_nest
from jouleloop.model.kernel import held_words
from jouleloop.model.price import fits

#: Of 100 moves, how many at most change a factor, swap two, change an order, and change what is kept.
_MOVE, _SWAP, _ORDER = 40, 60, 80
#: Temperature at the last evaluation, of the logarithm of the value.
_COLD = 0.002
#: Tries to draw a move that changes anything before an evaluation counts as spent.
_TRIES = 8


@record
class Room(NamedTuple):
    """What a mapping may be.

    Attributes
    ----------
    slot
        Limits of factors and the rank of loops, of `SLOT`, shape (2, levels, dimensions), temporal slots first. A level
        without a fan-out has fixed spatial factors of 1.
    split
        By level, how many spatial positions go to X, -1 where any number may.
    closed
        By level and dimension, how many dimensions of bound 1, which are left out, stand inside it on the fan-out.
    prime, primes
        Distinct primes of each dimension, shape (dimensions, MAX_PRIMES), and how many.
    column, columns
        Choices of levels that keep a data space, shape (data spaces, choices, levels), and how many.
    flip
        The choice that differs at one level alone, or -1, shape of ``column``.
    least_share
        Share of the compute units that has to be used, shape (1,).
    power
        Powers of energy and of cycles in what is minimised.
    """

    slot: Records
    split: Ints
    closed: Ints
    prime: Ints
    primes: Ints
    column: Bools
    columns: Ints
    flip: Ints
    least_share: Floats
    power: Floats


@record
class Point(NamedTuple):
    """A mapping in numbers.

    Attributes
    ----------
    factor
        Shape (2, levels, dimensions), temporal factors first.
    order
        Dimensions from the outermost to the innermost, where their ranks are equal; the shape of ``factor``.
    choice
        By data space, its place in `Room.column`.
    """

    factor: Ints
    order: Ints
    choice: Ints


@record
class Model(NamedTuple):
    """What `count_nest` is asked with: the target, the nest at hand and its work space."""

    target: Encoded
    nest: NestArrays
    work: WorkArrays


@njit
def _draw(state: Ints, below: int) -> int:
    """Return the next random number from 0 to ``below`` - 1 (xorshift; the low bits are dropped)."""
    x = state[0]
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    state[0] = x
    return int((x >> 16) % below)


@njit
def _copy(source: Point, target: Point) -> None:
    for kind in range(source.factor.shape[0]):
        copy_rows(source.factor[kind], target.factor[kind])
        copy_rows(source.order[kind], target.order[kind])
    copy_row(source.choice, target.choice)


@njit
def _place_loops(room: Room, point: Point, nest: NestArrays, kind: int, level: int) -> None:
    """Write the loops of one slot, outermost first, as ranks and the point's order say; axes are not set."""
    slot, factor, order = room.slot[kind, level], point.factor[kind, level], point.order[kind, level]
    count = 0
    for place in range(order.shape[0]):
        d = order[place]
        if factor[d] == 1:
            continue
        at = count
        while at > 0 and slot[nest.loops[level, kind, at - 1].dim].rank < slot[d].rank:
            nest.loops[level, kind, at] = nest.loops[level, kind, at - 1]
            at -= 1
        nest.loops[level, kind, at].dim = d
        nest.loops[level, kind, at].bound = factor[d]
        nest.loops[level, kind, at].axis = 0
        count += 1
    nest.counts[level, kind] = count


@njit
def _place_axes(room: Room, own: Record, nest: NestArrays, level: int) -> bool:
    """Give the spatial loops of a level their axes, the innermost along X; return whether they fit the mesh."""
    most_x, most_y = own.fanout_x, own.fanout_y
    count = nest.counts[level, SPATIAL]
    split = room.split[level]
    along_x, along_y = 1, 1
    turned = False
    for place in range(count):
        loop = nest.loops[level, SPATIAL, count - 1 - place]
        if split >= 0:
            turned = _position(room, level, loop.dim, nest) >= split
        else:
            turned = turned or along_x * loop.bound > most_x
        if turned:
            along_y *= loop.bound
            loop.axis = 1
        else:
            along_x *= loop.bound
    return bool(along_x <= most_x and along_y <= most_y)


@njit
def _position(room: Room, level: int, d: int, nest: NestArrays) -> int:
    """Return how many dimensions stand inside one in the order of a level's spatial slot, loops of 1 included.

    Those of 1 are innermost among equals, so that a loop is as far outside as it may be.
    """
    slot = room.slot[SPATIAL, level]
    inside = int(room.closed[level, d])
    for e in range(slot.shape[0]):
        if slot[e].rank < slot[d].rank:
            inside += 1
    count = nest.counts[level, SPATIAL]
    ones = 0
    for e in range(slot.shape[0]):
        if slot[e].rank == slot[d].rank:
            ones += 1
    seen = False
    for place in range(count):
        e = nest.loops[level, SPATIAL, place].dim
        if slot[e].rank == slot[d].rank:
            ones -= 1
            if seen:
                inside += 1
        seen = seen or e == d
    return inside + ones


@njit
def _fits(room: Room, model: Model, point: Point) -> bool:
    """Write the nest of a point; return whether its spatial loops fit their meshes and its tiles their levels."""
    nest, coef = model.nest, model.target.layer.coef
    levels, dims = point.factor.shape[1:]
    extent = np.ones(dims, np.int64)
    share = 1.0
    for level in range(levels):
        _place_loops(room, point, nest, TEMPORAL, level)
        _place_loops(room, point, nest, SPATIAL, level)
        own = model.target.hardware.levels[level]
        if not _place_axes(room, own, nest, level):
            return False
        for d in range(dims):
            share *= point.factor[SPATIAL, level, d]
            extent[d] *= point.factor[SPATIAL, level, d] * point.factor[TEMPORAL, level, d]
        share /= own.fanout_x * own.fanout_y
        for v in range(coef.shape[0]):
            nest.keep[level, v] = room.column[v, point.choice[v], level]
        if not fits(own, float(held_words(coef, nest.keep[level], extent))):
            return False
    return bool(share >= room.least_share[0])


@njit
def value_of(room: Room, model: Model, point: Point) -> float:
    """Return the logarithm of what a point costs by the objective, infinite where it is no mapping."""
    if not _fits(room, model, point):
        return np.inf
    total_pj, cycles, _, _ = count_nest(model.target, model.nest, model.work)
    if total_pj == np.inf:
        return np.inf
    value = room.power[1] * math.log(max(cycles, 1))
    if room.power[0] > 0.0:
        value += room.power[0] * math.log(max(total_pj, 1e-300))
    return float(value)


@njit
def _shift(room: Room, state: Ints, point: Point, ways: Ints) -> bool:
    """Move a prime factor between two slots, which ``ways`` names where they are not -1; return whether it could.

    Writes the slots to ``ways``: kind and level of both.
    """
    levels, dims = point.factor.shape[1:]
    d = _draw(state, dims)
    if room.primes[d] == 0:
        return False
    p = room.prime[d, _draw(state, room.primes[d])]
    if ways[0] < 0:
        for side in range(2):
            ways[2 * side] = _draw(state, 2)
            ways[2 * side + 1] = _draw(state, levels)
    source, target = room.slot[ways[0], ways[1], d], room.slot[ways[2], ways[3], d]
    from_factor, to_factor = point.factor[ways[0], ways[1], d], point.factor[ways[2], ways[3], d]
    if source.fixed != 0 or target.fixed != 0 or (ways[0] == ways[2] and ways[1] == ways[3]):
        return False
    if from_factor % p != 0 or from_factor // p < source.least or to_factor * p > target.most:
        return False
    times = 1
    # Often all of a dimension, as steps between are worse than both ends.
    while _draw(state, 3) == 0 and from_factor // times % (p * p) == 0:
        if from_factor // (times * p * p) < source.least or to_factor * times * p * p > target.most:
            break
        times *= p
    point.factor[ways[0], ways[1], d] //= times * p
    point.factor[ways[2], ways[3], d] *= times * p
    return True


@njit
def _reorder(state: Ints, point: Point) -> bool:
    """Let a dimension be the innermost or outermost loop of a slot, the others staying in their order."""
    levels, dims = point.factor.shape[1:]
    kind, level = TEMPORAL, _draw(state, levels)
    if _draw(state, 4) == 0:
        kind = SPATIAL
    order = point.order[kind, level]
    at, to = _draw(state, dims), _draw(state, dims)
    d = order[at]
    if at == to or point.factor[kind, level, d] == 1:
        return False
    step = 1 if to > at else -1
    while at != to:
        order[at] = order[at + step]
        at += step
    order[to] = d
    return True


@njit
def _change(room: Room, state: Ints, point: Point, ways: Ints) -> bool:
    """Change a point at random; return whether anything changed."""
    what = _draw(state, 100)
    ways[:] = -1
    if what < _MOVE:
        return _shift(room, state, point, ways)
    if what < _SWAP:
        if not _shift(room, state, point, ways):
            return False
        kind, level = ways[0], ways[1]
        ways[0], ways[1], ways[2], ways[3] = ways[2], ways[3], kind, level
        return _shift(room, state, point, ways)
    if what < _ORDER:
        return _reorder(state, point)
    v = _draw(state, room.columns.shape[0])
    if _draw(state, 4) == 0:
        choice = _draw(state, room.columns[v])
    else:
        choice = room.flip[v, point.choice[v], _draw(state, room.column.shape[2])]
    if choice < 0 or choice == point.choice[v]:
        return False
    point.choice[v] = choice
    if _draw(state, 2) == 0:
        # What a level has room for changes with it.
        ways[:] = -1
        _shift(room, state, point, ways)
    return True


@njit
def anneal(
    room: Room, model: Model, points: tuple[Point, Point, Point], seed: int, evaluations: int, hot: float
) -> float:
    """Walk from a point by random changes, ever fewer for the worse; return the least logarithm of a value.

    Parameters
    ----------
    points
        The point to begin at, where the walk's place is written; the best one, written; and work space.
    seed
        Above 0.
    evaluations
        How many changes are tried.
    hot
        Temperature at the first of them, of the logarithm of the value.
    """
    at, best, trial = points
    state = np.empty(1, np.int64)
    state[0] = seed
    ways = np.empty(4, np.int64)
    value = least = value_of(room, model, at)
    _copy(at, best)
    cooling = (_COLD / hot) ** (1.0 / max(1, evaluations))
    heat = hot
    for _ in range(evaluations):
        heat *= cooling
        _copy(at, trial)
        for _ in range(_TRIES):
            if _change(room, state, trial, ways):
                break
            _copy(at, trial)
        new = value_of(room, model, trial)
        if new == np.inf:
            continue
        if new > value:
            chance = (_draw(state, 1 << 30) + 1) / (1 << 30)
            if math.log(chance) * heat < value - new:
                _copy(trial, at)
                value = new
            continue
        _copy(trial, at)
        value = new
        if value < least:
            least = value
            _copy(at, best)
    return least
