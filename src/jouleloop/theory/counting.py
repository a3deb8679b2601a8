"""What every executed dataflow shares: a memory that counts its words, and random operands of whole numbers."""

from collections import Counter
from collections.abc import Sequence
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
