"""Words that a nest whose loops may end early moves at least, in closed form.

Where ranks are moved by one open dimension each, boxes are equal or apart. A step fetches the box that it moves to.
Data spaces over which windows slide are counted step by step, as the model does. Timeloop fetches more in one case:
where a loop of another dimension steps and the loops inside it have ended early, so that nothing moves, it may fetch
the box again (``SaveAndSubtractIfSameStride``). Hence these words are a lower bound on what `jouleloop.model.residual`
counts, and equal to it nearly everywhere; docs/search-residual.md has the argument.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import (
    BOUND,
    COLUMNS,
    DIM,
    GROUPS,
    LINKS,
    MAX_LOOPS,
    MULTICAST,
    REUSE,
    ROWS,
    SCATTER,
    SIBLING,
    SPATIAL,
    TEMPORAL,
    TILE,
    WORDS,
    Bools,
    Encoded,
    Floats,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
)
from jouleloop.model.collapse import collapse
from jouleloop.model.kernel import box_words
from jouleloop.model.price import price, utilize
from jouleloop.model.residual import KIND, LOOP, RESIDUAL, Boundary, count_boundary, flatten_loops

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
    relevant: Bools, loop: Ints, begin: int, middle: int, total: int, words: Floats, shared: Floats, whole: Bools
) -> None:
    """Replace the words of a box, by state, by those that all instances ask for; write those that reach them.

    Spatial loops at the boundary are ``begin`` to ``middle``, all loops outside ``middle`` to ``total``. After it the
    last state of ``words`` holds what is asked for, that of ``shared`` what reaches all instances together.
    """
    states = words.shape[0]
    whole[:] = True
    shared[:] = words
    for k in range(begin, middle):
        bit = 1 << loop[k, DIM]
        moves = relevant[loop[k, DIM]]
        for state in range(states - 1, -1, -1):
            ends = loop[k, RESIDUAL] if state & bit else loop[k, BOUND]
            inner = state if loop[k, RESIDUAL] == 1 else state & ~bit
            shared[state] = shared[inner] * ends
            words[state] = words[inner] * (ends if moves else 1)
    for k in range(middle, total):
        bit = 1 << loop[k, DIM]
        moves = relevant[loop[k, DIM]]
        # From all dimensions last to none: a state reads itself and the one without this dimension.
        for state in range(states - 1, -1, -1):
            inner = state & ~bit
            if loop[k, KIND] == SPATIAL:
                if loop[k, RESIDUAL] > 1:
                    words[state], shared[state], whole[state] = words[inner], shared[inner], whole[inner]
                continue
            ends = loop[k, RESIDUAL] if state & bit else loop[k, BOUND]
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
def _points(loop: Ints, first: int, total: int, spatial_states: Floats) -> float:
    """Return the points of all visited units, given those of one step by state; see `fetched_words`."""
    states = spatial_states.shape[0]
    for k in range(first, total):
        bit = 1 << loop[k, DIM]
        for state in range(states - 1, -1, -1):
            inner = state & ~bit
            if loop[k, KIND] == SPATIAL:
                if loop[k, RESIDUAL] > 1:
                    spatial_states[state] = spatial_states[inner]
            else:
                ends = loop[k, RESIDUAL] if state & bit else loop[k, BOUND]
                spatial_states[state] += (ends - 1) * spatial_states[inner]
    return float(spatial_states[states - 1])


@njit
def _slide_windows(coef: Ints) -> Bools:
    """Return by data space whether several dimensions move one of its ranks."""
    windows = np.zeros(coef.shape[0], np.bool_)
    for v in range(coef.shape[0]):
        for r in range(coef.shape[1]):
            moving = 0
            for d in range(coef.shape[2]):
                moving += coef[v, r, d] != 0
            windows[v] = windows[v] or moving > 1
    return windows


@njit
def _count_operations(loop: Ints, begin: int, middle: int, total: int, shared: Floats) -> float:
    """Return the operations of a unit: those of every unit that a step visits; ``shared`` is room by state."""
    shared[:] = 1.0
    for k in range(begin, middle):
        bit = 1 << loop[k, DIM]
        for state in range(shared.shape[0] - 1, -1, -1):
            inner = state if loop[k, RESIDUAL] == 1 else state & ~bit
            shared[state] = shared[inner] * (loop[k, RESIDUAL] if state & bit else loop[k, BOUND])
    return _points(loop, middle, total, shared) / _visited(loop, begin, middle, total)


@njit
def _size_last(bounds: Ints, held: Ints, early: Bools, size: Ints) -> None:
    """Write the sizes of a tile, of its remainder in the dimensions that are in their last iteration."""
    for d in range(bounds.shape[0]):
        size[d] = (bounds[d] - 1) % held[d] + 1 if early[d] else held[d]


@njit
def count_least_transfers(layer: LayerArrays, relevant: Bools, nest: NestArrays, work: WorkArrays) -> float:
    """Write at most the transfers that Timeloop counts; return the operations of a unit, which are exact.

    ``relevant``: whether a dimension moves a data space, shape (data spaces, dimensions). Where the level inside keeps
    nothing of a data space, its requests are multiplied by what no sharing could lower.
    """
    bounds, levels, dims = layer.bounds, nest.counts.shape[0], layer.bounds.shape[0]
    windows = _slide_windows(layer.coef)
    states = 1 << dims
    loop = np.empty((levels * 2 * MAX_LOOPS, LOOP), np.int64)
    start = np.empty((levels + 1, 2), np.int64)
    total = flatten_loops(bounds, nest, loop, start)
    extent, held, size = np.ones(dims, np.int64), np.ones(dims, np.int64), np.empty(dims, np.int64)
    early = np.empty(dims, np.bool_)
    words, shared, whole = np.empty(states), np.empty(states), np.empty(states, np.bool_)
    operations = _count_operations(loop, start[0, SPATIAL], start[0, TEMPORAL], total, shared)
    for level in range(levels):
        begin, middle, after = start[level, SPATIAL], start[level, TEMPORAL], start[level + 1, SPATIAL]
        for k in range(begin, middle):
            held[loop[k, DIM]] *= loop[k, BOUND]
        for v in range(layer.coef.shape[0]):
            access, coef = work.access[level, v], layer.coef[v]
            _starts_last(loop, middle, total, early)
            _size_last(bounds, held, early, size)
            access[SIBLING] = box_words(coef, size) if middle > begin else 0
            passing = level > 0 and not nest.keep[level - 1, v]
            if windows[v] and not passing and (level > 0 or middle > begin):
                adds_itself = middle == begin and after > middle
                mesh = np.array([work.status[level, COLUMNS], work.status[level, ROWS]])
                boundary = Boundary(begin, middle, total, adds_itself, level == 0, np.zeros(REUSE, np.bool_), mesh)
                access[GROUPS] = 0
                # As the model counts them.
                work.flow[level, v, LINKS], _ = count_boundary(
                    bounds, coef, loop, boundary, work.groups[level, v], access
                )
                continue
            access[GROUPS] = 1
            work.flow[level, v, LINKS] = 0.0
            group = work.groups[level, v, 0]
            group[SCATTER] = 1.0
            if level == 0 and middle == begin:
                group[MULTICAST] = 1.0
                group[WORDS] = operations
                continue
            if passing:
                # As many words pass as are asked for inside, over the mean multicast.
                group[WORDS] = 1.0
                group[MULTICAST] = _most_sharing(coef, loop, begin, middle)
                if not windows[v] and middle > begin and not _may_stand(loop, middle, total):
                    _box_states(coef, bounds, extent, words)
                    fetched_words(relevant[v], loop, begin, middle, total, words, shared, whole)
                    group[MULTICAST] = shared[states - 1] / words[states - 1]
                continue
            _box_states(coef, bounds, extent, words)
            fetched_words(relevant[v], loop, begin, middle, total, words, shared, whole)
            group[WORDS] = words[states - 1]
            group[MULTICAST] = shared[states - 1] / words[states - 1]
            if level == 0:
                group[MULTICAST] = _most_sharing(coef, loop, begin, middle)
        for k in range(middle, after):
            held[loop[k, DIM]] *= loop[k, BOUND]
        extent[:] = held
        _starts_last(loop, after, total, early)
        _size_last(bounds, held, early, size)
        for v in range(layer.coef.shape[0]):
            work.access[level, v, TILE] = box_words(layer.coef[v], size)
    return operations


@njit
def _may_stand(loop: Ints, first: int, total: int) -> bool:
    """Whether a loop outside runs once in its last run: all others are counted as the model does."""
    found = False
    for k in range(first, total):
        found = found or (loop[k, KIND] == TEMPORAL and loop[k, RESIDUAL] == 1 and loop[k, BOUND] > 1)
    return found


@njit
def _most_sharing(coef: Ints, loop: Ints, begin: int, middle: int) -> float:
    """Return how many units of the spatial loops ``begin`` to ``middle`` have the same box at most.

    Those that differ in one of the dimensions that move a rank, and in no other, are apart.
    """
    units, apart = 1.0, 1.0
    for k in range(begin, middle):
        units *= loop[k, BOUND]
    for r in range(coef.shape[0]):
        most = 1.0
        for k in range(begin, middle):
            if coef[r, loop[k, DIM]] != 0:
                most = max(most, float(loop[k, BOUND]))
        apart *= most
    return units / apart


@njit
def _starts_last(loop: Ints, first: int, total: int, early: Bools) -> None:
    """Write by dimension whether the first iterations of all loops from ``first`` outward are their last."""
    early[:] = True
    for k in range(first, total):
        if loop[k, RESIDUAL] > 1:
            early[loop[k, DIM]] = False


@njit
def _visited(loop: Ints, begin: int, middle: int, total: int) -> float:
    """Return how many instances below the innermost level any step visits: those of the first step."""
    visited = 1.0
    for k in range(begin, middle):
        last = True
        for outer in range(middle, total):
            if loop[outer, DIM] == loop[k, DIM] and loop[outer, RESIDUAL] > 1:
                last = False
        visited *= loop[k, RESIDUAL] if last else loop[k, BOUND]
    return visited


@njit
def least_cost(
    target: Encoded,
    relevant: Bools,
    nest: NestArrays,
    work: WorkArrays,
) -> tuple[float, int]:
    """Return a lower bound on the energy [pJ] of a nest, and its cycles at least."""
    units, steps = utilize(target.spec, nest, work)
    computes = int(count_least_transfers(target.layer, relevant, nest, work) * units)
    collapse(target.layer.read_write, target.layer.reuse, nest.keep, target.elided, work)
    total_pj, _ = price(target.spec, target.compute_pj, nest.keep, steps, computes, work)
    return total_pj, steps
