"""What divides a number: all that loops of perfect factors can be."""

import math
from functools import lru_cache


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors of a positive number in ascending order."""
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return tuple(sorted({*small, *(number // k for k in small)}))


@lru_cache(maxsize=65536)
def factorised(number: int) -> tuple[tuple[int, int], ...]:
    """Return the primes that divide a positive number in ascending order, each with how often it does."""
    found = []
    prime = 2
    while prime * prime <= number:
        count = 0
        while number % prime == 0:
            number //= prime
            count += 1
        if count:
            found.append((prime, count))
        prime += 1 if prime == 2 else 2
    if number > 1:
        found.append((number, 1))
    return tuple(found)


def primes(number: int) -> tuple[int, ...]:
    """Return the primes that divide a positive number in ascending order."""
    return tuple(prime for prime, _ in factorised(number))
