"""Words that a nest whose loops may end early moves at least, in closed form.

Where ranks are moved by one open dimension each, boxes are equal or apart. A step fetches the box that it moves to.
Data spaces over which windows slide are counted step by step, as the model does. Timeloop fetches more in one case:
where a loop of another dimension steps and the loops inside it have ended early, so that nothing moves, it may fetch
the box again (``SaveAndSubtractIfSameStride``). Hence these words are a lower bound on what `jouleloop.model.residual`
counts, and equal to it nearly everywhere; docs/search-residual.md has the argument.
"""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    MAX_LOOPS,
    REUSE,
    SPATIAL,
    TEMPORAL,
    Bools,
    Encoded,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    Records,
    WorkArrays,
    copy_row,
)
from jouleloop.model.collapse import collapse
from jouleloop.model.kernel import box_words
from jouleloop.model.price import price, utilize
from jouleloop.model.residual import FLAT, Boundary, count_boundary, flatten_loops, last_at_start

#: Most dimensions of a problem: every subset of those that are in their last iteration is a state.
MOST_DIMS = 8


@njit
def _box_states(coef: Ints, bounds: Ints, extent: Ints, words: Floats) -> None:
    """Write the words of a box by the set of dimensions that are in their last iteration outside it."""
    dims = bounds.shape[0]
    size = np.empty(dims, np.int64)
    for state in range(1 << dims):
        for d in range(dims):
            size[d] = (bounds[d] - 1) % extent[d] + 1 if state >> d & 1 else extent[d]
        words[state] = box_words(coef, size)


@njit
def fetched_words(
    relevant: Bools, loop: Records, begin: int, middle: int, total: int, words: Floats, shared: Floats, whole: Bools
) -> None:
    """Replace the words of a box, by state, by those that all instances ask for; write those that reach them.

    Spatial loops at the boundary are ``begin`` to ``middle``, all loops outside ``middle`` to ``total``. After it the
    last state of ``words`` holds what is asked for, that of ``shared`` what reaches all instances together.
    """
    states = words.shape[0]
    whole[:] = True
    copy_row(words, shared)
    for k in range(begin, middle):
        bit = 1 << loop[k].dim
        moves = relevant[loop[k].dim]
        for state in range(states - 1, -1, -1):
            ends = loop[k].residual if state & bit else loop[k].bound
            inner = state if loop[k].residual == 1 else state & ~bit
            shared[state] = shared[inner] * ends
            words[state] = words[inner] * (ends if moves else 1)
    for k in range(middle, total):
        bit = 1 << loop[k].dim
        moves = relevant[loop[k].dim]
        # From all dimensions last to none: a state reads itself and the one without this dimension.
        for state in range(states - 1, -1, -1):
            inner = state & ~bit
            if loop[k].kind == SPATIAL:
                if loop[k].residual > 1:
                    words[state], shared[state], whole[state] = words[inner], shared[inner], whole[inner]
                continue
            ends = loop[k].residual if state & bit else loop[k].bound
            if ends == 1:
                continue
            if not moves and whole[inner]:
                # Nothing moves: the first iteration fetches, the others keep.
                words[state], shared[state] = words[inner], shared[inner]
            else:
                words[state] += (ends - 1) * words[inner]
                shared[state] += (ends - 1) * shared[inner]
            whole[state] = whole[state] and not moves


@njit
def _slides(coef: Ints) -> bool:
    """Return whether several dimensions move a rank of a data space."""
    slides = False
    for r in range(coef.shape[0]):
        moving = 0
        for d in range(coef.shape[1]):
            moving += coef[r, d] != 0
        slides = slides or moving > 1
    return slides


@njit
def _size_last(bounds: Ints, held: Ints, early: Bools, size: Ints) -> None:
    """Write the sizes of a tile, of its remainder in the dimensions that are in their last iteration."""
    for d in range(bounds.shape[0]):
        size[d] = (bounds[d] - 1) % held[d] + 1 if early[d] else held[d]


class _Around(NamedTuple):
    """The loops around a boundary, and the operations of a unit."""

    loop: Records
    begin: int
    middle: int
    after: int
    total: int
    """Spatial loops at the boundary begin at ``begin``, temporal ones outside it at ``middle``, those of the next level
    at ``after``; ``total`` are all."""
    operations: float


class _Tile(NamedTuple):
    """The tile inside a boundary, and work space."""

    extent: Ints
    held: Ints
    """Indices by dimension of one instance's tile, and of all instances' below the boundary."""
    size: Ints
    early: Bools
    words: Floats
    shared: Floats
    whole: Bools
    """By state, see `fetched_words`."""


@njit
def _count_operations(loop: Records, begin: int, middle: int, total: int, tile: _Tile) -> float:
    """Return the operations of a unit: every unit that a step visits does one, as if every step moved a word."""
    tile.words[:] = 1.0
    moving = np.ones(tile.early.shape[0], np.bool_)
    fetched_words(moving, loop, begin, middle, total, tile.words, tile.shared, tile.whole)
    return float(tile.shared[tile.shared.shape[0] - 1] / _visited(loop, begin, middle, total))


@njit
def count_least_transfers(layer: LayerArrays, relevant: Bools, nest: NestArrays, work: WorkArrays) -> float:
    """Write at most the transfers that Timeloop counts; return the operations of a unit, which are exact.

    ``relevant``: whether a dimension moves a data space, shape (data spaces, dimensions). Where the level inside keeps
    nothing of a data space, its requests are multiplied by what no sharing could lower.
    """
    bounds, levels, dims = layer.bounds, nest.counts.shape[0], layer.bounds.shape[0]
    states = 1 << dims
    loop = np.empty(levels * 2 * MAX_LOOPS, FLAT)
    start = np.empty((levels + 1, 2), np.int64)
    total = flatten_loops(bounds, nest, loop, start)
    tile = _Tile(
        np.ones(dims, np.int64), np.ones(dims, np.int64), np.empty(dims, np.int64), np.empty(dims, np.bool_),
        np.empty(states), np.empty(states), np.empty(states, np.bool_),
    )  # fmt: skip
    operations = _count_operations(loop, start[0, SPATIAL], start[0, TEMPORAL], total, tile)
    for level in range(levels):
        begin, middle, after = start[level, SPATIAL], start[level, TEMPORAL], start[level + 1, SPATIAL]
        around = _Around(loop, begin, middle, after, total, operations)
        for k in range(begin, middle):
            tile.held[loop[k].dim] *= loop[k].bound
        last_at_start(loop, middle, total, tile.early)
        _size_last(bounds, tile.held, tile.early, tile.size)
        for v in range(layer.coef.shape[0]):
            work.access[level, v].sibling = box_words(layer.coef[v], tile.size) if middle > begin else 0
            passing = level > 0 and not nest.keep[level - 1, v]
            if _slides(layer.coef[v]) and not passing and (level > 0 or middle > begin):
                _count_windows(layer, work, level, v, around)
            else:
                _count_boxes(layer, relevant[v], work, level, v, passing, around, tile)
        for k in range(middle, after):
            tile.held[loop[k].dim] *= loop[k].bound
        copy_row(tile.held, tile.extent)
        last_at_start(loop, after, total, tile.early)
        _size_last(bounds, tile.held, tile.early, tile.size)
        for v in range(layer.coef.shape[0]):
            work.access[level, v].tile = box_words(layer.coef[v], tile.size)
    return operations


@njit
def _count_windows(layer: LayerArrays, work: WorkArrays, level: int, v: int, around: _Around) -> None:
    """Write the transfers of a data space over which windows slide, as the model counts them."""
    adds_itself = around.middle == around.begin and around.after > around.middle
    mesh = np.array([work.status[level].columns, work.status[level].rows])
    boundary = Boundary(around.begin, around.middle, around.total, adds_itself, level == 0, np.zeros(1, REUSE), mesh)
    access = work.access[level, v]
    access.groups = 0
    work.flow[level, v].links, _ = count_boundary(
        layer.bounds, layer.coef[v], around.loop, boundary, work.groups[level, v], access
    )


@njit
def _count_boxes(
    layer: LayerArrays,
    relevant: Bools,
    work: WorkArrays,
    level: int,
    v: int,
    passing: bool,
    around: _Around,
    tile: _Tile,
) -> None:
    """Write the transfers of a data space whose boxes are equal or apart, or that the level inside does not keep."""
    coef, loop, begin, middle = layer.coef[v], around.loop, around.begin, around.middle
    work.access[level, v].groups = 1
    work.flow[level, v].links = 0.0
    group = work.groups[level, v, 0]
    group.scatter = 1.0
    if level == 0 and middle == begin:
        group.multicast = 1.0
        group.words = around.operations
        return
    # Where all that stands outside is counted as the model does, the mean multicast is exact.
    exact = not passing or (not _slides(coef) and middle > begin and not _may_stand(loop, middle, around.total))
    if exact:
        _box_states(coef, layer.bounds, tile.extent, tile.words)
        fetched_words(relevant, loop, begin, middle, around.total, tile.words, tile.shared, tile.whole)
    asked, reached = tile.words[tile.words.shape[0] - 1], tile.shared[tile.words.shape[0] - 1]
    # As many words pass as are asked for inside, over the mean multicast.
    group.words = 1.0 if passing else asked
    sharing = not exact or (level == 0 and not passing)
    group.multicast = _most_sharing(coef, loop, begin, middle) if sharing else reached / asked


@njit
def _may_stand(loop: Records, first: int, total: int) -> bool:
    """Whether a loop outside runs once in its last run: all others are counted as the model does."""
    found = False
    for k in range(first, total):
        found = found or (loop[k].kind == TEMPORAL and loop[k].residual == 1 and loop[k].bound > 1)
    return found


@njit
def _most_sharing(coef: Ints, loop: Records, begin: int, middle: int) -> float:
    """Return how many units of the spatial loops ``begin`` to ``middle`` have the same box at most.

    Those that differ in one of the dimensions that move a rank, and in no other, are apart.
    """
    units, apart = 1.0, 1.0
    for k in range(begin, middle):
        units *= loop[k].bound
    for r in range(coef.shape[0]):
        most = 1.0
        for k in range(begin, middle):
            if coef[r, loop[k].dim] != 0:
                most = max(most, float(loop[k].bound))
        apart *= most
    return units / apart


@njit
def _visited(loop: Records, begin: int, middle: int, total: int) -> float:
    """Return how many instances below the innermost level any step visits: those of the first step."""
    visited = 1.0
    for k in range(begin, middle):
        last = True
        for outer in range(middle, total):
            if loop[outer].dim == loop[k].dim and loop[outer].residual > 1:
                last = False
        visited *= loop[k].residual if last else loop[k].bound
    return visited


@njit
def least_cost(
    target: Encoded,
    relevant: Bools,
    nest: NestArrays,
    work: WorkArrays,
) -> tuple[float, int]:
    """Return a lower bound on the energy [pJ] of a nest, and its cycles at least."""
    units, steps = utilize(target.hardware.levels, nest, work)
    computes = int(count_least_transfers(target.layer, relevant, nest, work) * units)
    collapse(target.layer.read_write, target.layer.reuse, nest.keep, target.elided, work)
    total_pj, _ = price(target.hardware, target.compute_pj, nest.keep, steps, computes, work)
    return total_pj, steps
