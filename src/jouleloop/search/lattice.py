"""Fill the lattice of temporal tiles of one unrolling."""

import numba as nb
import numpy as np

from jouleloop.search.arrays import MAX_PRIMES, Grid


@nb.njit(cache=True)
def fill_grid(grid: Grid) -> int:
    """Fill the tables of a lattice from its ``rest`` and return its number of points."""
    points = 1
    primes = np.empty(MAX_PRIMES, np.int64)
    for d in range(grid.rest.shape[0]):
        number = grid.rest[d]
        divisor = grid.divisor[d]
        n = 0
        f = 1
        while f * f <= number:
            if number % f == 0:
                divisor[n] = f
                n += 1
            f += 1
        for k in range(n - 1, -1, -1):
            if divisor[k] * divisor[k] != number:
                divisor[n] = number // divisor[k]
                n += 1
        grid.count[d] = n
        grid.radix[d] = points
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
                if divisor[k] % primes[t] == 0:
                    target = divisor[k] // primes[t]
                    at = k
                    while divisor[at] != target:
                        at -= 1
                    grid.down[d, k, steps] = at
                    steps += 1
            grid.prime_count[d, k] = steps
    return points
