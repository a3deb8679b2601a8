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
    Grid,
    Tables,
)
from jouleloop.optimum.lattice import advance


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
def whole_state(axis: Ints, pair_of: Ints, weight: Ints, index: Ints, kind: int) -> int:
    """State of a tile whose trailing run started with the whole."""
    state = 0
    for d in range(axis.shape[0]):
        now = index[d]
        if axis[d, KIND] == kind:
            now = pair_of[d, axis[d, COUNT] - 1, now]
        state += now * weight[kind, d]
    return state


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
def close(slots: Ints, grid: Grid, points: int, tables: Tables, level: int, j: int, fresh: bool) -> None:
    """Lower the bounds ahead of a level by all cuts of its tile whose innermost loop is over dimension ``j``.

    ``fresh``: the run starts at this level, all dimensions may be cut; else it goes on with the run outside, and only
    dimensions of its kind may be cut.
    """
    axis = grid.axis
    divisor = grid.divisor
    pairs = grid.pair
    pair_of = grid.pair_of
    weight = grid.state
    enter = tables.enter
    ahead = tables.ahead
    closure = enter[0, 0]
    slot = slots[level]
    dims = axis.shape[0]
    kind = axis[j, KIND]
    states = weight[kind, dims]
    has_fixed = False
    for d in range(dims):
        if slot[d, FIXED] > 1:
            has_fixed = True
            if slot[d, RANK] < slot[j, RANK] or (not fresh and axis[d, KIND] != kind):
                return
    top = ahead.shape[0] - 1
    # Where nothing but the outermost level is outside, a run that goes on started with the whole tile: the tile alone
    # is the state then.
    whole = kind >= 0 and (level == top or (level == top - 1 and not fresh))
    index = np.zeros(dims, np.int64)
    if whole:
        states = points
        for point in range(points):
            closure[point] = enter[level, j, whole_state(axis, pair_of, weight, index, kind)]
            advance(index, axis)
    else:
        closure[:states] = enter[level, j, :states]
    for d in range(dims):
        own = kind >= 0 and axis[d, KIND] == kind
        if axis[d, REST] == 1 or slot[d, FIXED] != 0 or slot[d, RANK] < slot[j, RANK] or not (fresh or own):
            continue
        paired = own and not whole
        radix = axis[d, RADIX] if whole else weight[kind, d]
        _lower(closure, closure, states, radix, axis[d, PAIRS if paired else COUNT], divisor[d], pairs[d], paired)
    if not fresh and not whole and not has_fixed:
        _lower(closure, enter[level, dims + kind], states, weight[kind, j], axis[j, PAIRS], divisor[j], pairs[j], True)
        return
    paired_j = kind >= 0 and not whole
    radix_j = axis[j, RADIX] if whole else weight[kind, j]
    by_point = fresh or whole
    index[:] = 0
    if level == top:
        for d in range(dims):
            index[d] = axis[d, COUNT] - 1
    for here in range(points - 1 if level == top else 0, points if by_point else states):
        # The state after the fixed factors are taken off; then one prime of the innermost dimension where it is open.
        cut = 0
        valid = True
        digit_j = 0
        for d in range(dims):
            own = kind >= 0 and axis[d, KIND] == kind
            start = index[d]
            now = index[d]
            if not by_point and own:
                start = pairs[d, index[d], START]
                now = pairs[d, index[d], NOW]
            if slot[d, FIXED] > 1:
                now = _without(divisor[d], now, slot[d, FIXED])
                if now < 0:
                    valid = False
                    break
            place = pair_of[d, start, now] if own and not whole else now
            if d == j:
                digit_j = place
            cut += place * (axis[d, RADIX] if whole else weight[kind, d])
        if valid:
            least_pj = np.inf
            if slot[j, FIXED] > 1:
                least_pj = closure[cut]
            else:
                at = pairs[j, digit_j, NOW] if paired_j else digit_j
                for t in range(divisor[j, at, PRIMES]):
                    low = pairs[j, digit_j, PAIR_DOWN + t] if paired_j else divisor[j, digit_j, DOWN + t]
                    least_pj = min(least_pj, closure[cut - (digit_j - low) * radix_j])
            if fresh:
                ahead[level, 1 + here] = min(ahead[level, 1 + here], least_pj)
            else:
                state = whole_state(axis, pair_of, weight, index, kind) if whole else here
                enter[level, dims + kind, state] = min(enter[level, dims + kind, state], least_pj)
        for d in range(dims):
            index[d] += 1
            if index[d] < axis[d, PAIRS if not by_point and kind >= 0 and axis[d, KIND] == kind else COUNT]:
                break
            index[d] = 0
