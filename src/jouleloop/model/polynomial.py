"""Polynomials in the loop bounds of a nest, each with its value on the nest at hand, in exact arithmetic."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

#: A monomial is a whole number whose digits in this base, from -32 to 31, are the exponents of symbol 0, 1, …: the
#: product of two monomials is the sum of their numbers, and 0 is the constant.
BASE = 64


#: A whole number is an integer, which is ten times as fast.
Exact = int | Fraction


@dataclass(frozen=True)
class Polynomial:
    """A Laurent polynomial in some symbols, and its value where the symbols have theirs.

    Comparisons are made on the value, sums and products on the polynomial: an algorithm that branches on numbers
    yields the polynomial that holds on its branch.
    """

    terms: Mapping[int, Exact]
    """Coefficient by monomial; no coefficient is zero."""
    value: Exact
    """The polynomial's value; where it was `rounded`, that of the whole number."""

    @classmethod
    def constant(cls, value: Exact) -> "Polynomial":
        """Return a number as a polynomial."""
        return cls({0: value} if value else {}, value)

    @classmethod
    def symbol(cls, index: int, value: int) -> "Polynomial":
        """Return symbol number ``index``, which has this ``value``."""
        return cls({BASE**index: 1}, value)

    def __add__(self, other: "Polynomial | int") -> "Polynomial":
        if isinstance(other, int):
            other = Polynomial.constant(other)
        if not other.terms and not other.value:
            return self
        total = dict(self.terms)
        for key, coefficient in other.terms.items():
            total[key] = total.get(key, 0) + coefficient
        return Polynomial({key: c for key, c in total.items() if c}, self.value + other.value)

    def __sub__(self, other: "Polynomial | int") -> "Polynomial":
        return self + (-other if isinstance(other, int) else other.times(-1))

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        total: dict[int, Exact] = {}
        for a, p in self.terms.items():
            for b, q in other.terms.items():
                total[a + b] = total.get(a + b, 0) + p * q
        return Polynomial({key: c for key, c in total.items() if c}, self.value * other.value)

    def times(self, factor: Exact) -> "Polynomial":
        """Return the polynomial multiplied by a number."""
        return Polynomial({key: c * factor for key, c in self.terms.items()} if factor else {}, self.value * factor)

    def over(self, other: "Polynomial") -> "Polynomial":
        """Return the quotient.

        Exact as a polynomial where there is one; elsewhere a constant of its value stands for it.
        """
        value = ratio(self.value, other.value)
        quotient = _divided(self.terms, other.terms)
        return Polynomial.constant(value) if quotient is None else Polynomial(quotient, value)

    def rounded(self, rule: Callable[[Exact], int]) -> "Polynomial":
        """Return the same terms with the value that ``rule`` rounds to: how far it rounds is no polynomial."""
        return Polynomial(self.terms, rule(self.value))


def ratio(over: Exact, under: Exact) -> Exact:
    """Return an exact quotient."""
    quotient = Fraction(over, under)
    return quotient.numerator if quotient.denominator == 1 else quotient


def _divided(terms: Mapping[int, Exact], by: Mapping[int, Exact]) -> dict[int, Exact] | None:
    """Return the quotient of two polynomials, if it is one: the highest term of what is left goes first."""
    high, low = max(by), min(by)
    left = dict(terms)
    quotient: dict[int, Exact] = {}
    least = min(terms, default=0) - low
    while left:
        at = max(left)
        key, factor = at - high, ratio(left[at], by[high])
        if key < least or len(quotient) == len(terms):
            return None
        quotient[key] = factor
        for other, coefficient in by.items():
            changed = left.get(key + other, 0) - factor * coefficient
            if changed:
                left[key + other] = changed
            else:
                left.pop(key + other, None)
    return quotient


def exponents(monomial: int) -> Iterator[tuple[int, int]]:
    """Yield (symbol, exponent) of a monomial's symbols."""
    index = 0
    while monomial:
        digit = (monomial + BASE // 2) % BASE - BASE // 2
        if digit:
            yield index, digit
        monomial = (monomial - digit) // BASE
        index += 1


def nearest_whole(value: Exact) -> int:
    """Return the nearest whole number, halves upward."""
    return math.floor(value + Fraction(1, 2))
