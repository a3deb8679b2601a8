"""The memory sizes at which one term of a convolution bound overtakes another, solved as polynomial roots in √M."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.bounds import large_filter_constant, parallel_bounds, small_filter_constant
from jouleloop.theory.convolution.layer import Precisions, array_words, processor_count, require_small_filter
from jouleloop.theory.layers import ConvLayer

CONSTANT, LARGE, SMALL = "constant", "large_filter_term", "small_filter_term"


@dataclass(frozen=True)
class MemoryTerms:
    """Three bounds as functions of M: a constant, large/M − M and small/√M − 2M, all in words."""

    constant_name: str
    """What the constant is: the compulsory traffic (Theorem 2.1) or the memory-independent bound (Theorem 2.3)."""
    constant: float
    large: float
    small: float
    """The three coefficients; the constant is not negative, the others are positive."""

    def values(self, memory: float) -> dict[str, float]:
        """Return the three terms at a memory of ``memory`` words."""
        return {
            self.constant_name: self.constant,
            LARGE: self.large / memory - memory,
            SMALL: self.small / math.sqrt(memory) - 2 * memory,
        }

    def crossings(self) -> tuple[tuple[float, str, str], ...]:
        """Return (M, term, term) for every memory size where two terms are equal, ascending.

        With y = √M the equalities are y⁴ + c y² = a (a quadratic in M), 2y³ + c y = b (one positive root) and
        y⁴ − b y + a = 0 (none or two positive roots, one on each side of (b/4)^⅓).
        """
        found = []
        a, b, c = self.large, self.small, self.constant
        root = math.hypot(c, 2 * math.sqrt(a))
        # This form of the quadratic formula loses no digits to cancellation, since c >= 0.
        found.append((2 * a / (c + root), self.constant_name, LARGE))
        high = (b / 2) ** (1 / 3)
        found.append((_root(lambda y: 2 * y**3 + c * y - b, 0.0, high) ** 2, self.constant_name, SMALL))
        middle = (b / 4) ** (1 / 3)
        if middle**4 - b * middle + a < 0:
            found.append((_root(lambda y: b * y - y**4 - a, 0.0, middle) ** 2, LARGE, SMALL))
            found.append((_root(lambda y: y**4 - b * y + a, middle, b ** (1 / 3)) ** 2, LARGE, SMALL))
        return tuple(sorted(found))

    def crossing_bounds(self, source: str) -> tuple[Bound, ...]:
        """Return every crossing, and where a term becomes trivial, as records for printing."""
        result = []
        for memory, first, second in self.crossings():
            beyond = self.values(memory * (1 + 1e-6))
            above, below = (first, second) if beyond[first] > beyond[second] else (second, first)
            leading = max(beyond.values()) == beyond[above]
            note = "changes which term leads" if leading else "below the leading term"
            result.append(Bound(f"memory_where_{above}_overtakes_{below}", source, memory, "words", (), note))
        for name, memory in self.trivial_from().items():
            result.append(Bound(f"memory_where_{name}_vanishes", source, memory, "words"))
        return tuple(result)

    def trivial_from(self) -> dict[str, float]:
        """Return the memory size from which each memory-dependent term is zero or less (001 §3.1 and §4.1)."""
        return {LARGE: math.sqrt(self.large), SMALL: (self.small / 2) ** (2 / 3)}

    def regimes(self) -> list[tuple[str, float, float]]:
        """Return the term that is largest, from M and to M in words, for every interval from zero to infinity."""
        edges = [0.0, *sorted({memory for memory, _, _ in self.crossings()}), math.inf]
        result: list[tuple[str, float, float]] = []
        for low, high in itertools.pairwise(edges):
            values = self.values(high / 2 if low == 0 else 2 * low if math.isinf(high) else math.sqrt(low * high))
            active = max(values, key=lambda name: values[name])
            start = result.pop()[1] if result and result[-1][0] == active else low
            result.append((active, start, high))
        return result


def single_processor_terms(layer: ConvLayer, precisions: Precisions) -> MemoryTerms:
    """Return Theorem 2.1 as functions of M."""
    require_small_filter(layer)
    return MemoryTerms(
        "compulsory_traffic",
        float(sum(array_words(layer, precisions).values())),
        float(large_filter_constant(layer, precisions)),
        small_filter_constant(layer, precisions),
    )


def parallel_terms(layer: ConvLayer, precisions: Precisions, processors: int) -> MemoryTerms:
    """Return Theorems 2.2 and 2.3 as functions of M for P processors; the constant is never below zero."""
    count = processor_count(processors)
    independent = [
        float(bound.value or 0)
        for bound in parallel_bounds(layer, precisions, 1, count)
        if bound.name.startswith("memory_independent") and not bound.name.endswith("as_printed")
    ]
    return MemoryTerms(
        "memory_independent_bound",
        max(0.0, *independent),
        float(large_filter_constant(layer, precisions) / count),
        small_filter_constant(layer, precisions) / count,
    )


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a function that is negative at ``low`` and not much beyond ``high``."""
    from scipy.optimize import brentq  # noqa: PLC0415 - scipy is slow to import

    return float(brentq(function, low, 2 * high if function(high) < 0 else high, xtol=1e-300, rtol=1e-15))
