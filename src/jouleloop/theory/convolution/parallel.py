"""Words that one of P processors receives under a processor grid, for blocking, im2col, Winograd and FFT (001 §4.2).

The linear program printed in 001 §4.2 has only lower bounds on what it maximises, so its optimum is the whole layer on
one processor (docs/errata.md). Here the grid is chosen by its purpose: the fewest words received by the busiest one.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution import volumes
from jouleloop.theory.convolution.layer import (
    FILTER,
    INPUT,
    OUTPUT,
    Precisions,
    array_elements,
    array_words,
    memory_words,
    processor_count,
)
from jouleloop.theory.counting import grids_of
from jouleloop.theory.layers import ConvLayer

DIMENSIONS = ("batch", "in_channels", "out_channels", "out_width", "out_height", "filter_width", "filter_height")
_OUTPUT_LOOPS = (0, 2, 3, 4)
"""Those that outputs depend on."""
MOST_GRIDS = 50_000
"""Grids of one number of processors that are tried; only numbers with very many divisors have more."""

PARALLEL_ALGORITHMS = ("blocking", "im2col", "winograd", "fft")


@dataclass(frozen=True)
class GridVolume:
    """What the busiest processor of a grid receives and holds."""

    grid: tuple[int, ...]
    """Processors along each of the seven loops, then along the independent copies of the problem."""
    processors: int
    received_words: Fraction
    """Words from other processors: the block less the processor's even share of each array, and partial outputs."""
    held_words: Fraction
    """Memory for the blocks of the three arrays, in words."""


def grid_volume(
    layer: ConvLayer, precisions: Precisions, processors: int, grid: tuple[int, ...], *, copies: int = 1
) -> GridVolume:
    """Return what the processor with the largest block receives.

    ``processors`` (P) hold the data, at least as many as the product of ``grid``: processors along the seven loops and
    along the copies. ``copies`` are independent problems of the same shape, such as frequencies.
    """
    *loops, copy_grid = grid
    sides = {name: -(-getattr(layer, name) // count) for name, count in zip(DIMENSIONS, loops, strict=True)}
    block = ConvLayer(**sides, stride_width=layer.stride_width, stride_height=layer.stride_height)
    own_copies, sharing = -(-copies // copy_grid), math.prod(loops) // math.prod(loops[loop] for loop in _OUTPUT_LOOPS)
    held = {array: own_copies * words for array, words in array_words(block, precisions).items()}
    whole = array_words(layer, precisions)
    received = sum(held[array] - whole[array] * Fraction(copies, processors) for array in (INPUT, FILTER)) + held[
        OUTPUT
    ] * Fraction(sharing - 1, sharing)
    return GridVolume(grid, math.prod(grid), received, sum(held.values(), Fraction()))


def best_grid(
    layer: ConvLayer,
    precisions: Precisions,
    processors: int,
    memory: volumes.Memory | None = None,
    *,
    copies: int = 1,
    extra_words: Callable[[tuple[int, ...]], Fraction] | None = None,
) -> GridVolume | None:
    """Return the grid whose busiest processor receives the fewest words, or None where no block fits in memory.

    Grids of exactly P processors and of the largest power of two below P are tried, all of them; a number of
    processors with more than `MOST_GRIDS` grids is left out, and the next power of two below taken.

    ``memory`` is what a processor has, None where it does not limit; ``extra_words`` are received besides, as a
    function of the grid; the rest is as in `grid_volume`.
    """
    limit = None if memory is None else memory_words(memory)
    lengths = [*(getattr(layer, name) for name in DIMENSIONS), copies]
    best: GridVolume | None = None
    for count in _counts(processor_count(processors), lengths):
        for grid in grids_of(count, lengths):
            volume = grid_volume(layer, precisions, processors, grid, copies=copies)
            if limit is not None and volume.held_words > limit:
                continue
            if extra_words is not None:
                words = volume.received_words + extra_words(grid)
                volume = GridVolume(grid, volume.processors, words, volume.held_words)
            if best is None or volume.received_words < best.received_words:
                best = volume
    return best


def parallel_volume(
    algorithm: str, layer: ConvLayer, precisions: Precisions, processors: int, memory: volumes.Memory | None = None
) -> GridVolume | None:
    """Return the words the busiest processor receives for one of `PARALLEL_ALGORITHMS`; None where no block fits.

    * ``blocking``: the direct convolution.
    * ``im2col``: the matrix product on the lowered input, which is what is distributed at the start.
    * ``winograd``, ``fft``: transformed arrays are distributed; the products of one frequency form one copy. Where the
      copies are spread over processors, the transformed arrays are redistributed once, and for an FFT with more
      processors than planes each plane is transformed by several of them with an exchange between passes.
    """
    if algorithm == "blocking":
        return best_grid(layer, precisions, processors, memory)
    if algorithm == "im2col":
        return best_grid(volumes.matrix_product_layer(*volumes.lowered(layer)), precisions, processors, memory)
    prices, exchanges = precisions, Fraction(0)
    if algorithm == "winograd":
        copies, product = volumes.winograd_products(layer)
    else:
        points, copies, product = volumes.fft_products(layer)
        prices = volumes.doubled(precisions)
        exchanges = _fft_exchange_words(product, prices, copies, points, processors)
    everything = sum(array_words(product, prices).values(), Fraction()) * copies

    def moved_again(grid: tuple[int, ...]) -> Fraction:
        redistributed = everything / processors * Fraction(processors - 1, processors) if grid[-1] > 1 else Fraction(0)
        return redistributed + exchanges

    return best_grid(product, prices, processors, memory, copies=copies, extra_words=moved_again)


def parallel_volume_bounds(
    layer: ConvLayer, precisions: Precisions, processors: int, memory: volumes.Memory
) -> tuple[Bound, ...]:
    """Return what every parallel algorithm attains as records; no value where no block fits in a processor's memory."""
    result = []
    for algorithm in PARALLEL_ALGORITHMS:
        found = parallel_volume(algorithm, layer, precisions, processors, memory)
        if found is None:
            value, note = None, "no processor grid has blocks that fit in M words"
        else:
            value = found.received_words
            note = f"grid {'×'.join(map(str, found.grid))}; {float(found.held_words):g} words held"
        result.append(Bound(f"parallel_volume_{algorithm}", "001 §4.2", value, "words", (), note))
    return tuple(result)


def _fft_exchange_words(
    product: ConvLayer, prices: Precisions, frequencies: int, points: int, processors: int
) -> Fraction:
    """Words per processor exchanged inside transforms whose points are spread over several processors."""
    words = Fraction(0)
    for array, count in array_elements(product).items():
        together = min(-(-processors // count), max(1, points // 2))
        if together > 1:
            held_levels = math.log2(points / together)
            rounds = math.ceil(math.log2(points) / held_levels) - 1
            words += rounds * prices.of(array) * frequencies * count / processors
    return words


def _counts(processors: int, lengths: Sequence[int]) -> list[int]:
    """Return P and the largest power of two at most P, without those of more than `MOST_GRIDS` grids."""
    power = 1 << (processors.bit_length() - 1)
    while _many_grids(power, lengths):
        power //= 2
    exact = [processors] if processors != power and not _many_grids(processors, lengths) else []
    return [*exact, power]


def _many_grids(count: int, lengths: Sequence[int]) -> bool:
    return next(itertools.islice(grids_of(count, lengths), MOST_GRIDS, None), None) is not None
