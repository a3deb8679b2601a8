"""The lattice of temporal tiles under one unrolling: divisors of every dimension, indexed as one mixed-radix number."""

import numba as nb
import numpy as np

from jouleloop.model.kernel import Ints

#: Most divisors of one dimension (any bound up to ten million has fewer).
MAX_DIVISORS = 512
#: Most distinct primes of one dimension.
MAX_PRIMES = 9


@nb.njit(cache=True)
def divisor_tables(rest: Ints, count: Ints, divisor: Ints, radix: Ints, prime_count: Ints, down: Ints) -> int:
    """Fill the tables of one lattice and return its number of points.

    Parameters
    ----------
    rest
        What temporal loops must cover, by dimension.
    count, divisor
        Out: number of divisors and the divisors in ascending order, shape (dimensions, MAX_DIVISORS).
    radix
        Out: weight of a dimension's divisor index in the lattice index.
    prime_count, down
        Out: for each divisor the number of its primes, and the index of the divisor less one such prime, shape
        (dimensions, MAX_DIVISORS, MAX_PRIMES).
    """
    points = 1
    primes = np.empty(MAX_PRIMES, np.int64)
    for d in range(rest.shape[0]):
        number = rest[d]
        n = 0
        f = 1
        while f * f <= number:
            if number % f == 0:
                divisor[d, n] = f
                n += 1
            f += 1
        small = n
        for k in range(small - 1, -1, -1):
            if divisor[d, k] * divisor[d, k] != number:
                divisor[d, n] = number // divisor[d, k]
                n += 1
        count[d] = n
        radix[d] = points
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
            prime_count[d, k] = 0
            for t in range(total):
                if divisor[d, k] % primes[t] == 0:
                    target = divisor[d, k] // primes[t]
                    at = 0
                    while divisor[d, at] != target:
                        at += 1
                    down[d, k, prime_count[d, k]] = at
                    prime_count[d, k] += 1
    return points


@nb.njit(cache=True)
def index_of(divisor: Ints, count: int, value: int) -> int:
    """Return the index of ``value`` among the first ``count`` ascending divisors, or -1."""
    low = 0
    high = count - 1
    while low <= high:
        middle = (low + high) // 2
        if divisor[middle] == value:
            return middle
        if divisor[middle] < value:
            low = middle + 1
        else:
            high = middle - 1
    return -1
