"""Step 2: minimise bounds over the loops of a level: a closure along prime steps of the tile, by dimension."""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Records
from jouleloop.optimum.arrays import Case
from jouleloop.optimum.lattice import digit_of


class _Loops(NamedTuple):
    """The loops of a level that bounds are closed over."""

    level: int
    j: int
    """Dimension of the innermost of them."""
    fresh: bool
    """Whether their run starts at this level: all dimensions may be cut. Else it goes on with the run outside, and only
    dimensions of its kind may be cut."""
    whole: bool
    """Whether only runs that start with the whole tile count: the points of the lattice are the states."""


@njit
def _lower(
    source: Floats, target: Floats, states: int, radix: int, size: int, divisor: Records, pair: Records, paired: bool
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
            primes = divisor[pair[at].now].primes if paired else divisor[at].primes
            for t in range(primes):
                low = base + radix * (pair[at].down[t] if paired else divisor[at].down[t])
                _lower_row(source, target, low, high, radix)


@njit(inline="always")
def _lower_row(source: Floats, target: Floats, low: int, high: int, length: int) -> None:
    """Lower so many values of ``target`` from ``high`` on to those of ``source`` from ``low`` on."""
    for i in range(length):
        value = source[low + i]
        if value < target[high + i]:
            target[high + i] = value


@njit
def _without(divisor: Records, index: int, factor: int) -> int:
    """Index of a divisor less a factor, or -1 where it is no multiple."""
    value = divisor[index].value
    if value % factor != 0:
        return -1
    while divisor[index].value * factor != value:
        index -= 1
    return index


@njit
def _may_cut(case: Case, loops: _Loops, d: int) -> bool:
    """Whether the level of some loops may cut a dimension where its innermost loop is that of theirs."""
    axis, slot = case.grid.axis, case.slots[loops.level]
    own = axis[loops.j].kind >= 0 and axis[d].kind == axis[loops.j].kind
    return bool(slot[d].fixed == 0 and slot[d].rank >= slot[loops.j].rank and (loops.fresh or own))


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
        for p in range(size[0] if valid else 0):
            # The innermost digit; where it is that of ``j``, its numbers are among the several.
            more = 0 if j == 0 else place[0, p]
            if more >= 0:
                value = target[here + p * weight[0]]
                target[here + p * weight[0]] = _least(source, at + more, several[p if j == 0 else digit[j]], value)
        d = 1
        while d < dims:
            digit[d] += 1
            if digit[d] < size[d]:
                break
            digit[d] = 0
            d += 1
        if d >= dims:
            return


@njit(inline="always")
def _least(source: Floats, start: int, numbers: Ints, least: float) -> float:
    """Return the least of a value and those of ``source`` at some numbers up to the first -1, from ``start`` on."""
    for t in range(numbers.shape[0]):
        if numbers[t] < 0:
            break
        least = min(least, source[start + numbers[t]])
    return least


@njit
def _cut_place(case: Case, loops: _Loops, d: int, start: int, index: int, several: Ints) -> int:
    """Return what a dimension of a tile adds to the place of its cut among the states inside a level, -1 for none.

    Of the innermost loop's dimension, of which there has to be a loop, all such places are written to ``several``.
    Where constraints leave one tile inside, it is cut to that; else the states inside are closed already.
    """
    grid, axis, slot = case.grid, case.grid.axis, case.slots[loops.level]
    divisor, sole = grid.divisor[d], grid.sole[loops.level]
    kind = axis[loops.j].kind
    started = kind >= 0 and axis[d].kind == kind and not axis[d].whole and not loops.whole
    radix = axis[d].radix if loops.whole else grid.state[loops.level, kind, d]
    several[:] = -1
    now = index
    if slot[d].fixed > 1:
        now = _without(divisor, now, slot[d].fixed)
        if now < 0:
            return -1
    elif sole[d] >= 0 and now != sole[d]:
        if not _may_cut(case, loops, d) or divisor[now].value % divisor[sole[d]].value != 0:
            return -1
        now = sole[d]
    elif sole[d] >= 0 and d == loops.j:
        return -1
    digit = now if loops.whole else digit_of(sole, grid.pair_of, d, started, start, now)
    if digit < 0:
        return -1
    if d == loops.j and slot[d].fixed == 0 and sole[d] < 0:
        for t in range(divisor[now].primes):
            low = grid.pair[d, digit].down[t] if started else divisor[now].down[t]
            several[t] = low * radix
    else:
        several[0] = digit * radix
    return int(digit * radix)


@njit
def _close_inside(case: Case, points: int, loops: _Loops) -> int:
    """Close the bounds inside a level along what it may cut, in the work space; return how many states those have."""
    grid, tables, level = case.grid, case.tables, loops.level
    line, place, several = case.scratch.line, case.scratch.places, case.scratch.several
    axis, sole, weight = grid.axis, grid.sole[level], grid.state[level]
    dims = axis.shape[0]
    kind = axis[loops.j].kind
    states = weight[kind, dims]
    closure = tables.enter[: grid.base[1, 0]]
    source = tables.enter[grid.base[level, loops.j] : grid.base[level, loops.j] + states]
    if loops.whole:
        states = points
        closure[:points] = np.inf
        first = 0
        for d in range(dims):
            started = axis[d].kind == kind and not axis[d].whole and level < grid.sole.shape[0] - 1
            line[0, d] = axis[d].count if sole[d] < 0 else 1
            line[1, d] = axis[d].radix
            first += max(sole[d], 0) * axis[d].radix
            for p in range(line[0, d]):
                now = p if sole[d] < 0 else sole[d]
                digit = digit_of(sole, grid.pair_of, d, started, axis[d].count - 1, now)
                place[d, p] = digit * weight[kind, d] if digit >= 0 else -1
                if d == 0:
                    several[p, 0], several[p, 1] = place[d, p], -1
        _lower_all(source, closure, first, line, place, 0, several)
    else:
        for state in range(states):
            closure[state] = source[state]
    for d in range(dims):
        if axis[d].rest == 1 or sole[d] >= 0 or not _may_cut(case, loops, d):
            continue
        paired = kind >= 0 and axis[d].kind == kind and not axis[d].whole and not loops.whole
        own = axis[d].radix if loops.whole else weight[kind, d]
        size = axis[d].pairs if paired else axis[d].count
        _lower(closure, closure, states, own, size, grid.divisor[d], grid.pair[d], paired)
    return int(states)


@njit
def close(case: Case, points: int, level: int, j: int, fresh: bool) -> None:
    """Lower the bounds ahead of a level by all cuts of its tile whose innermost loop is over dimension ``j``.

    ``fresh``: the run starts at this level, else it goes on with the run outside.
    """
    grid, tables, slot = case.grid, case.tables, case.slots[level]
    axis = grid.axis
    dims = axis.shape[0]
    kind = axis[j].kind
    has_fixed = False
    for d in range(dims):
        if slot[d].fixed > 1:
            has_fixed = True
            if slot[d].rank < slot[j].rank or (not fresh and axis[d].kind != kind):
                return
    top = case.slots.shape[0] - 1
    # Where nothing but the outermost level is outside, a run that goes on started with the whole tile: the tile alone
    # is the state then.
    whole = kind >= 0 and (level == top or (level == top - 1 and not fresh))
    loops = _Loops(level, j, fresh, whole)
    states = _close_inside(case, points, loops)
    closure = tables.enter[: grid.base[1, 0]]
    target = tables.ahead[level]
    if not fresh:
        base = grid.base[level, dims + kind]
        target = tables.enter[base : base + grid.state[level + 1, kind, dims]]
        if not whole and not has_fixed and grid.same[level + 1, kind]:
            started = not axis[j].whole
            count = axis[j].pairs if started else axis[j].count
            _lower(closure, target, states, grid.state[level, kind, j], count, grid.divisor[j], grid.pair[j], started)
            return
    first = 1 if fresh else 0
    for d in range(dims):
        first += _list_cuts(case, loops, d)
    _lower_all(closure, target, first, case.scratch.line, case.scratch.places, j, case.scratch.several)


@njit
def _list_cuts(case: Case, loops: _Loops, d: int) -> int:
    """Write the tiles of a level along a dimension, with the starts of their runs where those are outside it.

    And for each where its cuts stand. Returns what the dimension adds to the place of the first tile.
    """
    grid, axis, level, fresh = case.grid, case.grid.axis, loops.level, loops.fresh
    line, place, several = case.scratch.line, case.scratch.places, case.scratch.several
    kind = axis[loops.j].kind
    last = axis[d].count - 1
    only = last if level == case.slots.shape[0] - 1 else grid.sole[level + 1, d]
    started = not fresh and not loops.whole and axis[d].kind == kind and not axis[d].whole
    first = 0
    line[0, d] = 1
    line[1, d] = axis[d].radix if fresh else grid.state[level + 1, kind, d]
    if only < 0:
        line[0, d] = axis[d].pairs if started else axis[d].count
    elif started:
        line[0, d] = axis[d].count
    elif fresh:
        first = only * line[1, d]
    for p in range(line[0, d]):
        now = p if only < 0 else only
        start = now if fresh else last
        if started and only < 0:
            start, now = grid.pair[d, p].start, grid.pair[d, p].now
        elif started:
            start = p
        numbers = several[p if d == loops.j else several.shape[0] - 1]
        place[d, p] = -1
        if grid.pair_of[d, start, now] >= 0:
            place[d, p] = _cut_place(case, loops, d, start, now, numbers)
        if place[d, p] < 0:
            numbers[0] = -1
    return int(first)
