"""Instances that ask for one box at levels that keep nothing of a data space: often fewer than *bypass* allows.

`docs/search.md` states the lemma: *classes of equal boxes*.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.arrays import Case, Path
from jouleloop.optimum.words import count_steps, distinct_sums, find_reach


@njit
def passes_windows(case: Case, first: int, last: int, v: int) -> bool:
    """Whether two dimensions that move one rank are unrolled at one of these levels, all of which reuse all.

    Certificates do without the lemma: where all is noted, there is no limit.
    """
    coef, factors = case.target.layer.coef[v], case.unrolled.factors
    if case.tables.limit[0] == math.inf:
        return False
    for k in range(case.keep.shape[0]):
        reuse = case.target.layer.reuse[k, v]
        if reuse.spreading or reuse.no_multicast or reuse.no_temporal_reuse or reuse.no_coalesce:
            return False
    for outer in range(first, last + 1):
        for r in range(coef.shape[0]):
            unrolled = 0
            for d in range(coef.shape[1]):
                unrolled += coef[r, d] != 0 and factors[outer, d] > 1
            if unrolled == 2:
                return True
    return False


@njit
def gained(words: float, gain: float) -> float:
    """Return so many times the words that are asked for, at least."""
    return words if gain == 1.0 else float(math.floor(words * gain * (1.0 - 1e-12)))


@njit
def _apart(coef: Ints, extent: Ints, factors: Ints) -> float:
    """Return how many times the offsets of the widest dimension there are along a rank, of two that are unrolled."""
    first = second = widest = 1
    one = other = count = 0
    for d in range(coef.shape[0]):
        if coef[d] != 0 and factors[d] > 1:
            first, one, second, other = second, other, factors[d], abs(coef[d]) * extent[d]
            widest, count = max(widest, factors[d]), count + 1
    return distinct_sums(first, second, one, other) / widest if count == 2 else 1.0


@njit
def known_gain(case: Case, path: Path, level: int, v: int, extent: Ints, total: int) -> float:
    """Return how many times the words are asked for at a boundary that *bypass* says, at least.

    The first ``total`` loops of the path are outside it, tiles of these extents inside, and the level inside keeps
    nothing of the data space.
    """
    if not passes_windows(case, level, level, v):
        return 1.0
    coef, factors, words = case.target.layer.coef[v], case.unrolled.factors[level], path.words[0]
    apart = 1.0
    for r in range(coef.shape[0]):
        apart *= _apart(coef[r], extent, factors)
    find_reach(coef, case.unrolled.side[v], extent, factors, path.reach)
    count_steps(case, path, level, v, extent, total, -1)
    linked = words.moved + words.standing
    return float(apart * (words.plain + linked) / (words.plain + apart * linked))


@njit
def least_gain(case: Case, outer: int, v: int) -> float:
    """Return the same of a level further out, over all its tiles that hold the tile at hand (`Scratch.place`)."""
    gain = 1.0
    for r in range(case.target.layer.coef.shape[1]):
        least = _least_apart(case, outer, case.target.layer.coef[v, r])
        if least == 0.0:
            return 1.0
        gain *= least
    return gain


@njit
def _least_apart(case: Case, outer: int, coef: Ints) -> float:
    """Return `_apart` along a rank at a level over all its tiles that hold the one at hand; 0 where links may serve."""
    place, factors, extent = case.scratch.place, case.unrolled.factors[outer], case.scratch.line[2]
    moving = -1
    for d in range(coef.shape[0]):
        extent[d] = place[d].tile_size * case.unrolled.inside[outer - 1, d]
        if coef[d] != 0 and place[d].outside > 1:
            if moving >= 0:
                return 0.0
            moving = d
    if moving < 0:
        return _apart(coef, extent, factors)
    axis, divisor, least = case.grid.axis[moving], case.grid.divisor[moving], math.inf
    inner, tile_size = extent[moving], place[moving].tile_size
    for i in range(axis.count):
        if divisor[i].value % tile_size != 0:
            continue
        extent[moving] = inner * (divisor[i].value // tile_size)
        if i < axis.count - 1 and abs(coef[moving]) * extent[moving] * factors[moving] <= _farthest(
            coef, extent, factors
        ):
            return 0.0
        least = min(least, _apart(coef, extent, factors))
    return float(least)


@njit
def _farthest(coef: Ints, extent: Ints, factors: Ints) -> int:
    """Return how far apart two instances below a level can be along a rank."""
    farthest = 0
    for d in range(coef.shape[0]):
        farthest += abs(coef[d]) * extent[d] * (factors[d] - 1)
    return int(farthest)
