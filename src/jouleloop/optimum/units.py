"""What share of the words that their steps need compute units surely ask for, whatever links serve.

`docs/proof.md` states the lemma: *compute units*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints, Records
from jouleloop.optimum.words import common, instances_at


@njit
def sure_shares(
    coef: Ints, side: Records, factors: Ints, bounds: Ints, rest: Ints, merged: bool
) -> tuple[float, float, float, float]:
    """Return what units ask for, at least: words, and shares of the steps in which all ask, and of words in two kinds.

    The words are those that the units below one instance hold together in a step. The first two shares are of steps
    beyond the trailing loops that leave the data space in place, the last of the words in those.
    Of the steps of the innermost loop that moves a window all but one in its end are its own. In the others it falls
    back. A step asks for the words that no unit held before.

    Parameters
    ----------
    coef, side
        Of one data space.
    factors, bounds, rest
        By dimension the spatial factors next to the units, all indices, and what loops outside cover at most.
    merged
        Whether merged unrollings may have more units that hold one word.
    """
    words, stands, left = 1.0, 0.0 if merged else 1.0, np.ones(coef.shape[0])
    for r in range(coef.shape[0]):
        units = instances_at(coef[r], factors)
        words *= (units > 0).sum()
        stands *= (units == 1).sum() / (units > 0).sum()
        left[r] = _left_share(units, _step_of(coef[r], factors, rest))
    for d in range(factors.shape[0]):
        if side[d].idle and factors[d] > 1:
            stands = 0.0
    plain = moved = 1.0
    for d in range(factors.shape[0]):
        r = side[d].halo
        if r < 0 or rest[d] == 1:
            continue
        own, share = 1.0 - 1.0 / _least_prime(rest[d]), _new_share(coef[r], factors, d, bounds[d] // factors[d])
        stays = _stays(coef[r], factors, bounds, rest, d)
        # A rank may stay while others move or nothing does.
        moves, still = left[r], min(left.min(), stands)
        plain = min(
            plain,
            (own if share == 1.0 else 0.0)
            + (1.0 - own) * ((1.0 - stays if moves == 1.0 else 0.0) + (stays if still == 1.0 else 0.0)),
        )
        moved = min(moved, own * share + (1.0 - own) * ((1.0 - stays) * moves + stays * still))
    return words, plain, moved, stands


@njit
def _stays(row: Ints, factors: Ints, bounds: Ints, rest: Ints, d: int) -> float:
    """Of the steps outside the innermost loop, which is over ``d``, the share in which a rank may stay, at most."""
    share, others = 0.0, 0
    for e in range(row.shape[0]):
        if e == d or row[e] == 0 or rest[e] == 1:
            continue
        others += 1
        if _cancel(row, factors, bounds, e, d):
            share = 1.0
        elif _cancel(row, factors, bounds, d, e):
            # Only outside a loop of both.
            share = max(share, 1.0 / _least_prime(rest[e]))
    return share if others < 2 else 1.0


@njit
def _cancel(row: Ints, factors: Ints, bounds: Ints, on: int, back: int) -> bool:
    """Whether a dimension may go on by as much as another falls back, which nothing else moves along the rank.

    Of n iterations, p the least prime of n, it goes on by n / p at most, and falls back by p - 1 at least.
    """
    ahead, behind = bounds[on] // factors[on], bounds[back] // factors[back]
    one, other = abs(row[on]) * factors[on], abs(row[back]) * factors[back]
    both = common(one, other)
    least = (_least_prime(behind) - 1 + one // both - 1) // (one // both)
    return bool(least * (other // both) <= ahead // _least_prime(ahead) and least * (one // both) < behind)


@njit
def _step_of(row: Ints, factors: Ints, rest: Ints) -> int:
    """Return what divides all moves of loops along a rank; 0 without loops."""
    step = 0
    for d in range(row.shape[0]):
        if rest[d] > 1:
            step = common(step, abs(row[d]) * factors[d])
    return int(step)


@njit
def _share_of(units: Ints, move: int) -> float:
    """Share of the words along a rank that none held a move ago."""
    words = new = 0
    for i in range(units.shape[0]):
        if units[i] > 0:
            words += 1
            new += i + move >= units.shape[0] or units[i + move] == 0
    return float(new / words)


@njit
def _left_share(units: Ints, step: int) -> float:
    """Share of the words along a rank that no unit held before it moved by some steps, at least."""
    share, move = 1.0, step
    while 0 < move < units.shape[0]:
        share, move = min(share, _share_of(units, move)), move + step
    return share


@njit
def _new_share(row: Ints, factors: Ints, d: int, outside: int) -> float:
    """Share of the words along a rank that no unit held before a step of the innermost loop, over ``d``, at least.

    What is unrolled further out may stand inside that loop.
    """
    units, share = instances_at(row, factors), 1.0
    for beyond in range(1, outside):
        if outside % beyond == 0:
            share = min(share, _share_of(units, abs(row[d]) * factors[d] * beyond))
    return share


@njit
def _least_prime(number: int) -> int:
    """Return the least prime of a number above 1."""
    prime = 2
    while number % prime != 0:
        prime += 1
    return prime
