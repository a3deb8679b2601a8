"""Projective loop nests on many processors (004 section 7): a block of the iteration space each, run and counted.

docs/theory-projective-nests.md states the model and the bound (after Irony, Toledo, Tiskin, [ITT04] of 004).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jouleloop.errors import AssumptionError, Fault
from jouleloop.theory.counting import Floats, grids_of
from jouleloop.theory.loop_nest.closed_form import ClosedForm
from jouleloop.theory.loop_nest.execute_tiles import multiply
from jouleloop.theory.loop_nest.nest import LoopNest


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
