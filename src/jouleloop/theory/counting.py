"""What executed dataflows share: memories that count their words, and random operands of whole numbers."""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import AssumptionError, Fault


class CountingMemory:
    """Words held, the most ever held, and words that crossed the edge by array; none more than the capacity."""

    def __init__(self, capacity_words: Fraction | int | None = None) -> None:
        self.capacity_words = capacity_words
        self.words: Fraction | int = 0
        self.peak_words: Fraction | int = 0
        self.loaded: Counter[str] = Counter()
        self.stored: Counter[str] = Counter()

    def hold(self, words: Fraction | int, array: str | None = None) -> None:
        """Take room for ``words`` of ``array``; a negative number gives room back.

        Raises `AssumptionError` where the capacity is exceeded.
        """
        self.words += words
        if self.capacity_words is not None and self.words > self.capacity_words:
            text = "the schedule needs more fast memory than there is"
            raise AssumptionError(Fault(text, None, array, float(self.words), f"{float(self.capacity_words):g} words"))
        self.peak_words = max(self.peak_words, self.words)

    @property
    def total_words(self) -> int:
        """Loaded and stored, of all arrays."""
        return self.loaded.total() + self.stored.total()


def random_operands(shapes: Sequence[Sequence[int]], seed: int, largest: int) -> list[NDArray[np.int64]]:
    """Return whole numbers from -``largest`` to ``largest`` for every shape: sums are exact in any order."""
    draw: Any = np.random.default_rng(seed)
    return [draw.integers(-largest, largest + 1, tuple(shape)) for shape in shapes]


class FastMemory(CountingMemory):
    """The two-level memory of 001 §2.1: elements are loaded from and stored to slow memory and computed on here only.

    ``words_per_element`` goes by array, ``slow`` by array and element index; stores write to it.
    """

    def __init__(
        self,
        capacity_words: Fraction,
        words_per_element: Mapping[str, Fraction],
        slow: Mapping[str, dict[Hashable, complex]],
    ) -> None:
        super().__init__(capacity_words)
        # A whole number stays one, as adding fractions costs ten times as much.
        self.words_per_element = {
            array: words.numerator if words.denominator == 1 else words for array, words in words_per_element.items()
        }
        self.slow = slow
        self.fast: dict[str, dict[Hashable, complex]] = {array: {} for array in words_per_element}

    @property
    def words_moved(self) -> Fraction:
        """Words loaded and stored so far; ``loaded`` and ``stored`` count elements."""
        moved = self.loaded + self.stored
        return sum((Fraction(words) * moved[array] for array, words in self.words_per_element.items()), Fraction(0))

    def load(self, array: str, indices: Iterable[Hashable]) -> None:
        """Copy elements that are not here from slow memory; each costs its words."""
        for index in indices:
            if index not in self.fast[array]:
                self._occupy(array, index, self.slow[array][index])
                self.loaded[array] += 1

    def create(self, array: str, indices: Iterable[Hashable]) -> None:
        """Start elements at zero without reading slow memory."""
        for index in indices:
            self._occupy(array, index, 0)

    def store(self, array: str, indices: Iterable[Hashable]) -> None:
        """Write elements to slow memory and drop them; each costs its words."""
        for index in list(indices):
            self.slow[array][index] = self.fast[array][index]
            self.stored[array] += 1
            self.drop(array, [index])

    def drop(self, array: str, indices: Iterable[Hashable]) -> None:
        """Forget elements at no cost."""
        for index in list(indices):
            del self.fast[array][index]
            self.hold(-self.words_per_element[array])

    def holds(self, array: str) -> tuple[Hashable, ...]:
        """Return the indices of the elements of ``array`` that are here."""
        return tuple(self.fast[array])

    def _occupy(self, array: str, index: Hashable, value: complex) -> None:
        self.hold(self.words_per_element[array], array)
        self.fast[array][index] = value


def grids_of(count: int, lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to write ``count`` as a product of one factor for each length, none larger than its length."""
    whole = divisors(count)
    # What the first so many lengths can take at most: a larger rest leads nowhere.
    most = list(itertools.accumulate(lengths, operator.mul))

    def choose(position: int, rest: int) -> Iterator[tuple[int, ...]]:
        if position == 0:
            if rest <= lengths[0]:
                yield (rest,)
            return
        for divisor in whole:
            if divisor > lengths[position]:
                break
            if rest % divisor == 0 and rest // divisor <= most[position - 1]:
                for before in choose(position - 1, rest // divisor):
                    yield (*before, divisor)

    yield from choose(len(lengths) - 1, count)


def divisors(number: int) -> list[int]:
    """Return the divisors of a positive number in ascending order."""
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return sorted({*small, *(number // k for k in small)})
