"""Minimise bounds over the loops of a level: a closure along prime steps of the tile, dimension by dimension."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints
from jouleloop.optimum.arrays import (
    COUNT,
    DOWN,
    FIXED,
    KIND,
    NOW,
    PAIR_DOWN,
    PAIRS,
    PRIMES,
    RADIX,
    RANK,
    REST,
    START,
    VALUE,
    WHOLE,
    Case,
    Grid,
)
from jouleloop.optimum.lattice import digit_of


@njit
def _lower(
    source: Floats, target: Floats, states: int, radix: int, size: int, divisor: Ints, pair: Ints, paired: bool
) -> None:
    """Lower ``target`` to the values of ``source`` one prime of one dimension further in, ascending.

    With ``source`` and ``target`` the same array that closes it along the dimension.

    Parameters
    ----------
    radix, size
        Weight of the dimension's digit in a state, and how many digits it has.
    divisor, pair
        Tables of the dimension; ``paired`` says which of the two the digit counts.
    """
    for base in range(0, states, radix * size):
        for at in range(size):
            high = base + at * radix
            primes = divisor[pair[at, NOW], PRIMES] if paired else divisor[at, PRIMES]
            for t in range(primes):
                low = base + radix * (pair[at, PAIR_DOWN + t] if paired else divisor[at, DOWN + t])
                for i in range(radix):
                    value = source[low + i]
                    if value < target[high + i]:
                        target[high + i] = value


@njit
def _without(divisor: Ints, index: int, factor: int) -> int:
    """Index of a divisor less a factor, or -1 where it is no multiple."""
    value = divisor[index, VALUE]
    if value % factor != 0:
        return -1
    while divisor[index, VALUE] * factor != value:
        index -= 1
    return index


@njit
def _may_cut(axis: Ints, slot: Ints, d: int, j: int, fresh: bool) -> bool:
    """Whether a level with these slots may cut dimension ``d`` where its innermost loop is over ``j``."""
    own = axis[j, KIND] >= 0 and axis[d, KIND] == axis[j, KIND]
    return bool(slot[d, FIXED] == 0 and slot[d, RANK] >= slot[j, RANK] and (fresh or own))


@njit
def _lower_all(source: Floats, target: Floats, first: int, line: Ints, place: Ints, j: int, several: Ints) -> None:
    """Lower ``target`` to the least of the places of ``source`` that belong to each of its own.

    A place of the target is a digit a dimension, from ``first`` on; ``line`` holds how many digits there are and their
    weights, shape (3, dimensions), the last row being work space. A place of the source is a sum of one number a digit,
    ``place``, shape (dimensions, digits), -1 where there is none. Of dimension ``j`` there are several, shape (digits,
    numbers), up to the first -1.
    """
    size, weight, digit = line[0], line[1], line[2]
    dims = size.shape[0]
    digit[:] = 0
    while True:
        at = 0
        here = first
        valid = True
        for d in range(1, dims):
            here += digit[d] * weight[d]
            if d != j:
                valid = valid and place[d, digit[d]] >= 0
                at += place[d, digit[d]]
        if valid:
            for p in range(size[0]):
                row = p
                start = at
                if j != 0:
                    row = digit[j]
                    if place[0, p] < 0:
                        continue
                    start += place[0, p]
                least = target[here + p * weight[0]]
                for t in range(several.shape[1]):
                    if several[row, t] < 0:
                        break
                    least = min(least, source[start + several[row, t]])
                target[here + p * weight[0]] = least
        d = 1
        while d < dims:
            digit[d] += 1
            if digit[d] < size[d]:
                break
            digit[d] = 0
            d += 1
        if d >= dims:
            return


@njit
def _cut_place(
    slot: Ints, grid: Grid, level: int, d: int, j: int, fresh: bool, whole: bool, start: int, index: int, several: Ints
) -> int:
    """Return what a dimension of a tile adds to the place of its cut among the states inside a level, -1 for none.

    Of dimension ``j``, of which there has to be a loop, all such places are written to ``several``. Where constraints
    leave one tile inside, it is cut to that; else the states inside are closed already.
    """
    axis = grid.axis
    divisor = grid.divisor[d]
    sole = grid.sole[level]
    kind = axis[j, KIND]
    started = kind >= 0 and axis[d, KIND] == kind and axis[d, WHOLE] == 0 and not whole
    radix = axis[d, RADIX] if whole else grid.state[level, kind, d]
    several[:] = -1
    now = index
    if slot[d, FIXED] > 1:
        now = _without(divisor, now, slot[d, FIXED])
        if now < 0:
            return -1
    elif sole[d] >= 0 and now != sole[d]:
        if not _may_cut(axis, slot, d, j, fresh) or divisor[now, VALUE] % divisor[sole[d], VALUE] != 0:
            return -1
        now = sole[d]
    elif sole[d] >= 0 and d == j:
        return -1
    digit = now if whole else digit_of(sole, grid.pair_of, d, started, start, now)
    if digit < 0:
        return -1
    if d == j and slot[d, FIXED] == 0 and sole[d] < 0:
        for t in range(divisor[now, PRIMES]):
            low = grid.pair[d, digit, PAIR_DOWN + t] if started else divisor[now, DOWN + t]
            several[t] = low * radix
    else:
        several[0] = digit * radix
    return int(digit * radix)


@njit
def _close_inside(case: Case, points: int, level: int, j: int, fresh: bool, whole: bool) -> int:
    """Close the bounds inside a level along what it may cut, in the work space; return how many states those have.

    ``whole``: only runs that start with the whole tile count, and the points of the lattice are the states.
    """
    slot, grid, tables = case.slots[level], case.grid, case.tables
    line, place, several = case.scratch.line, case.scratch.places, case.scratch.several
    axis = grid.axis
    sole = grid.sole[level]
    weight = grid.state[level]
    dims = axis.shape[0]
    kind = axis[j, KIND]
    states = weight[kind, dims]
    closure = tables.enter[: grid.base[1, 0]]
    source = tables.enter[grid.base[level, j] : grid.base[level, j] + states]
    if whole:
        states = points
        closure[:points] = np.inf
        first = 0
        for d in range(dims):
            started = axis[d, KIND] == kind and axis[d, WHOLE] == 0 and level < grid.sole.shape[0] - 1
            line[0, d] = axis[d, COUNT] if sole[d] < 0 else 1
            line[1, d] = axis[d, RADIX]
            first += max(sole[d], 0) * axis[d, RADIX]
            for p in range(line[0, d]):
                now = p if sole[d] < 0 else sole[d]
                digit = digit_of(sole, grid.pair_of, d, started, axis[d, COUNT] - 1, now)
                place[d, p] = digit * weight[kind, d] if digit >= 0 else -1
                if d == 0:
                    several[p, 0], several[p, 1] = place[d, p], -1
        _lower_all(source, closure, first, line, place, 0, several)
    else:
        for state in range(states):
            closure[state] = source[state]
    for d in range(dims):
        if axis[d, REST] == 1 or sole[d] >= 0 or not _may_cut(axis, slot, d, j, fresh):
            continue
        paired = kind >= 0 and axis[d, KIND] == kind and axis[d, WHOLE] == 0 and not whole
        own = axis[d, RADIX] if whole else weight[kind, d]
        _lower(
            closure, closure, states, own, axis[d, PAIRS if paired else COUNT], grid.divisor[d], grid.pair[d], paired
        )
    return int(states)


@njit
def close(case: Case, points: int, level: int, j: int, fresh: bool) -> None:
    """Lower the bounds ahead of a level by all cuts of its tile whose innermost loop is over dimension ``j``.

    ``fresh``: the run starts at this level, all dimensions may be cut; else it goes on with the run outside, and only
    dimensions of its kind may be cut.
    """
    slots, grid, tables = case.slots, case.grid, case.tables
    line, place, several = case.scratch.line, case.scratch.places, case.scratch.several
    axis = grid.axis
    slot = slots[level]
    dims = axis.shape[0]
    kind = axis[j, KIND]
    has_fixed = False
    for d in range(dims):
        if slot[d, FIXED] > 1:
            has_fixed = True
            if slot[d, RANK] < slot[j, RANK] or (not fresh and axis[d, KIND] != kind):
                return
    top = slots.shape[0] - 1
    # Where nothing but the outermost level is outside, a run that goes on started with the whole tile: the tile alone
    # is the state then.
    whole = kind >= 0 and (level == top or (level == top - 1 and not fresh))
    states = _close_inside(case, points, level, j, fresh, whole)
    closure = tables.enter[: grid.base[1, 0]]
    target = tables.ahead[level]
    if not fresh:
        base = grid.base[level, dims + kind]
        target = tables.enter[base : base + grid.state[level + 1, kind, dims]]
        if not whole and not has_fixed and grid.same[level + 1, kind]:
            started = axis[j, WHOLE] == 0
            count = axis[j, PAIRS if started else COUNT]
            _lower(closure, target, states, grid.state[level, kind, j], count, grid.divisor[j], grid.pair[j], started)
            return
    # The tiles of the level, with the starts of their runs where those are outside it.
    first = 1 if fresh else 0
    for d in range(dims):
        last = axis[d, COUNT] - 1
        only = last if level == top else grid.sole[level + 1, d]
        started = not fresh and not whole and axis[d, KIND] == kind and axis[d, WHOLE] == 0
        line[0, d] = 1
        line[1, d] = axis[d, RADIX] if fresh else grid.state[level + 1, kind, d]
        if only < 0:
            line[0, d] = axis[d, PAIRS if started else COUNT]
        elif started:
            line[0, d] = axis[d, COUNT]
        elif fresh:
            first += only * line[1, d]
        for p in range(line[0, d]):
            now = p if only < 0 else only
            start = now if fresh else last
            if started and only < 0:
                start, now = grid.pair[d, p, START], grid.pair[d, p, NOW]
            elif started:
                start = p
            numbers = several[p if d == j else several.shape[0] - 1]
            place[d, p] = -1
            if grid.pair_of[d, start, now] >= 0:
                place[d, p] = _cut_place(slot, grid, level, d, j, fresh, whole, start, now, numbers)
            if place[d, p] < 0:
                numbers[0] = -1
    _lower_all(closure, target, first, line, place, j, several)
