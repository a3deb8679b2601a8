"""Fill the lattice of temporal tiles of one unrolling, and the states that the bounds are tabulated over."""

from collections.abc import Callable

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.arrays import (
    AXIS_PLACES,
    COUNT,
    DOWN,
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


def new_grid(bounds: Ints, kind: Ints, most_states: int) -> Grid:
    """Return a grid for a layer of these bounds; kinds of more states than that take all runs for whole ones."""
    dims = len(bounds)
    kinds = int(kind.max()) + 1
    most = max(_count(int(bound), lambda k: k + 1) for bound in bounds)
    # A prime power p^k has (k + 1)(k + 2) / 2 pairs of divisors, the second dividing the first.
    most_pairs = max(_count(int(bound), lambda k: (k + 1) * (k + 2) // 2) for bound in bounds)
    grid = Grid(
        np.zeros((dims, AXIS_PLACES), np.int64),
        np.empty((dims, most, DOWN + MAX_PRIMES), np.int64),
        np.empty((dims, most, most), np.int64),
        np.empty((dims, most_pairs, PAIR_DOWN + MAX_PRIMES), np.int64),
        np.empty((kinds + 1, dims + 1), np.int64),
    )
    grid.axis[:, REST] = bounds
    grid.axis[:, KIND] = kind
    grid.axis[:, WHOLE] = 0
    fill_grid(grid)
    for k in range(kinds):
        if grid.state[k, dims] > most_states:
            grid.axis[kind == k, WHOLE] = 1
    return grid


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
def fill_grid(grid: Grid) -> int:
    """Fill the tables of a lattice from its rests and kinds; return its number of points."""
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
        whole = grid.axis[d, WHOLE] == 1
        for start in range(n):
            for now in range(start + 1):
                grid.pair_of[d, start, now] = now if whole else -1
                if divisor[start, VALUE] % divisor[now, VALUE] == 0 and (start == n - 1 or not whole):
                    grid.pair_of[d, start, now] = pairs
                    grid.pair[d, pairs, START] = start
                    grid.pair[d, pairs, NOW] = now
                    for t in range(divisor[now, PRIMES]):
                        down = divisor[now, DOWN + t]
                        grid.pair[d, pairs, PAIR_DOWN + t] = down if whole else grid.pair_of[d, start, down]
                    pairs += 1
        grid.axis[d, PAIRS] = pairs
    for k in range(grid.state.shape[0]):
        states = 1
        for d in range(dims):
            grid.state[k, d] = states
            states *= grid.axis[d, PAIRS] if grid.axis[d, KIND] == k else grid.axis[d, COUNT]
        grid.state[k, dims] = states
    return points


@njit
def digit(axis: Ints, point: int, d: int) -> int:
    """Divisor index of a dimension at a lattice point; ``axis`` is that of the grid."""
    return int((point // axis[d, RADIX]) % axis[d, COUNT])


@njit
def advance(index: Ints, axis: Ints) -> None:
    """Advance the divisor indices of a lattice point to those of the next; after the last to those of the first."""
    for d in range(axis.shape[0]):
        index[d] += 1
        if index[d] < axis[d, COUNT]:
            return
        index[d] = 0


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
