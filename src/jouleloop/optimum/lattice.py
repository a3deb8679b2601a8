"""Fill the lattice of temporal tiles of one unrolling, and the states that the bounds are tabulated over."""

from collections.abc import Callable

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.arrays import (
    AXIS_PLACES,
    COUNT,
    DOWN,
    FIXED,
    IDLE,
    KIND,
    MAX_PRIMES,
    NOW,
    PAIR_DOWN,
    PAIRS,
    PRIMES,
    RADIX,
    REST,
    START,
    VALUE,
    WHOLE,
    Grid,
)


def find_kinds(side: Ints) -> Ints:
    """Return the kind of every dimension, -1 for those that move all data spaces.

    Dimensions belong to one kind where a chain of data spaces, each left in place by two of them, links them. For a
    convolution the kinds are {N, P, Q} (weights stay), {M} (inputs stay) and {C, R, S} (outputs stay).
    """
    idle = side[:, :, IDLE].T.astype(bool)
    kind = np.full(len(idle), -1, np.int64)
    kinds = 0
    for d in range(len(idle)):
        if kind[d] >= 0 or not idle[d].any():
            continue
        shared = idle[d]
        while True:
            members = (idle & shared).any(axis=1)
            grown = idle[members].any(axis=0)
            if (grown == shared).all():
                break
            shared = grown
        kind[members] = kinds
        kinds += 1
    return kind


def new_grid(bounds: Ints, kind: Ints, slots: Ints, most_cells: int) -> tuple[Grid, int, int]:
    """Return a grid of a layer, filled; how many cells tables of any unrolling take at most; its number of points.

    Where that would be more than ``most_cells``, kinds of many states take all runs for whole ones.
    """
    levels, dims = slots.shape[:2]
    kinds = int(kind.max()) + 1
    most = max(_count(int(bound), lambda k: k + 1) for bound in bounds)
    # A prime power p^k has (k + 1)(k + 2) / 2 pairs of divisors, the second dividing the first.
    most_pairs = max(_count(int(bound), lambda k: (k + 1) * (k + 2) // 2) for bound in bounds)
    grid = Grid(
        np.zeros((dims, AXIS_PLACES), np.int64),
        np.empty((dims, most, DOWN + MAX_PRIMES), np.int64),
        np.empty((dims, most, most), np.int64),
        np.empty((dims, most_pairs, PAIR_DOWN + MAX_PRIMES), np.int64),
        np.ones((levels, dims), np.int64),
        np.empty((levels, dims), np.int64),
        np.zeros((levels, kinds + 1, dims + 1), np.int64),
        np.zeros((levels, kinds + 1), np.bool_),
        np.zeros((levels, dims + kinds), np.int64),
    )
    for level in range(1, levels):
        grid.fixed[level] = grid.fixed[level - 1] * slots[level - 1, :, FIXED]
    grid.axis[:, REST] = bounds
    grid.axis[:, KIND] = kind
    cells, points = _size(grid, most_cells)
    return grid, cells, points


def _count(number: int, of_power: Callable[[int], int]) -> int:
    product = 1
    p = 2
    while number > 1:
        if p * p > number:
            p = number
        power = 0
        while number % p == 0:
            number //= p
            power += 1
        product *= of_power(power)
        p += 1
    return product


@njit
def fill_grid(grid: Grid, most_cells: int) -> int:
    """Fill the tables of a lattice from its rests, kinds and fixed factors; return its number of points.

    Where tables would take more cells than that, kinds of many states take all runs for whole ones.
    """
    dims = grid.axis.shape[0]
    points = 1
    primes = np.empty(MAX_PRIMES, np.int64)
    for d in range(dims):
        number = grid.axis[d, REST]
        divisor = grid.divisor[d]
        n = 0
        f = 1
        while f * f <= number:
            if number % f == 0:
                divisor[n, VALUE] = f
                n += 1
            f += 1
        for k in range(n - 1, -1, -1):
            if divisor[k, VALUE] * divisor[k, VALUE] != number:
                divisor[n, VALUE] = number // divisor[k, VALUE]
                n += 1
        grid.axis[d, COUNT] = n
        grid.axis[d, RADIX] = points
        points *= n
        left = number
        total = 0
        p = 2
        while left > 1:
            if p * p > left:
                p = left
            if left % p == 0:
                primes[total] = p
                total += 1
                while left % p == 0:
                    left //= p
            p += 1
        for k in range(n):
            steps = 0
            for t in range(total):
                if divisor[k, VALUE] % primes[t] == 0:
                    target = divisor[k, VALUE] // primes[t]
                    at = k
                    while divisor[at, VALUE] != target:
                        at -= 1
                    divisor[k, DOWN + steps] = at
                    steps += 1
            divisor[k, PRIMES] = steps
        pairs = 0
        for start in range(n):
            for now in range(n):
                grid.pair_of[d, start, now] = -1
                if now <= start and divisor[start, VALUE] % divisor[now, VALUE] == 0:
                    grid.pair_of[d, start, now] = pairs
                    grid.pair[d, pairs, START] = start
                    grid.pair[d, pairs, NOW] = now
                    for t in range(divisor[now, PRIMES]):
                        grid.pair[d, pairs, PAIR_DOWN + t] = grid.pair_of[d, start, divisor[now, DOWN + t]]
                    pairs += 1
        grid.axis[d, PAIRS] = pairs
        grid.axis[d, WHOLE] = 0
        for level in range(grid.sole.shape[0]):
            only = grid.fixed[level, d]
            grid.sole[level, d] = -1
            if level > 0 and only > 0:
                # A factor that does not divide leaves no tile, whichever stands for it.
                grid.sole[level, d] = index_of(divisor, n, only) if number % only == 0 else 0
    while _lay_out(grid) > most_cells:
        widest, most = -1, 0
        for d in range(dims):
            kind = grid.axis[d, KIND]
            states = 0
            for level in range(grid.state.shape[0] if kind >= 0 and grid.axis[d, WHOLE] == 0 else 0):
                states = max(states, grid.state[level, kind, dims])
            if states > most:
                most, widest = states, kind
        if widest < 0:
            break
        for d in range(dims):
            if grid.axis[d, KIND] == widest:
                grid.axis[d, WHOLE] = 1
    return points


@njit
def _size(grid: Grid, most_cells: int) -> tuple[int, int]:
    """Fill a lattice; return how many cells its tables take at most, and its number of points."""
    fill_grid(grid, 0)
    least = _lay_out(grid)
    grid.axis[:, WHOLE] = 0
    cells = min(_lay_out(grid), max(least, most_cells))
    return cells, fill_grid(grid, cells)


@njit
def _lay_out(grid: Grid) -> int:
    """Fill the states of a lattice and where the rows of its tables start; return how many cells those take."""
    axis = grid.axis
    dims = axis.shape[0]
    kinds = grid.state.shape[1] - 1
    top = grid.state.shape[0] - 1
    widest = 1
    for d in range(dims):
        widest *= axis[d, COUNT]
    for level in range(1, top + 1):
        for k in range(kinds + 1):
            states = 1
            same = level > 1
            for d in range(dims):
                started = axis[d, KIND] == k and axis[d, WHOLE] == 0 and level < top
                grid.state[level, k, d] = states
                if grid.sole[level, d] < 0:
                    states *= axis[d, PAIRS] if started else axis[d, COUNT]
                elif started:
                    states *= axis[d, COUNT]
                inner = axis[d, KIND] == k and axis[d, WHOLE] == 0
                same = same and grid.sole[level, d] == grid.sole[level - 1, d] and started == inner
            grid.state[level, k, dims] = states
            grid.same[level, k] = same
            widest = max(widest, states)
    cells = widest
    for level in range(1, top + 1):
        for j in range(dims):
            grid.base[level, j] = cells
            cells += grid.state[level, axis[j, KIND], dims] if axis[j, REST] > 1 else 0
        for k in range(kinds):
            grid.base[level, dims + k] = cells
            cells += grid.state[level + 1, k, dims] if level < top else 0
    return int(cells)


@njit
def digit_of(sole: Ints, pair_of: Ints, d: int, started: bool, start: int, now: int) -> int:
    """Digit of a dimension in a state of a boundary, -1 where no such tile stands there.

    Where the run may have started anywhere (``started``) that is the pair of divisors, or the start where there is one
    tile only; else the divisor of the tile, or 0.

    Parameters
    ----------
    sole
        By dimension, of `Grid.sole` at the level outside the boundary.
    """
    if sole[d] >= 0:
        if now != sole[d]:
            return -1
        return start if started else 0
    return int(pair_of[d, start, now]) if started else now


@njit
def first_tile(sole: Ints, axis: Ints, index: Ints) -> int:
    """Write the divisor indices of the first tile of a boundary (``sole`` as in `digit_of`); return its point."""
    point = 0
    for d in range(axis.shape[0]):
        index[d] = max(sole[d], 0)
        point += index[d] * axis[d, RADIX]
    return int(point)


@njit
def next_tile(sole: Ints, axis: Ints, index: Ints, point: int) -> int:
    """Advance to the next tile of a boundary; return its point, -1 after the last."""
    for d in range(axis.shape[0]):
        if sole[d] >= 0:
            continue
        index[d] += 1
        point += axis[d, RADIX]
        if index[d] < axis[d, COUNT]:
            return int(point)
        point -= index[d] * axis[d, RADIX]
        index[d] = 0
    return -1


@njit
def digit(axis: Ints, point: int, d: int) -> int:
    """Divisor index of a dimension at a lattice point; ``axis`` is that of the grid."""
    return int((point // axis[d, RADIX]) % axis[d, COUNT])


@njit
def index_of(divisor: Ints, count: int, value: int) -> int:
    """Return the index of ``value`` among the first ``count`` ascending divisors; it must be one."""
    low = 0
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        if divisor[middle, VALUE] < value:
            low = middle + 1
        else:
            high = middle
    return low
