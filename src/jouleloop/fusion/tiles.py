"""Tiles along one axis of a chain, where windows make them overlap: who computes which values in which iteration.

The last layer of a group is cut into equal tiles. A layer before it computes, in each iteration, what the next one
reads and what is not there. Overlaps wait on the chip, or are computed again (`recomputes`). At both ends tiles reach
into the padding, which nobody computes; so parts of one layer differ in size.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from jouleloop.fusion.chain import Axis


@dataclass(frozen=True)
class Cut:
    """How a loop cuts one layer."""

    dimension: str
    sizes: tuple[tuple[int, int], ...]
    """How many values an iteration computes, and in how many iterations; iterations that compute none are left out."""
    tile: int
    """The most values of its output that one iteration has on the chip."""
    overlap: int = 0
    """The most values of its output that wait for the next iteration."""

    @cached_property
    def iterations(self) -> int:
        """In how many iterations the layer runs."""
        return sum(count for _, count in self.sizes)


@lru_cache(maxsize=4096)
def cuts_of(
    axes: tuple[Axis, ...], sizes: tuple[tuple[str, int], ...], factor: int, *, recomputes: bool
) -> tuple[Cut, ...]:
    """Return by layer how a loop cuts it.

    Parameters
    ----------
    axes
        The axis of each shared tensor that the loop cuts, the first layer's output first.
    sizes
        By layer, the dimension that the loop cuts, and how many values it has.
    factor
        How often the loop runs; divides the size of the last layer.
    recomputes
        Whether overlaps are computed again.
    """
    *written, (last, size) = sizes
    tile = size // factor
    computed = [(n * tile, (n + 1) * tile) for n in range(factor)]
    cuts = [Cut(last, ((tile, factor),), tile)]
    for axis, (_, size) in zip(reversed(axes), reversed(written), strict=True):
        computed, widest, overlap = _before(axis, size, computed, recomputes=recomputes)
        counted = Counter(stop - start for start, stop in computed if stop > start)
        cuts.append(Cut(axis.writer, tuple(counted.items()), widest, overlap))
    return tuple(reversed(cuts))


def _before(
    axis: Axis, size: int, computed: Sequence[tuple[int, int]], *, recomputes: bool
) -> tuple[list[tuple[int, int]], int, int]:
    """Return what the writer computes in each iteration, the widest tile on the chip, and the widest overlap."""
    found: list[tuple[int, int]] = []
    end = widest = overlap = 0
    for place, (start, stop) in enumerate(computed):
        first, after = end, end
        if stop > start:
            first = min(end, max(0, start * axis.step - axis.before))
            after = max(end, min(size, (stop - 1) * axis.step + axis.reach - axis.before))
        if place == len(computed) - 1:
            # A layer computes all its outputs, also those that nobody reads.
            after = size
        found.append((first if recomputes else end, after))
        widest = max(widest, after - first)
        overlap = max(overlap, 0 if recomputes else end - first)
        end = after
    return found, widest, overlap
