"""Projective loop nests executed: tiled in a cache, with the cheapest schedule in closed form, and on many processors.

docs/theory-projective-nests.md has the model of processors and its bound (after Irony, Toledo, Tiskin, [ITT04] of 004).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.counting import BlockMemory, Floats, Ints, Moved, blocks, grids_of, random_operands
from jouleloop.theory.layers import useful_sides
from jouleloop.theory.loop_nest.closed_form import ClosedForm
from jouleloop.theory.loop_nest.nest import LoopNest

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_POINTS_LIMIT = 10**8


@dataclass(frozen=True)
class TiledRun:
    """What a tiled schedule did."""

    tiles: int
    operations: int
    """Points of the iteration space executed, over all tiles."""
    cache: BlockMemory
    """The cache afterwards, with the words that it counted."""
    results: tuple[Floats, ...]
    """The written arrays, for every output of the nest."""
    steps: tuple[tuple[tuple[int, ...], Moved], ...]
    """Where each of the first tiles starts in every loop, and what it made move; as many as were asked for."""


def run_tiled(
    nest: LoopNest,
    sides: Sequence[int],
    inputs: Sequence[Floats],
    *,
    order: Sequence[int] | None = None,
    reuse: bool = True,
    trace: int = 0,
) -> TiledRun:
    """Run the nest tile by tile: every output accumulates the product of the inputs.

    Blocks of all arrays that a tile touches are in the cache while it runs. A block is loaded when a tile needs it and
    the cache does not hold it; a block of an output is created without a load at its first touch, stored when it
    leaves, loaded again when it returns.

    ``sides`` are b_i, those of a tile; tiles at the edges are cut off. ``inputs`` has an array for every array of the
    nest that is not an output, of the shape of its support. ``order`` is that of the loops over tiles, outermost first.
    With ``reuse`` a block that the next tile needs too stays; without, every tile moves all its words (the paper's
    model). The first ``trace`` tiles are recorded.

    Source: the tiled loop nest of 004 Section 1, the tile of 004 Section 5.

    Raises `InputError` where sides or order do not belong to the nest, or the nest is too large to execute.
    """
    order = tuple(range(len(nest.loops))) if order is None else tuple(order)
    _check(nest, sides, order)
    reading = iter(inputs)
    slow = {
        name: np.full(nest.shape(array), np.nan) if array in nest.outputs else next(reading)
        for array, name in enumerate(nest.arrays)
    }
    made = [tuple(slow)[array] for array in nest.outputs]
    cache = BlockMemory(slow, made)
    tiles = operations = 0
    steps = []
    for block in blocks(nest.bounds, sides, order):
        tile = [block[loop] for loop in range(len(nest.loops))]
        places = (tuple(tile[loop] for loop in support) for support in nest.supports)
        moved = cache.enter(dict(zip(slow, places, strict=True)), slow if reuse else ())
        multiply(nest, [cache.blocks[name] for name in slow], tile)
        operations += math.prod(map(len, tile))
        tiles += 1
        if tiles <= trace:
            steps.append((tuple(part.start for part in tile), moved))
    for name in made:
        cache.leave(name)
    return TiledRun(tiles, operations, cache, tuple(slow[name] for name in made), tuple(steps))


def random_inputs(nest: LoopNest, seed: int = 0) -> list[Floats]:
    """Return small whole numbers, as floats, for every array that the nest only reads: sums of them are exact."""
    shapes = [nest.shape(array) for array in range(len(nest.arrays)) if array not in nest.outputs]
    return [array.astype(np.float64) for array in random_operands(shapes, seed, largest=3)]


def multiply(nest: LoopNest, blocks: Sequence[Floats], place: Sequence[range]) -> None:
    """Add to the block of every output the product of the blocks of the inputs, over the loops' ranges ``place``."""
    terms = ["".join(_LETTERS[loop] for loop in support) for support in nest.supports]
    reading = [array for array in range(len(terms)) if array not in nest.outputs]
    for array in nest.outputs:
        # Loops that neither the inputs nor this output use repeat the same update.
        known = {*"".join(terms[one] for one in reading), *terms[array]}
        repeats = math.prod(len(part) for loop, part in enumerate(place) if _LETTERS[loop] not in known)
        subscripts = ",".join([*(terms[one] for one in reading), terms[array]]) + "->" + terms[array]
        operands = [*(blocks[one] for one in reading), np.ones(blocks[array].shape)]
        blocks[array][...] += repeats * np.einsum(subscripts, *operands, optimize=True)


def _check(nest: LoopNest, sides: Sequence[int], order: Sequence[int]) -> None:
    if not nest.bounds or nest.operations > _POINTS_LIMIT:
        raise InputError(Fault("the nest is too large to execute", allowed=f"at most {_POINTS_LIMIT} operations"))
    if len(sides) != len(nest.loops) or any(
        not 1 <= side <= bound for side, bound in zip(sides, nest.bounds, strict=True)
    ):
        raise InputError(
            Fault("no tile of this nest", field="sides", value=tuple(sides), allowed="1 … L_i, one a loop")
        )
    if sorted(order) != list(range(len(nest.loops))):
        raise InputError(Fault("no order of the loops", field="order", value=tuple(order)))


_SCHEDULES_LIMIT = 20_000_000


@dataclass(frozen=True)
class TiledSchedule:
    """A tile, an order of the loops over tiles (outermost first) and the words it moves."""

    sides: tuple[int, ...]
    order: tuple[int, ...]
    transfers_words: int


def best_schedule(nest: LoopNest, cache_words: int) -> TiledSchedule:
    """Return the schedule of fewest words whose blocks fit together into M words, among all tiles and orders.

    Of all sides with the same number of tiles the shortest stands for all: it moves as much and needs the least room.

    Raises `AssumptionError` where no tile fits; `InputError` where there are too many schedules to enumerate.
    """
    choices = [useful_sides(bound) for bound in nest.bounds]
    orders = list(itertools.permutations(range(len(nest.loops))))
    count = math.prod(len(sides) for sides in choices) * len(orders)
    if count > _SCHEDULES_LIMIT:
        raise InputError(Fault("too many schedules", value=count, allowed=f"at most {_SCHEDULES_LIMIT}"))
    tiles = np.array(list(itertools.product(*choices)), dtype=np.int64)
    footprints = [tiles[:, support].prod(axis=1) for support in nest.supports]
    tiles = tiles[np.sum(footprints, axis=0) <= cache_words]
    if not len(tiles):
        raise AssumptionError(Fault("no tile fits the cache", value=cache_words))
    found = []
    for order in orders:
        words = schedule_words(nest, tiles, order)
        index = int(words.argmin())
        found.append(TiledSchedule(tuple(int(side) for side in tiles[index]), order, int(words[index])))
    return min(found, key=lambda schedule: schedule.transfers_words)


def schedule_words(nest: LoopNest, tiles: Ints, order: Sequence[int]) -> Ints:
    """Return the words that `run_tiled` moves with reuse, without running it, for every row of sides.

    A block stays while only loops inside the innermost loop that indexes it advance. So an array moves as often as
    the other loops outside that one have tiles; of an output each pass but the first loads, and each stores.
    """
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


@dataclass(frozen=True)
class GridRun:
    """What a run on a grid of processors did."""

    operations: tuple[int, ...]
    """Points that each processor computed."""
    touched_words: tuple[int, ...]
    """Words of all arrays that each processor touched, Σ_j |φ_j(S)|."""
    moved_words: tuple[int, ...]
    """Words of inputs that each processor received and of partial sums that it sent."""
    results: tuple[Floats, ...]


def least_touched_words(form: ClosedForm, points: float) -> float:
    """Return a lower bound on Σ_j |φ_j(S)| of any set S of so many ``points`` of a nest with bounds.

    With c = Σ s_j; arrays of the same loops share their s_j evenly, which HBL allows and the means reward.
    """
    nest, least = form.nest, 0.0
    alike = [[other for other in range(len(nest.arrays)) if nest.supports[other] == own] for own in nest.supports]
    for piece in form.pieces:
        total = float(piece.cache_weight)
        if total:
            weights = [float(sum(piece.array_weights[one] for one in group)) / len(group) for group in alike]
            scale = math.prod((weight / total) ** weight for weight in weights if weight)
            loops = math.prod(L ** float(z) for L, z in zip(nest.bounds, piece.loop_weights, strict=True))
            least = max(least, (points / (scale * loops)) ** (1 / total))
    return least


def best_grid(nest: LoopNest, processors: int) -> tuple[int, ...]:
    """Return the numbers of processors along every loop, P in all, whose largest block touches the fewest words.

    Raises `AssumptionError` where P is not a product of numbers that the loops can be cut into.
    """
    grids = list(grids_of(processors, nest.bounds))
    if not grids:
        raise AssumptionError(Fault("no grid of processors has a point for each", value=processors))
    return min(grids, key=lambda grid: (sum(nest.footprints_words(_sides(nest, grid))), grid))


def run_grid(nest: LoopNest, grid: Sequence[int], inputs: Sequence[Floats]) -> GridRun:
    """Run the nest with one block of the iteration space on every processor of a grid.

    A block of an array is owned by the processors that touch it, in even parts. Owners send their parts of inputs;
    every processor computes with what it received, and sends partial sums to their owners, who add them. ``inputs``
    has an array for every array of the nest that is not an output, of the shape of its support.
    """
    cuts = [_cuts(bound, parts) for bound, parts in zip(nest.bounds, grid, strict=True)]
    reading = iter(inputs)
    memory = [
        np.zeros(nest.shape(array)) if array in nest.outputs else next(reading) for array in range(len(nest.arrays))
    ]
    operations, touched, moved = [], [], []
    for place in itertools.product(*(range(parts) for parts in grid)):
        block = tuple(cuts[loop][at] for loop, at in enumerate(place))
        local: list[Floats] = []
        words = foreign = 0
        for array, support in enumerate(nest.supports):
            part = memory[array][np.ix_(*(block[loop] for loop in support))]
            # Its rank among the processors that touch the same block says which words of it are its own.
            group = [loop for loop in range(len(grid)) if loop not in support]
            sizes = [grid[loop] for loop in group]
            rank = int(np.ravel_multi_index([place[loop] for loop in group], sizes)) if group else 0
            own = len(np.array_split(np.arange(part.size), math.prod(sizes))[rank])
            words, foreign = words + part.size, foreign + part.size - own
            local.append(np.zeros(part.shape) if array in nest.outputs else part)
        multiply(nest, local, block)
        for array in nest.outputs:
            memory[array][np.ix_(*(block[loop] for loop in nest.supports[array]))] += local[array]
        operations.append(math.prod(map(len, block)))
        touched.append(words)
        moved.append(foreign)
    return GridRun(tuple(operations), tuple(touched), tuple(moved), tuple(memory[array] for array in nest.outputs))


def _cuts(bound: int, parts: int) -> list[range]:
    ends = np.cumsum([0, *(len(part) for part in np.array_split(np.arange(bound), parts))])
    return [range(int(low), int(high)) for low, high in itertools.pairwise(ends)]


def _sides(nest: LoopNest, grid: Sequence[int]) -> tuple[int, ...]:
    return tuple(-(-bound // parts) for bound, parts in zip(nest.bounds, grid, strict=True))
