"""What a search of loops that may end early is about, and what it has found: the records that its kernels exchange."""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import LOOP, MAX_LOOPS, Bools, Encoded, Floats, Ints, NestArrays, Records, WorkArrays
from jouleloop.optimum.residual.ends import look_outside

#: Relative slack: sums are added in another order.
SLACK = 1e-11

#: A crossing between a child (-1: the compute units) and the next level outside that keeps the data space, its parent.
CROSSING = np.dtype(
    [
        ("child", np.int64),
        ("parent", np.int64),
        # Words asked of a parent and filled into a child, both per instance and at least.
        ("asked", np.float64),
        ("filled", np.float64),
        # Words of the parent and of the child that need no read before the first write.
        ("spared_parent", np.float64),
        ("spared_child", np.float64),
        # Energy [pJ] of words that pass once, before any end is known and as far as ends are.
        ("root_pj", np.float64),
        ("once_pj", np.float64),
        # By how much it grows for every time more that they are asked for, and that they are filled [pJ], and what
        # rounding may take off that line [pJ].
        ("asked_pj", np.float64),
        ("filled_pj", np.float64),
        ("lost_pj", np.float64),
        # Whether no instance takes words that slide from its neighbours.
        ("linkless", np.bool_),
    ],
    align=True,
)
#: A halo, by dimension, as shares of all words along its rank.
HALO = np.dtype(
    [
        # How often the words pass if no window slides along the rank: where every step outside moves it, and where two
        # loops may cancel.
        ("again", np.float64),
        ("rested", np.float64),
        # All boxes that an instance, or all of a fan-out, hold while the dimension stays in its last tile.
        ("box", np.float64),
        # What of it is still there when the dimension is through and begins again.
        ("over", np.float64),
    ],
    align=True,
)


@record
class Design(NamedTuple):
    """What a search is about.

    Attributes
    ----------
    relevant, mate, step
        Whether a dimension moves a data space, which other dimension moves the same rank of it (-1: none), and by how
        much it moves, each of shape (data spaces, dimensions).
    slots
        Temporal slots, of `SLOT`, shape (levels, dimensions).
    energy_power, delay_power
        The objective, a product of powers of energy and delay.
    most_cycles
        What a mapping may take at most; of more its value is infinite.
    """

    target: Encoded
    relevant: Bools
    mate: Ints
    step: Ints
    keep: Bools
    slots: Records
    energy_power: int
    delay_power: int
    most_cycles: float


@record
class Unrolled(NamedTuple):
    """One unrolling.

    Attributes
    ----------
    factors, idle
        Spatial factors, and how many of those units are used at least where some never are, else 0, shape (levels,
        dimensions).
    crossings
        Of `CROSSING`, by data space, innermost first, shape (data spaces, levels).
    counts
        How many of them a data space has.
    instances
        By level.
    halos
        Of `HALO`, of the crossings of data spaces over which windows slide, shape (data spaces, levels, dimensions).
    loops
        Arrangements on the mesh by level, of `LOOP`, shape (levels, arrangements, MAX_LOOPS); outermost first.
    numbers
        By level: loops of an arrangement, and arrangements.
    """

    factors: Ints
    idle: Ints
    crossings: Records
    counts: Ints
    instances: Floats
    halos: Records
    loops: Records
    numbers: Ints


@record
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


@record
class Room(NamedTuple):
    """Room to work in: kernels that make no array count no references.

    Attributes
    ----------
    inner, rest, size, tile
        By dimension.
    chosen, sure_pj
        By level, the latter one more.
    """

    inner: Ints
    rest: Ints
    size: Ints
    tile: Ints
    chosen: Ints
    sure_pj: Floats


@record
class Walk(NamedTuple):
    """Where the walk of one unrolling stands.

    Attributes
    ----------
    place
        One record of `STAND`.
    listed, largest
        Ends that a loop may have, and the largest that each stands for, shape (levels, dimensions, ends).
    left
        How many of them were not tried, shape (levels, dimensions).
    least_outside, most_outside, factor_outside
        See `jouleloop.optimum.residual.ends`.
    has_choice
        Whether a level may have loops of several ends.
    bound_pj, entered_pj
        By level: what is sure [pJ] of all levels inside it, and with the tile that is known then.
    steps
        By level, iterations of all temporal loops inside it, at least.
    shares, pressed_pj
        See `jouleloop.optimum.residual.whole`; by level.
    pending
        Whose boundaries wait for a loop outside that moves them, shape (levels, data spaces, crossings).
    """

    place: Records
    ends: Ends
    listed: Ints
    largest: Ints
    left: Ints
    least_outside: Ints
    most_outside: Ints
    factor_outside: Ints
    has_choice: Bools
    bound_pj: Floats
    entered_pj: Floats
    steps: Floats
    shares: Floats
    pressed_pj: Floats
    pending: Bools
    room: Room


#: What a search has found: the value of its best nest and its cycles, the least bound or value of what was left out for
#: being no better, and how often a nest was better.
MARK = np.dtype([("value", np.float64), ("cycles", np.float64), ("cut", np.float64), ("found", np.int64)], align=True)
#: Where the walk of an unrolling stands: level, dimension, and whether it is entered.
STAND = np.dtype([("level", np.int64), ("dimension", np.int64), ("entered", np.bool_)], align=True)


@record
class Best(NamedTuple):
    """The best nest so far: one record of `MARK`, and its arrays."""

    mark: Records
    counts: Ints
    loops: Records
    keep: Bools


@record
class Trial(NamedTuple):
    """The nest at hand, what the model writes of it, the best nest so far, and the counters of the search."""

    nest: NestArrays
    work: WorkArrays
    best: Best
    counters: Records


@njit
def value_of(design: Design, energy_pj: float, steps: float) -> float:
    """Return the value of the objective; of lower bounds on energy and delay a lower bound on it."""
    if steps > design.most_cycles:
        return np.inf
    return float(energy_pj**design.energy_power * steps**design.delay_power)


def new_unrolled(levels: int, spaces: int, factors: Ints, idle: Ints, loops: Records, numbers: Ints) -> Unrolled:
    """Return an unrolling whose crossings are not written yet."""
    crossings, counts = np.zeros((spaces, levels), CROSSING), np.zeros(spaces, np.int64)
    halos = np.zeros((spaces, levels, factors.shape[1]), HALO)
    return Unrolled(factors, idle, crossings, counts, np.zeros(levels), halos, loops, numbers)


def new_best(levels: int, spaces: int) -> Best:
    """Return the record of a search that has found nothing."""
    return Best(
        np.array([(np.inf, np.inf, np.inf, 0)], MARK),
        np.zeros((levels, 2), np.int64),
        np.zeros((levels, 2, MAX_LOOPS), LOOP),
        np.zeros((levels, spaces), np.bool_),
    )


def new_walk(design: Design, unrolled: Unrolled, root_pj: float) -> Walk:
    """Return the walk of an unrolling, of which every nest costs ``root_pj`` at least, before its first step."""
    levels, dims = unrolled.factors.shape
    beyond = np.ones((levels, dims), np.int64)
    for level in range(levels - 2, -1, -1):
        beyond[level] = beyond[level + 1] * unrolled.factors[level + 1]
    one, more = np.ones((levels, dims), np.int64), np.ones((levels + 1, dims), np.int64)
    ends = Ends(one, one.copy(), more, more.copy(), one.copy(), np.ones((levels + 1, dims)), beyond)
    room = np.empty((levels, dims, int(design.target.layer.bounds.max()) + 1), np.int64)
    bound_pj = np.zeros(levels + 1)
    bound_pj[0] = root_pj
    pending = np.zeros((levels + 1, len(design.relevant), levels), np.bool_)
    place = np.array([(0, 0, True)], STAND)
    least, most, factor = look_outside(design.slots, unrolled.factors, unrolled.idle, design.target.layer.bounds)
    if (design.mate >= 0).any() or (design.target.hardware.levels["least_words"] > 0).any():
        # Tiles overlap, or larger ones may be asked for: every end counts.
        factor[:] = 0
    has_choice = ((design.slots["fixed"] == 0) & (design.slots["most"] > 1)).any(axis=1)
    inner, rest, size, tile = np.zeros((4, dims), np.int64)
    free = Room(inner, rest, size, tile, np.zeros(levels, np.int64), np.zeros(levels + 1))
    left, entered_pj, steps = np.zeros_like(one), np.zeros(levels), np.ones(levels + 1)
    listed = room, room.copy(), left, least, most, factor, has_choice
    shares, pressed_pj = np.zeros((levels, dims)), np.zeros(levels)
    return Walk(place, ends, *listed, bound_pj, entered_pj, steps, shares, pressed_pj, pending, free)
