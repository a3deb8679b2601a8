"""Fill the lattice of temporal tiles of one unrolling, and the states that the bounds are tabulated over."""

import math
from collections.abc import Callable

import numpy as np

from jouleloop.division import factorised
from jouleloop.jit import njit
from jouleloop.model.arrays import Ints, Records
from jouleloop.optimum.arrays import AXIS, DIVISOR, MAX_PRIMES, PAIR, Grid


def find_kinds(side: Records) -> Ints:
    """Return the kind of every dimension, -1 for those that move all data spaces.

    Dimensions belong to one kind where a chain of data spaces, each left in place by two of them, links them. For a
    convolution the kinds are {N, P, Q} (weights stay), {M} (inputs stay) and {C, R, S} (outputs stay).
    """
    idle = side["idle"].T.astype(bool)
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


def new_grid(bounds: Ints, kind: Ints, slots: Records, most_cells: int) -> tuple[Grid, int, int]:
    """Return a grid of a layer, filled; how many cells tables of any unrolling take at most; its number of points.

    Where that would be more than ``most_cells``, kinds of many states take all runs for whole ones.
    """
    levels, dims = slots.shape[:2]
    kinds = int(kind.max()) + 1
    most = max(_count(int(bound), lambda k: k + 1) for bound in bounds)
    # A prime power p^k has (k + 1)(k + 2) / 2 pairs of divisors, the second dividing the first.
    most_pairs = max(_count(int(bound), lambda k: (k + 1) * (k + 2) // 2) for bound in bounds)
    grid = Grid(
        np.zeros(dims, AXIS),
        np.empty((dims, most), DIVISOR),
        np.empty((dims, most, most), np.int64),
        np.empty((dims, most_pairs), PAIR),
        np.ones((levels, dims), np.int64),
        np.empty((levels, dims), np.int64),
        np.zeros((levels, kinds + 1, dims + 1), np.int64),
        np.zeros((levels, kinds + 1), np.bool_),
        np.zeros((levels, dims + kinds), np.int64),
    )
    for level in range(1, levels):
        grid.fixed[level] = grid.fixed[level - 1] * slots["fixed"][level - 1]
    grid.axis["rest"] = bounds
    grid.axis["kind"] = kind
    cells, points = _size(grid, most_cells)
    return grid, cells, points


def _count(number: int, of_power: Callable[[int], int]) -> int:
    return math.prod(of_power(power) for _, power in factorised(number))


@njit
def fill_grid(grid: Grid, most_cells: int) -> int:
    """Fill the tables of a lattice from its rests, kinds and fixed factors; return its number of points.

    Where tables would take more cells than that, kinds of many states take all runs for whole ones.
    """
    dims = grid.axis.shape[0]
    points = 1
    primes = np.empty(MAX_PRIMES, np.int64)
    for d in range(dims):
        count = _list_divisors(grid.divisor[d], grid.axis[d].rest)
        grid.axis[d].count, grid.axis[d].radix, grid.axis[d].whole = count, points, False
        points *= count
        _step_down(grid.divisor[d], count, primes)
        _list_pairs(grid, d)
        for level in range(grid.sole.shape[0]):
            only = grid.fixed[level, d]
            grid.sole[level, d] = -1
            if level > 0 and only > 0:
                # A factor that does not divide leaves no tile, whichever stands for it.
                divides = grid.axis[d].rest % only == 0
                grid.sole[level, d] = index_of(grid.divisor[d], count, only) if divides else 0
    while _lay_out(grid) > most_cells:
        widest = _widest_kind(grid)
        if widest < 0:
            break
        for d in range(dims):
            if grid.axis[d].kind == widest:
                grid.axis[d].whole = True
    return points


@njit
def _list_divisors(divisor: Records, number: int) -> int:
    """Write the divisors of a number in ascending order; return how many there are."""
    n = 0
    f = 1
    while f * f <= number:
        if number % f == 0:
            divisor[n].value = f
            n += 1
        f += 1
    for k in range(n - 1, -1, -1):
        if divisor[k].value * divisor[k].value != number:
            divisor[n].value = number // divisor[k].value
            n += 1
    return n


@njit
def _step_down(divisor: Records, count: int, primes: Ints) -> None:
    """Write by divisor the divisors that are one prime less; ``primes`` is work space."""
    left = divisor[count - 1].value
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
    for k in range(count):
        steps = 0
        for t in range(total):
            if divisor[k].value % primes[t] == 0:
                at = k
                while divisor[at].value != divisor[k].value // primes[t]:
                    at -= 1
                divisor[k].down[steps] = at
                steps += 1
        divisor[k].primes = steps


@njit
def _list_pairs(grid: Grid, d: int) -> None:
    """Write the pairs of divisors of a dimension, the second dividing the first, and each a prime less."""
    divisor, pair_of, pair = grid.divisor[d], grid.pair_of[d], grid.pair[d]
    count = grid.axis[d].count
    pairs = 0
    for start in range(count):
        for now in range(count):
            pair_of[start, now] = -1
            if now > start or divisor[start].value % divisor[now].value != 0:
                continue
            pair_of[start, now] = pairs
            pair[pairs].start, pair[pairs].now = start, now
            for t in range(divisor[now].primes):
                pair[pairs].down[t] = pair_of[start, divisor[now].down[t]]
            pairs += 1
    grid.axis[d].pairs = pairs


@njit
def _widest_kind(grid: Grid) -> int:
    """Return the kind of most states among those whose runs may start anywhere, -1 where there is none."""
    widest, most = -1, 0
    for d in range(grid.axis.shape[0]):
        kind = grid.axis[d].kind
        states = 0
        for level in range(grid.state.shape[0] if kind >= 0 and not grid.axis[d].whole else 0):
            states = max(states, grid.state[level, kind, grid.axis.shape[0]])
        if states > most:
            most, widest = states, kind
    return int(widest)


@njit
def _size(grid: Grid, most_cells: int) -> tuple[int, int]:
    """Fill a lattice; return how many cells its tables take at most, and its number of points."""
    fill_grid(grid, 0)
    least = _lay_out(grid)
    grid.axis["whole"][:] = False
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
        widest *= axis[d].count
    for level in range(1, top + 1):
        for k in range(kinds + 1):
            widest = max(widest, _weigh(grid, level, k))
    cells = widest
    for level in range(1, top + 1):
        for j in range(dims):
            grid.base[level, j] = cells
            cells += grid.state[level, axis[j].kind, dims] if axis[j].rest > 1 else 0
        for k in range(kinds):
            grid.base[level, dims + k] = cells
            cells += grid.state[level + 1, k, dims] if level < top else 0
    return int(cells)


@njit
def _weigh(grid: Grid, level: int, kind: int) -> int:
    """Fill the weights of the dimensions in the states of a kind inside a level; return how many states there are."""
    axis, top = grid.axis, grid.state.shape[0] - 1
    states = 1
    same = level > 1
    for d in range(axis.shape[0]):
        inner = axis[d].kind == kind and not axis[d].whole
        started = inner and level < top
        grid.state[level, kind, d] = states
        if grid.sole[level, d] < 0:
            states *= axis[d].pairs if started else axis[d].count
        elif started:
            states *= axis[d].count
        same = same and grid.sole[level, d] == grid.sole[level - 1, d] and started == inner
    grid.state[level, kind, axis.shape[0]] = states
    grid.same[level, kind] = same
    return int(states)


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
def first_tile(sole: Ints, axis: Records, index: Ints) -> int:
    """Write the divisor indices of the first tile of a boundary (``sole`` as in `digit_of`); return its point."""
    point = 0
    for d in range(axis.shape[0]):
        index[d] = max(sole[d], 0)
        point += index[d] * axis[d].radix
    return int(point)


@njit
def next_tile(sole: Ints, axis: Records, index: Ints, point: int) -> int:
    """Advance to the next tile of a boundary; return its point, -1 after the last."""
    for d in range(axis.shape[0]):
        if sole[d] >= 0:
            continue
        index[d] += 1
        point += axis[d].radix
        if index[d] < axis[d].count:
            return int(point)
        point -= index[d] * axis[d].radix
        index[d] = 0
    return -1


@njit
def digit(axis: Records, point: int, d: int) -> int:
    """Divisor index of a dimension at a lattice point; ``axis`` is that of the grid."""
    return int((point // axis[d].radix) % axis[d].count)


@njit
def index_of(divisor: Records, count: int, value: int) -> int:
    """Return the index of ``value`` among the first ``count`` ascending divisors; it must be one."""
    low = 0
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        if divisor[middle].value < value:
            low = middle + 1
        else:
            high = middle
    return low
