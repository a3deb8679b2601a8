"""What divides a number: all that loops of perfect factors can be."""

import math
from functools import lru_cache


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors of a positive number in ascending order."""
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return tuple(sorted({*small, *(number // k for k in small)}))


@lru_cache(maxsize=4096)
def primes(number: int) -> tuple[int, ...]:
    """Return the primes that divide a positive number in ascending order."""
    return tuple(p for p in divisors(number) if len(divisors(p)) == 2)
