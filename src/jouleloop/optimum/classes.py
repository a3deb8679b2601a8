"""Instances that ask for one box at levels that keep nothing of a data space: often fewer than *bypass* allows.

`docs/search.md` states the lemma: *classes of equal boxes*.
"""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints
from jouleloop.optimum.arrays import Case, Path
from jouleloop.optimum.words import count_steps, find_reach, offsets_of


@njit
def _reuses_all(case: Case, v: int) -> bool:
    """Whether all levels reuse all of a data space."""
    for k in range(case.keep.shape[0]):
        reuse = case.target.layer.reuse[k, v]
        if reuse.spreading or reuse.no_multicast or reuse.no_temporal_reuse or reuse.no_coalesce:
            return False
    return True


@njit
def known_gain(case: Case, path: Path, level: int, v: int, extent: Ints, total: int) -> float:
    """Return how many times the words are asked for at a boundary that *bypass* says, at least.

    The first ``total`` loops of the path are outside it, tiles of these extents inside, and the level inside keeps
    nothing of the data space. Certificates do without: where all is noted, there is no limit.
    """
    coef, factors, words = case.target.layer.coef[v], case.unrolled.factors[level], path.words[0]
    apart = 1.0
    for r in range(coef.shape[0] if path.shares[v] == 1 else 0):
        widest = 1
        for d in range(coef.shape[1]):
            if coef[r, d] != 0:
                widest = max(widest, factors[d])
        apart *= offsets_of(coef[r], extent, factors, case.grid.axis, True) / widest
    if apart == 1.0 or case.tables.limit[0] == math.inf or not _reuses_all(case, v):
        return 1.0
    find_reach(coef, case.unrolled.side[v], extent, factors, path.reach)
    count_steps(case, path, level, v, extent, total, -1)
    linked = words.moved + words.standing
    return float(apart * (words.plain + linked) / (words.plain + apart * linked))


@njit
def passing_pj(case: Case, path: Path, level: int) -> float:
    """Energy [pJ] that known gains add, at least, to what is asked for inside the tile of a level.

    All loops outside the level are placed. What is asked for is no less than every word once.
    """
    total_pj = 0.0
    for v in range(case.keep.shape[1]):
        child = level - 1
        while child >= 0 and case.unrolled.edge[child, v].parent < 0:
            child -= 1
        gain = 1.0
        for k in range(level + 1, case.unrolled.edge[child, v].parent + 1):
            gain *= path.gain[k, v]
        rate = case.unrolled.rate[child, v]
        # Rounding takes a vector and a word at most.
        total_pj += max(0.0, (gain - 1.0) * rate.sure_vectors - 2.0) * rate.ask_pj
    return total_pj
