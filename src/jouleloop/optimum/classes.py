"""Instances that ask for one box at levels that keep nothing of a data space: often fewer than *bypass* allows.

`docs/search.md` states the lemma: *classes of equal boxes*.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.arrays import Case, Path
from jouleloop.optimum.words import count_steps, find_reach, offsets_of


@njit
def _counts(case: Case, v: int) -> bool:
    """Whether the lemma holds for a data space, all of which is reused, and may be made use of.

    Certificates do without: where all is noted, there is no limit.
    """
    if case.tables.limit[0] == math.inf:
        return False
    for k in range(case.keep.shape[0]):
        reuse = case.target.layer.reuse[k, v]
        if reuse.spreading or reuse.no_multicast or reuse.no_temporal_reuse or reuse.no_coalesce:
            return False
    return True


@njit
def gained(words: float, gain: float) -> float:
    """Return so many times the words that are asked for, at least."""
    return words if gain == 1.0 else float(math.floor(words * gain * (1.0 - 1e-12)))


@njit
def _apart(case: Case, coef: Ints, extent: Ints, factors: Ints) -> float:
    """Return how many times the offsets of the widest dimension there are along a rank."""
    widest = 1
    for d in range(coef.shape[0]):
        if coef[d] != 0:
            widest = max(widest, factors[d])
    return offsets_of(coef, extent, factors, case.grid.axis, True) / widest


@njit
def known_gain(case: Case, path: Path, level: int, v: int, extent: Ints, total: int) -> float:
    """Return how many times the words are asked for at a boundary that *bypass* says, at least.

    The first ``total`` loops of the path are outside it, tiles of these extents inside, and the level inside keeps
    nothing of the data space.
    """
    coef, factors, words = case.target.layer.coef[v], case.unrolled.factors[level], path.words[0]
    apart = 1.0
    for r in range(coef.shape[0] if path.shares[v] == 1 else 0):
        apart *= _apart(case, coef[r], extent, factors)
    if apart == 1.0 or not _counts(case, v):
        return 1.0
    find_reach(coef, case.unrolled.side[v], extent, factors, path.reach)
    count_steps(case, path, level, v, extent, total, -1)
    linked = words.moved + words.standing
    return float(apart * (words.plain + linked) / (words.plain + apart * linked))
