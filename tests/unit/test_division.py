"""What divides a number."""

import math

from hypothesis import given
from hypothesis import strategies as st

from jouleloop.division import divisors, factorised, primes


@given(st.integers(1, 10**6))
def test_primes_to_their_powers_are_the_number(number: int) -> None:
    assert math.prod(prime**times for prime, times in factorised(number)) == number
    assert list(primes(number)) == sorted(set(primes(number)))
    assert all(divisors(prime) == (1, prime) for prime in primes(number))


@given(st.integers(1, 10**4))
def test_divisors_are_those_that_leave_nothing(number: int) -> None:
    assert list(divisors(number)) == [k for k in range(1, number + 1) if number % k == 0]
