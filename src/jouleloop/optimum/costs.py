"""What the crossing of one boundary costs, from the words that cross it: shared by bounds and by the exact descent."""

import math
from collections.abc import Sequence

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Encoded, Record, Records
from jouleloop.optimum.arrays import MOVED, PLAIN, Unrolled


@njit
def vectors(words: float, block_words: float) -> float:
    """Vector accesses for a number of words; a hair below the next integer is rounding, not a word."""
    return float(math.ceil(words / block_words - 1e-9))


@njit
def crossing_pj(rate: Records, child: int, v: int, asked: float, filled: float, network_pj: float) -> float:
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
    total = vectors(asked, rate[child, v].ask_block) * rate[child, v].ask_pj
    again = asked - rate[child, v].ask_free
    if again > 0.0 and rate[child, v].again_pj > 0.0:
        total += vectors(again, rate[child, v].ask_block) * rate[child, v].again_pj
    anew = filled - rate[child, v].fill_free
    if anew > 0.0:
        total += vectors(anew, rate[child, v].fill_block) * rate[child, v].fill_pj
    passing = rate[child, v].pass_first
    while passing > 0:
        # Timeloop rounds to the nearest word; a hair below half a word is rounding, not half a word.
        row = rate[passing - 1, v]
        passed = math.floor(asked / row.pass_share + 0.499999)
        total += vectors(passed, row.pass_block) * row.pass_pj
        passing = row.pass_next
    return float(total + network_pj)


@njit
def crossing_rate_pj(rate: Records, child: int, v: int, asked: float, filled: float) -> float:
    """Energy [pJ] as `crossing_pj` without networks, at least: linear in words, of which rounding takes one off."""
    row = rate[child, v]
    total = (asked - 1.0) / row.ask_block * row.ask_pj + (asked - 1.0 - row.ask_free) / row.ask_block * row.again_pj
    return float(total + (filled - 1.0 - row.fill_free) / row.fill_block * row.fill_pj)


@njit(inline="always")
def network_pj(rate: Records, child: int, v: int, plain: float, moved: float) -> float:
    """Energy [pJ] that networks charge for a crossing, at least, from its words by kind of step (see `PLAIN`)."""
    return float(plain * rate[child, v].net_pj[PLAIN] + moved * rate[child, v].net_pj[MOVED])


@njit(inline="always")
def _rounded(sharers: float) -> float:
    """Half a word of each of so many instances that share what they hold."""
    return sharers / 2 if sharers > 1.0 else 0.0


@njit
def clear_rate(rate: Record) -> None:
    """Let a crossing cost nothing."""
    rate.ask_block = rate.fill_block = 1.0
    rate.ask_pj = rate.again_pj = rate.ask_free = rate.fill_pj = rate.fill_free = 0.0
    rate.pass_first = rate.pass_next = 0
    rate.pass_share = rate.pass_block = rate.pass_pj = 0.0
    rate.net_pj[:] = 0.0
    rate.sure_vectors = 0.0


@njit
def fill_rate(target: Encoded, unrolled: Unrolled, v: int, child: int, parent: int) -> None:
    """Write what a crossing from ``parent`` into ``child`` (-1: the compute units) costs.

    A read-only word is read from the parent and written to the child. A written word updates the parent, and is read
    back and filled from the second time on; before the first fills were elided, from the first time. Instances that
    share what they hold are asked for a part, and filled with one; what is left of that beyond a partition is rounded,
    by half a word at most.
    """
    rate, levels, read_write = unrolled.rate, target.hardware.levels, target.layer.read_write[v]
    clear_rate(rate[child, v])
    sharing = min(unrolled.instances[parent], levels[parent].clusters)
    rate[child, v].ask_block = levels[parent].block_words * unrolled.edge[parent + 1, v].sharers
    rate[child, v].ask_free = unrolled.edge[parent, v].partitioned + _rounded(unrolled.edge[parent + 1, v].sharers)
    if read_write:
        rate[child, v].ask_pj = levels[parent].update_pj * sharing
        rate[child, v].again_pj = levels[parent].read_pj * sharing
    else:
        rate[child, v].ask_pj = levels[parent].read_pj * sharing
    if child >= 0:
        sharing = min(unrolled.instances[child], levels[child].clusters)
        rate[child, v].fill_block = levels[child].block_words * unrolled.edge[child + 1, v].sharers
        rate[child, v].fill_pj = levels[child].write_pj * sharing
        if read_write and target.elided:
            rate[child, v].fill_free = unrolled.edge[child, v].partitioned
            rate[child, v].fill_free += _rounded(unrolled.edge[child + 1, v].sharers)


def anywhere(target: Encoded, alone: Bools, columns: Sequence[Bools]) -> tuple[float, float]:
    """Return energy [pJ] and temporal iterations of any mapping, at least (lemma *unrollings that were not listed*).

    All operations, and words once through the outermost level of data spaces that each column keeps there; ``alone``
    tells the dimensions that move a rank by themselves, shape (data spaces, dimensions).
    """
    levels, bounds = target.hardware.levels, target.layer.bounds.astype(float)
    macs, top = float(bounds.prod()), levels[-1]
    total = macs * target.compute_pj
    for v, column in enumerate(columns):
        if column[:, -1].all():
            cost = top["update_pj" if target.layer.read_write[v] else "read_pj"]
            total += vectors(float(bounds[alone[v]].prod()), top["block_words"]) * cost
    return total, macs / float((levels["fanout_x"] * levels["fanout_y"]).prod())
