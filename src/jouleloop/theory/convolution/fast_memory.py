"""A fast memory of M words that really holds elements and refuses to hold more, counting every word that crosses."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault


class FastMemory:
    """The two-level memory of 001 §2.1: elements are loaded from and stored to slow memory and computed on here only.

    ``words_per_element`` goes by array, ``slow`` by array and element index; stores write to it.
    """

    def __init__(
        self,
        capacity_words: Fraction,
        words_per_element: Mapping[str, Fraction],
        slow: Mapping[str, dict[Hashable, complex]],
    ) -> None:
        self.capacity_words = capacity_words
        self.words_per_element = dict(words_per_element)
        self.slow = slow
        self.fast: dict[str, dict[Hashable, complex]] = {array: {} for array in words_per_element}
        self.loaded: Counter[str] = Counter()
        self.stored: Counter[str] = Counter()
        # Whole numbers of a common unit, so that counting costs little and stays exact.
        self._units_per_word = math.lcm(*(words.denominator for words in self.words_per_element.values()))
        self._units = {array: int(words * self._units_per_word) for array, words in self.words_per_element.items()}
        self._capacity = math.floor(capacity_words * self._units_per_word)
        self._held = 0
        self._peak = 0

    @property
    def peak_words(self) -> Fraction:
        """Most words held at once so far."""
        return Fraction(self._peak, self._units_per_word)

    @property
    def words_moved(self) -> Fraction:
        """Words loaded and stored so far."""
        return sum(
            (words * (self.loaded[array] + self.stored[array]) for array, words in self.words_per_element.items()),
            Fraction(0),
        )

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
            self._held -= self._units[array]

    def holds(self, array: str) -> tuple[Hashable, ...]:
        """Return the indices of the elements of ``array`` that are here."""
        return tuple(self.fast[array])

    def _occupy(self, array: str, index: Hashable, value: complex) -> None:
        self._held += self._units[array]
        if self._held > self._capacity:
            text, words = "the schedule needs more fast memory than there is", self._held / self._units_per_word
            raise AssumptionError(Fault(text, None, array, words, f"{float(self.capacity_words):g} words"))
        self._peak = max(self._peak, self._held)
        self.fast[array][index] = value
