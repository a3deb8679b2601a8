"""What the crossing of one boundary costs, from the words that cross it: shared by bounds and by the exact descent."""

import math

from jouleloop.jit import njit
from jouleloop.model.arrays import BLOCK_WORDS, CLUSTERS, READ_PJ, UPDATE_PJ, WRITE_PJ, Floats
from jouleloop.optimum.arrays import (
    AGAIN_PJ,
    ASK_BLOCK,
    ASK_FREE,
    ASK_PJ,
    FILL_BLOCK,
    FILL_FREE,
    FILL_PJ,
    MOVED,
    NET_PJ,
    PARTITIONED,
    PASS_BLOCK,
    PASS_FIRST,
    PASS_NEXT,
    PASS_PJ,
    PASS_SHARE,
    PLAIN,
    RATE,
    SHARERS,
    STANDING,
    Unrolled,
)


@njit
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair below the next integer is rounding, not a word."""
    return float(math.ceil(words / block_words - 1e-9))


@njit
def crossing_pj(rate: Floats, child: int, v: int, asked: float, filled: float, network_pj: float) -> float:
    """Energy [pJ] of one data space's traffic between a level and the next kept level outside it.

    Parameters
    ----------
    rate
        See `Unrolled.rate`; ``child`` is the level filled, -1 for the compute units.
    asked, filled
        Words per instance of the child: those that the parent is asked for, and those counted as fills.
    network_pj
        See `network_pj`.
    """
    total = vectors(asked, rate[child, v, ASK_BLOCK]) * rate[child, v, ASK_PJ]
    again = asked - rate[child, v, ASK_FREE]
    if again > 0.0 and rate[child, v, AGAIN_PJ] > 0.0:
        total += vectors(again, rate[child, v, ASK_BLOCK]) * rate[child, v, AGAIN_PJ]
    anew = filled - rate[child, v, FILL_FREE]
    if anew > 0.0:
        total += vectors(anew, rate[child, v, FILL_BLOCK]) * rate[child, v, FILL_PJ]
    passing = int(rate[child, v, PASS_FIRST])
    while passing > 0:
        # Timeloop rounds to the nearest word; a hair below half a word is rounding, not half a word.
        row = rate[passing - 1, v]
        passed = math.floor(asked / row[PASS_SHARE] + 0.499999)
        total += vectors(passed, row[PASS_BLOCK]) * row[PASS_PJ]
        passing = int(row[PASS_NEXT])
    return float(total + network_pj)


@njit(inline="always")
def network_pj(rate: Floats, child: int, v: int, plain: float, moved: float, standing: float) -> float:
    """Energy [pJ] that networks charge for a crossing, at least, from its words by kind of step (see `PLAIN`)."""
    return float(
        plain * rate[child, v, NET_PJ + PLAIN]
        + moved * rate[child, v, NET_PJ + MOVED]
        + standing * rate[child, v, NET_PJ + STANDING]
    )


@njit(inline="always")
def _rounded(sharers: float) -> float:
    """Half a word of each of so many instances that share what they hold."""
    return sharers / 2 if sharers > 1.0 else 0.0


@njit
def fill_rate(
    rate: Floats, spec: Floats, unrolled: Unrolled, v: int, read_write: bool, elided: bool, child: int, parent: int
) -> None:
    """Write what a crossing from ``parent`` into ``child`` (-1: the compute units) costs.

    A read-only word is read from the parent and written to the child. A written word updates the parent, and is read
    back and filled from the second time on; before the first fills were elided, from the first time. Instances that
    share what they hold are asked for a part, and filled with one; what is left of that beyond a partition is rounded,
    by half a word at most.
    """
    for place in range(RATE):
        rate[child, v, place] = 0.0
    rate[child, v, FILL_BLOCK] = 1.0
    sharing = min(unrolled.instances[parent], spec[parent, CLUSTERS])
    rate[child, v, ASK_BLOCK] = spec[parent, BLOCK_WORDS] * unrolled.edge[parent + 1, v, SHARERS]
    rate[child, v, ASK_FREE] = unrolled.edge[parent, v, PARTITIONED] + _rounded(unrolled.edge[parent + 1, v, SHARERS])
    if read_write:
        rate[child, v, ASK_PJ] = spec[parent, UPDATE_PJ] * sharing
        rate[child, v, AGAIN_PJ] = spec[parent, READ_PJ] * sharing
    else:
        rate[child, v, ASK_PJ] = spec[parent, READ_PJ] * sharing
    if child >= 0:
        sharing = min(unrolled.instances[child], spec[child, CLUSTERS])
        rate[child, v, FILL_BLOCK] = spec[child, BLOCK_WORDS] * unrolled.edge[child + 1, v, SHARERS]
        rate[child, v, FILL_PJ] = spec[child, WRITE_PJ] * sharing
        if read_write and elided:
            rate[child, v, FILL_FREE] = unrolled.edge[child, v, PARTITIONED]
            rate[child, v, FILL_FREE] += _rounded(unrolled.edge[child + 1, v, SHARERS])
