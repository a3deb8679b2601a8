"""The cheapest tiled schedule of a projective loop nest, over every tile and every order of the loops over tiles."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.loop_nest.nest import LoopNest

_SCHEDULES_LIMIT = 20_000_000

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TiledSchedule:
    """A tile, an order of the loops over tiles (outermost first) and the words it moves."""

    sides: tuple[int, ...]
    order: tuple[int, ...]
    transfers_words: int


def schedule_words(nest: LoopNest, sides: Sequence[int], order: Sequence[int]) -> int:
    """Return the words that `jouleloop.theory.loop_nest.execute_tiles.run_tiled` moves with reuse, without running it.

    A block stays while only loops inside the innermost loop that indexes it advance. So an array moves as often as
    the other loops outside that one have tiles; of an output each pass but the first loads, and each stores.
    """
    return int(_words(nest, np.array([sides], dtype=np.int64), tuple(order))[0])


def best_schedule(nest: LoopNest, cache_words: int) -> TiledSchedule:
    """Return the schedule of fewest words whose blocks fit together into M words, among all tiles and orders.

    Of all sides with the same number of tiles the shortest stands for all: it moves as much and needs the least room.

    Raises `AssumptionError` where no tile fits; `InputError` where there are too many schedules to enumerate.
    """
    choices = [sorted({-(-bound // count) for count in range(1, bound + 1)}) for bound in nest.bounds]
    orders = list(itertools.permutations(range(len(nest.loops))))
    count = math.prod(len(sides) for sides in choices) * len(orders)
    if count > _SCHEDULES_LIMIT:
        raise InputError(Fault("too many schedules", value=count, allowed=f"at most {_SCHEDULES_LIMIT}"))
    tiles = np.array(list(itertools.product(*choices)), dtype=np.int64)
    footprints = [tiles[:, support].prod(axis=1) for support in nest.supports]
    tiles = tiles[np.sum(footprints, axis=0) <= cache_words]
    if not len(tiles):
        raise AssumptionError(Fault("no tile fits the cache", value=cache_words))
    best: TiledSchedule | None = None
    for order in orders:
        words = _words(nest, tiles, order)
        index = int(words.argmin())
        if best is None or words[index] < best.transfers_words:
            best = TiledSchedule(tuple(int(side) for side in tiles[index]), order, int(words[index]))
    if best is None:
        raise ArithmeticError("no order of the loops")
    return best


def _words(nest: LoopNest, tiles: IntArray, order: tuple[int, ...]) -> IntArray:
    counts = -(-np.array(nest.bounds, dtype=np.int64) // tiles)
    total = np.zeros(len(tiles), dtype=np.int64)
    for array, (support, size) in enumerate(zip(nest.supports, nest.array_sizes_words, strict=True)):
        passes = np.ones(len(tiles), dtype=np.int64)
        outside = np.ones(len(tiles), dtype=np.int64)
        for loop in order:
            if loop in support:
                # A loop of one tile never advances, so it does not end the stay of a block.
                passes = np.where(counts[:, loop] > 1, outside, passes)
            else:
                outside = outside * counts[:, loop]
        total += size * (2 * passes - 1 if array in nest.outputs else passes)
    return total
