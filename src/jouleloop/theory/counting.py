"""What executed dataflows share: memories that count their words, and random operands of whole numbers."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import AssumptionError, Fault

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]


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


def blocks(lengths: Any, sides: Any, order: Sequence[Any]) -> Iterator[dict[Any, range]]:
    """Yield the ranges of loops in every block, cut off at the edges, the last loop of ``order`` innermost.

    ``lengths`` and ``sides`` have the loops' sizes and those of a block, by the names or positions in ``order``.
    """
    cuts = (
        [range(first, min(first + sides[loop], lengths[loop])) for first in range(0, lengths[loop], sides[loop])]
        for loop in order
    )
    for choice in itertools.product(*cuts):
        yield dict(zip(order, choice, strict=True))


def random_operands(shapes: Sequence[Sequence[int]], seed: int, largest: int) -> list[Ints]:
    """Return whole numbers from -``largest`` to ``largest`` for every shape: sums are exact in any order."""
    draw: Any = np.random.default_rng(seed)
    return [draw.integers(-largest, largest + 1, tuple(shape)) for shape in shapes]


Place = tuple[range, ...]
"""Ranges of the loops that an array depends on: which of its blocks is meant."""


class Moved(NamedTuple):
    """Elements that one step moved, by array."""

    loaded: Counter[str]
    stored: Counter[str]


class BlockMemory(CountingMemory):
    """The two-level memory of 001 §2.1, holding one block of every array: what was not loaded cannot be computed with.

    ``slow`` has the arrays in slow memory, ``made`` names those that are computed: a block of them starts at zero when
    it is first touched, is stored when it leaves, and loaded when it returns. ``words_per_element`` is 1 where not
    given. ``cells`` are the indices of a block along every axis, the ranges of the loops where not given.
    """

    def __init__(
        self,
        slow: Mapping[str, Numbers],
        made: Collection[str],
        *,
        capacity_words: Fraction | None = None,
        words_per_element: Mapping[str, Fraction] | None = None,
        cells: Callable[[str, Place], tuple[Sequence[int], ...]] = lambda _, place: place,
    ) -> None:
        super().__init__(capacity_words)
        self.slow, self.cells = slow, cells
        elements = dict.fromkeys(slow, Fraction(1)) | dict(words_per_element or {})
        # A whole number stays one, as adding fractions costs ten times as much.
        self.words_per_element = {
            array: words.numerator if words.denominator == 1 else words for array, words in elements.items()
        }
        self.written = {array: np.zeros(slow[array].shape, dtype=np.bool_) for array in made}
        self.places: dict[str, Place] = {}
        self.at: dict[str, Any] = {}
        self.blocks: dict[str, Numbers] = {}

    @property
    def words_moved(self) -> Fraction:
        """Words loaded and stored so far; ``loaded`` and ``stored`` count elements."""
        moved = self.loaded + self.stored
        return sum((Fraction(words) * moved[array] for array, words in self.words_per_element.items()), Fraction(0))

    def enter(self, places: Mapping[str, Place], stay: Collection[str]) -> Moved:
        """Bring in a block of every array and return what that moved; one that is here remains if it may ``stay``."""
        loaded, stored = self.loaded.copy(), self.stored.copy()
        # Room first: what is not used leaves before anything enters.
        for array, place in places.items():
            if array not in stay or self.places.get(array) != place:
                self.leave(array)
        for array, place in places.items():
            if array not in self.places:
                self._bring(array, place)
        return Moved(self.loaded - loaded, self.stored - stored)

    def leave(self, array: str) -> int:
        """Drop the block of an array, stored first if it was computed; return how many elements were stored."""
        if array not in self.places:
            return 0
        del self.places[array]
        block, at = self.blocks.pop(array), self.at.pop(array)
        self.hold(-block.size * self.words_per_element[array])
        if array not in self.written:
            return 0
        self.slow[array][at], self.written[array][at] = block, True
        self.stored[array] += block.size
        return int(block.size)

    def _bring(self, array: str, place: Place) -> None:
        at = np.ix_(*self.cells(array, place))
        block = np.array(self.slow[array][at])
        if array not in self.written or self.written[array][at].all():
            self.loaded[array] += block.size
        elif self.written[array][at].any():
            raise ArithmeticError("a block is stored in part")
        else:
            block = np.zeros_like(block)
        self.hold(block.size * self.words_per_element[array], array)
        self.places[array], self.at[array], self.blocks[array] = place, at, block


def grids_of(count: int, lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every way to write ``count`` as a product of one factor for each length, none larger than its length."""
    *before, last = lengths
    if not before:
        if count <= last:
            yield (count,)
        return
    for divisor in divisors(count):
        # A rest that the others cannot take leads nowhere.
        if divisor <= last and count // divisor <= math.prod(before):
            for grid in grids_of(count // divisor, before):
                yield (*grid, divisor)


@lru_cache(maxsize=1000)
def divisors(number: int) -> list[int]:
    """Return the divisors of a positive number in ascending order."""
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return sorted({*small, *(number // k for k in small)})
