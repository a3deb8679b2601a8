"""What a search of loops that may end early is about, and what it has found: the records that its kernels exchange."""

from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import MAX_LOOPS, Bools, Floats, Ints, LayerArrays
from jouleloop.optimum.residual.bound import CROSSING, HALO

#: Places of a search's counters: leaves bounded, nests evaluated, nodes left out by bound, by capacity, and nodes.
LEAVES, VISITED, CUT_BOUND, CUT_CAPACITY, NODES, COUNTERS = range(6)
#: Relative slack: sums are added in another order.
SLACK = 1e-11


class Design(NamedTuple):
    """What a search is about.

    Attributes
    ----------
    relevant, mate, step
        Whether a dimension moves a data space, which other dimension moves the same rank of it (-1: none), and by how
        much it moves, each of shape (data spaces, dimensions).
    slots
        Temporal slots, shape (levels, dimensions, SLOT).
    """

    layer: LayerArrays
    relevant: Bools
    mate: Ints
    step: Ints
    spec: Floats
    compute_pj: float
    elided: bool
    keep: Bools
    slots: Ints


class Unrolled(NamedTuple):
    """One unrolling.

    Attributes
    ----------
    factors, idle
        Spatial factors, and whether some of those units are never used, shape (levels, dimensions).
    crossings, counts, instances, halos
        See `jouleloop.optimum.residual.bound`.
    loops
        Arrangements on the mesh by level, shape (levels, arrangements, MAX_LOOPS, 3); outermost first.
    numbers
        By level: loops of an arrangement, and arrangements.
    """

    factors: Ints
    idle: Bools
    crossings: Floats
    counts: Ints
    instances: Floats
    halos: Floats
    loops: Ints
    numbers: Ints


class Ends(NamedTuple):
    """The ends of all loops, as far as they are chosen, and what follows from them.

    One choice stands for all ends between two, which leave as many passes. All arrays have the shape (levels,
    dimensions), ``extent``, ``largest`` and ``used`` one level more.

    Attributes
    ----------
    least, largest_end
        The ends.
    extent, largest
        Tiles inside a level's fan-out, at least and at most.
    passes
        Iterations of all temporal loops from a level outward.
    used
        Share of the units of a level's fan-out that the last pass needs.
    beyond
        Units outside a level's own fan-out.
    """

    least: Ints
    largest_end: Ints
    extent: Ints
    largest: Ints
    passes: Ints
    used: Floats
    beyond: Ints


class Best(NamedTuple):
    """The best nest so far: energy [pJ] and cycles, number of improvements, and its arrays."""

    value: Floats
    found: Ints
    counts: Ints
    loops: Ints
    keep: Bools


def new_unrolled(levels: int, spaces: int, factors: Ints, idle: Bools, loops: Ints, numbers: Ints) -> Unrolled:
    """Return an unrolling whose crossings are not written yet."""
    room = np.zeros((spaces, levels, CROSSING)), np.zeros(spaces, np.int64), np.zeros(levels)
    return Unrolled(factors, idle, *room, np.zeros((spaces, levels, factors.shape[1], HALO)), loops, numbers)


def new_best(levels: int, spaces: int) -> Best:
    """Return the record of a search that has found nothing."""
    return Best(
        np.array([np.inf, np.inf]),
        np.zeros(1, np.int64),
        np.zeros((levels, 2), np.int64),
        np.zeros((levels, 2, MAX_LOOPS, 3), np.int64),
        np.zeros((levels, spaces), np.bool_),
    )
