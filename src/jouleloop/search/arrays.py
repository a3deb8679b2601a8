"""The arrays that the parts of the search exchange, grouped into named tuples; level 0 is the innermost storage level."""

from typing import NamedTuple

import numpy as np

from jouleloop.model.kernel import Bools, Floats, Ints

#: Most distinct primes of one dimension (any bound up to ten million has fewer).
MAX_PRIMES = 9

#: What is minimised: energy; cycles, then energy, under an energy limit; energy-delay product; or, under limits on energy
#: and product, cycles, keeping the first nest in canonical order.
ENERGY, DELAY, PRODUCT, CANONICAL = 0, 1, 2, 3
#: Relative slack that covers rounding of double-precision sums; results closer than this are ties.
SLACK = 1e-12
#: Places of the incumbent: energy [pJ], cycles, energy x cycles, energy limit, product limit.
BEST_PJ, BEST_CYCLES, BEST_PRODUCT, LIMIT_PJ, LIMIT_PRODUCT, BEST = range(6)
#: Places of the counters: nests evaluated; nodes entered; nodes cut by a bound, by a capacity; evaluations allowed;
#: whether that ended the search.
VISITED, NODES, CUT_BOUND, CUT_CAPACITY, BUDGET, STOPPED, COUNTERS = range(7)


class SlotArrays(NamedTuple):
    """Temporal slots, shape (levels, dimensions): fixed factors (0: open), limits, and rank of the loop order."""

    fixed: Ints
    most: Ints
    least: Ints
    rank: Ints


class Runs(NamedTuple):
    """Loops that leave a data space where it is, and so may trail as one run.

    Attributes
    ----------
    kind
        By dimension: dimensions of one kind share a data space that they do not move; -1 where they move all.
    idle
        By data space and dimension: whether the dimension does not move the data space.
    """

    kind: Ints
    idle: Bools


class Grid(NamedTuple):
    """The lattice of temporal tiles under one unrolling, and on it the states (tile, start of the trailing run).

    Attributes
    ----------
    rest
        What temporal loops must cover, by dimension.
    count, divisor
        Number of divisors by dimension, and the divisors in ascending order.
    radix
        Weight of a dimension's divisor index in the lattice index.
    primes, down
        For each divisor the number of its primes, and the index of the divisor less one such prime.
    pairs, pair_of, pair_start, pair_now
        Pairs of divisors, the second dividing the first: their number by dimension; the pair of two divisors or -1; the
        first and the second of each.
    pair_down
        For each pair the pair with one prime less in the second, in the order of ``down``.
    state_radix
        By kind and dimension: weight in the state index of that kind, of a pair where the dimension is of the kind, else
        of a divisor.
    states
        Number of states by kind; the last entry is for dimensions of no kind.
    """

    rest: Ints
    count: Ints
    divisor: Ints
    radix: Ints
    primes: Ints
    down: Ints
    pairs: Ints
    pair_of: Ints
    pair_start: Ints
    pair_now: Ints
    pair_down: Ints
    state_radix: Ints
    states: Ints


class Unrolled(NamedTuple):
    """What one unrolling fixes before any temporal loop is chosen.

    Attributes
    ----------
    inside
        Unrolled indices inside each level, its own fan-out included, shape (levels, dimensions).
    instances
        Utilized instances of each level.
    parent
        Next kept level outside, or -1, shape (levels, data spaces).
    spread, spread_linked
        Words asked of the parent per word into the level, without and at best with mesh links.
    link_rank
        By data space and dimension: 1 where loops of the dimension can cause links.
    partition
        Words that an instance of a level ever sees, shape (levels, data spaces).
    halo
        By data space and dimension: the rank it shares with another dimension of bound above 1, or -1.
    """

    inside: Ints
    instances: Ints
    parent: Ints
    spread: Floats
    spread_linked: Floats
    link_rank: Ints
    partition: Floats
    halo: Ints


class Tables(NamedTuple):
    """Lower bounds [pJ] of one unrolling.

    Attributes
    ----------
    enter
        Shape (levels, dimensions, states): least energy from the boundary below a level inward, given the innermost loop
        outside it, the tile there and where the trailing run of that loop started. Infinite where nothing fits.
    enter_whole
        By level: the same where no loop is outside.
    ahead
        Shape (levels, points): least energy from a level's loops inward, given its tile, where its innermost run starts at
        this level.
    along
        Shape (levels, kinds, states): the same where all its loops go on with the run that trails outside it.
    closure
        Work array, shape (states,).
    """

    enter: Floats
    enter_whole: Floats
    ahead: Floats
    along: Floats
    closure: Floats


class Arrangements(NamedTuple):
    """Spatial loops of every admissible arrangement, shape (arrangements, levels, MAX_LOOPS), outermost first."""

    count: Ints
    dim: Ints
    bound: Ints
    axis: Ints


class Found(NamedTuple):
    """The best nest so far: temporal loops by level, outermost first, and its arrangement (-1: none)."""

    count: Ints
    dim: Ints
    bound: Ints
    arrangement: Ints


def new_best(limit_pj: float = np.inf, limit_product: float = np.inf) -> Floats:
    """Return an incumbent that anything improves on, under limits on energy [pJ] and energy-delay product."""
    best = np.empty(BEST)
    best[BEST_PJ] = np.inf
    best[BEST_CYCLES] = np.inf
    best[BEST_PRODUCT] = np.inf
    best[LIMIT_PJ] = limit_pj
    best[LIMIT_PRODUCT] = limit_product
    return best


def new_counters(budget: int | None) -> Ints:
    """Return counters at zero that allow ``budget`` evaluations."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[BUDGET] = np.iinfo(np.int64).max if budget is None else budget
    return counters
