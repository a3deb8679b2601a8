"""A fast memory of single elements, for executions that keep more than one block of an array."""

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

from jouleloop.theory.counting import CountingMemory


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
