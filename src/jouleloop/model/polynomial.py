"""Polynomials in the loop bounds of a nest, each with its value on the nest at hand, in exact arithmetic."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

#: A monomial is a whole number whose digits in this base, from -32 to 31, are the exponents of symbol 0, 1, …: the
#: product of two monomials is the sum of their numbers, and 0 is the constant.
BASE = 64


@dataclass(frozen=True)
class Polynomial:
    """A Laurent polynomial in some symbols, and its value where the symbols have theirs.

    Comparisons are made on the value, sums and products on the polynomial: an algorithm that branches on numbers
    yields the polynomial that holds on its branch.

    Attributes
    ----------
    terms
        Coefficient by monomial; no coefficient is zero.
    value
        The polynomial's value.
    """

    terms: Mapping[int, Fraction]
    value: Fraction

    @classmethod
    def constant(cls, value: Fraction | int) -> "Polynomial":
        """Return a number as a polynomial."""
        return cls({0: Fraction(value)} if value else {}, Fraction(value))

    @classmethod
    def symbol(cls, index: int, value: int) -> "Polynomial":
        """Return symbol number ``index``, which has this ``value``."""
        return cls({BASE**index: Fraction(1)}, Fraction(value))

    def __add__(self, other: "Polynomial | int") -> "Polynomial":
        if isinstance(other, int):
            other = Polynomial.constant(other)
        total = dict(self.terms)
        for key, coefficient in other.terms.items():
            total[key] = total.get(key, Fraction(0)) + coefficient
        return Polynomial({key: c for key, c in total.items() if c}, self.value + other.value)

    def __sub__(self, other: "Polynomial | int") -> "Polynomial":
        return self + (-other if isinstance(other, int) else other.times(-1))

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        total: dict[int, Fraction] = {}
        for a, p in self.terms.items():
            for b, q in other.terms.items():
                total[a + b] = total.get(a + b, Fraction(0)) + p * q
        return Polynomial({key: c for key, c in total.items() if c}, self.value * other.value)

    def times(self, factor: Fraction | int) -> "Polynomial":
        """Return the polynomial multiplied by a number."""
        return Polynomial({key: c * factor for key, c in self.terms.items()} if factor else {}, self.value * factor)

    def over(self, other: "Polynomial") -> "Polynomial":
        """Return the quotient.

        Exact as a polynomial where ``other`` has one term or the two are proportional; elsewhere the quotient is no
        Laurent polynomial, and a constant of its value stands for it.
        """
        if len(other.terms) == 1:
            ((key, divisor),) = other.terms.items()
            return Polynomial({k - key: c / divisor for k, c in self.terms.items()}, self.value / other.value)
        if self.terms.keys() == other.terms.keys():
            ratios = {self.terms[key] / other.terms[key] for key in self.terms}
            if len(ratios) == 1:
                return Polynomial.constant(ratios.pop())
        return Polynomial.constant(self.value / other.value)

    def rounded(self, rule: Callable[[Fraction], int]) -> "Polynomial":
        """Return the polynomial plus what ``rule`` adds to its value, as a constant: nothing where that is whole."""
        return self + Polynomial.constant(rule(self.value) - self.value)


def exponents(monomial: int) -> Iterator[tuple[int, int]]:
    """Yield (symbol, exponent) of a monomial's symbols."""
    index = 0
    while monomial:
        digit = (monomial + BASE // 2) % BASE - BASE // 2
        if digit:
            yield index, digit
        monomial = (monomial - digit) // BASE
        index += 1


def nearest_whole(value: Fraction) -> int:
    """Return the nearest whole number, halves upward."""
    return math.floor(value + Fraction(1, 2))
