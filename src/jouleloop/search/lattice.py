"""Fill the lattice of temporal tiles of one unrolling, and the states that the bounds are tabulated over."""

import numba as nb
import numpy as np

from jouleloop.model.kernel import Ints
from jouleloop.search.arrays import MAX_PRIMES, Grid, Runs


@nb.njit(cache=True)
def find_runs(coef: Ints, runs: Runs) -> int:
    """Fill ``runs`` and return the number of kinds.

    Dimensions belong to one kind where a chain of data spaces, each left in place by two of them, links them. For a
    convolution the kinds are {N, P, Q} (weights stay), {M} (inputs stay) and {C, R, S} (outputs stay).
    """
    spaces = coef.shape[0]
    dims = coef.shape[2]
    for v in range(spaces):
        for d in range(dims):
            runs.idle[v, d] = True
            for r in range(coef.shape[1]):
                if coef[v, r, d] != 0:
                    runs.idle[v, d] = False
    kinds = 0
    for d in range(dims):
        runs.kind[d] = -1
    for d in range(dims):
        stays = False
        for v in range(spaces):
            if runs.idle[v, d]:
                stays = True
        if not stays or runs.kind[d] >= 0:
            continue
        runs.kind[d] = kinds
        changed = True
        while changed:
            changed = False
            for e in range(dims):
                if runs.kind[e] >= 0:
                    continue
                for f in range(dims):
                    if runs.kind[f] != kinds:
                        continue
                    for v in range(spaces):
                        if runs.idle[v, e] and runs.idle[v, f]:
                            runs.kind[e] = kinds
                            changed = True
        kinds += 1
    return kinds


@nb.njit(cache=True)
def new_grid(bounds: Ints, kinds: int) -> Grid:
    """Return an empty grid with room for a layer of these bounds."""
    dims = bounds.shape[0]
    most = 1
    most_pairs = 1
    for d in range(dims):
        n = 0
        f = 1
        while f * f <= bounds[d]:
            if bounds[d] % f == 0:
                n += 1 if f * f == bounds[d] else 2
            f += 1
        most = max(most, n)
        # A prime power p^k has (k + 1)(k + 2) / 2 pairs.
        pairs = 1
        left = bounds[d]
        p = 2
        while left > 1:
            if p * p > left:
                p = left
            k = 0
            while left % p == 0:
                left //= p
                k += 1
            pairs *= (k + 1) * (k + 2) // 2
            p += 1
        most_pairs = max(most_pairs, pairs)
    return Grid(
        bounds.copy(),
        np.empty(dims, np.int64),
        np.empty((dims, most), np.int64),
        np.empty(dims, np.int64),
        np.empty((dims, most), np.int64),
        np.empty((dims, most, MAX_PRIMES), np.int64),
        np.empty(dims, np.int64),
        np.empty((dims, most, most), np.int64),
        np.empty((dims, most_pairs), np.int64),
        np.empty((dims, most_pairs), np.int64),
        np.empty((dims, most_pairs, MAX_PRIMES), np.int64),
        np.empty((kinds + 1, dims), np.int64),
        np.empty(kinds + 1, np.int64),
    )


@nb.njit(cache=True)
def fill_grid(grid: Grid, kind: Ints) -> int:
    """Fill the tables of a lattice from its ``rest`` and return its number of points."""
    dims = grid.rest.shape[0]
    points = 1
    primes = np.empty(MAX_PRIMES, np.int64)
    for d in range(dims):
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
            grid.primes[d, k] = steps
        pairs = 0
        for start in range(n):
            for now in range(start + 1):
                grid.pair_of[d, start, now] = -1
                if divisor[start] % divisor[now] == 0:
                    grid.pair_of[d, start, now] = pairs
                    grid.pair_start[d, pairs] = start
                    grid.pair_now[d, pairs] = now
                    for t in range(grid.primes[d, now]):
                        grid.pair_down[d, pairs, t] = grid.pair_of[d, start, grid.down[d, now, t]]
                    pairs += 1
        grid.pairs[d] = pairs
    for k in range(grid.states.shape[0]):
        states = 1
        for d in range(dims):
            grid.state_radix[k, d] = states
            states *= grid.pairs[d] if kind[d] == k else grid.count[d]
        grid.states[k] = states
    return points


@nb.njit(cache=True)
def index_of(divisor: Ints, count: int, value: int) -> int:
    """Return the index of ``value`` among the first ``count`` ascending divisors; it must be one."""
    low = 0
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        if divisor[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
