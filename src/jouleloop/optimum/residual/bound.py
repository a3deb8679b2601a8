"""What is sure of a nest before it is complete: energy of a boundary whatever stands outside.

All bounds are for one unrolling and one choice of what is kept. Along a dimension an instance sees at least its bound
over all units unrolled outside, rounded up: instance 0, which Timeloop executes, has the largest share.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import BLOCK_WORDS, CLUSTERS, READ_PJ, WRITE_PJ, Bools, Floats, Ints

#: Places of a crossing: child (-1: compute units), parent, words asked of a parent and filled into a child, both per
#: instance and at least, and words of the parent and of the child that need no read before the first write.
CHILD, PARENT, ASKED, FILLED, SPARED_PARENT, SPARED_CHILD, CROSSING = range(7)


@njit
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair above a whole number is rounding, not a word."""
    return float(np.ceil(words / block_words - 1e-9))


@njit
def crossing_pj(
    spec: Floats, instances: Floats, crossing: Floats, read_write: bool, elided: bool, times: float
) -> float:
    """Energy [pJ] of a crossing whose words pass ``times`` times, at least; over all instances."""
    parent, child = int(crossing[PARENT]), int(crossing[CHILD])
    sharing = min(instances[parent], spec[parent, CLUSTERS])
    block = spec[parent, BLOCK_WORDS]
    asked = crossing[ASKED] * times
    if read_write:
        total = vectors(asked, block) * spec[parent, WRITE_PJ]
        again = np.floor(asked - crossing[SPARED_PARENT])
        if again > 0:
            total += vectors(again, block) * spec[parent, READ_PJ]
    else:
        total = vectors(asked, block) * spec[parent, READ_PJ]
    total *= sharing
    if child >= 0:
        filled = np.floor(crossing[FILLED] * times)
        if read_write and elided:
            filled = np.floor(filled - crossing[SPARED_CHILD])
        if filled > 0:
            sharing = min(instances[child], spec[child, CLUSTERS])
            total += vectors(filled, spec[child, BLOCK_WORDS]) * spec[child, WRITE_PJ] * sharing
    return float(total)


@njit
def _share(bounds: Ints, relevant: Bools, units: Ints) -> float:
    """Return the words of a data space that an instance sees, of as many as are unrolled outside by dimension."""
    words = 1.0
    for d in range(bounds.shape[0]):
        if relevant[d]:
            words *= -(-bounds[d] // units[d])
    return words


@njit
def fill_crossings(
    bounds: Ints, relevant: Bools, keep: Bools, factors: Ints, idle: Bools,
    crossings: Floats, counts: Ints, instances: Floats,
) -> None:  # fmt: skip
    """Write the crossings of every data space, innermost first, their number, and the instances of every level.

    ``factors`` holds spatial factors, ``idle`` whether some of those units are never used, shape (levels, dimensions).
    """
    levels, spaces = keep.shape
    dims = bounds.shape[0]
    outside = np.ones((levels + 1, dims), np.int64)
    for level in range(levels - 1, -1, -1):
        for d in range(dims):
            outside[level, d] = outside[level + 1, d] * factors[level, d]
    # What is unrolled outside a level are the factors of the levels outside it.
    points = 1.0
    for d in range(dims):
        points *= -(-bounds[d] // outside[0, d])
    for level in range(levels):
        instances[level] = np.prod(outside[level + 1].astype(np.float64))
    for v in range(spaces):
        counts[v] = 0
        child = -1
        spared = np.ones(levels)
        most = 1.0
        for d in range(dims):
            if relevant[v, d]:
                most *= bounds[d]
        for level in range(levels - 1, -1, -1):
            spared[level] = most
            for d in range(dims):
                # A box of all units is at least one unit short of their number times that of one.
                if relevant[v, d] and factors[level, d] > 1 and not idle[level, d]:
                    most /= factors[level, d] - 1
        for level in range(levels):
            if not keep[level, v]:
                continue
            crossing = crossings[v, counts[v]]
            crossing[CHILD], crossing[PARENT] = child, level
            crossing[SPARED_PARENT] = spared[level]
            crossing[ASKED] = _share(bounds, relevant[v], outside[level + 1])
            if child >= 0:
                crossing[FILLED] = _share(bounds, relevant[v], outside[child + 1])
                crossing[SPARED_CHILD] = spared[child]
            else:
                alone = True
                for d in range(dims):
                    alone = alone and factors[0, d] == 1
                if alone:
                    crossing[ASKED] = points
                    for between in range(1, level + 1):
                        for d in range(dims):
                            if relevant[v, d]:
                                crossing[ASKED] *= factors[between, d]
            counts[v] += 1
            child = level


@njit
def bound_unrolling(
    bounds: Ints, relevant: Bools, read_write: Bools, spec: Floats, compute_pj: float, elided: bool, keep: Bools,
    factors: Ints, idle: Bools, crossings: Floats, counts: Ints, instances: Floats,
) -> float:  # fmt: skip
    """Return the energy [pJ] that every nest of an unrolling costs at least; write its crossings."""
    fill_crossings(bounds, relevant, keep, factors, idle, crossings, counts, instances)
    units, points = 1.0, 1.0
    for d in range(bounds.shape[0]):
        outside = 1
        for level in range(1, factors.shape[0]):
            outside *= factors[level, d]
        units *= outside * factors[0, d]
        # Below the innermost level Timeloop averages over the units that it visits.
        points *= -(-bounds[d] // outside) / factors[0, d]
    total = np.floor(points * units * (1.0 - 1e-12)) * compute_pj
    for v in range(keep.shape[1]):
        for i in range(counts[v]):
            total += crossing_pj(spec, instances, crossings[v, i], read_write[v], elided, 1.0)
    return float(total)
