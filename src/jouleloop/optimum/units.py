"""What share of the words that their steps need compute units surely ask for, whatever links serve.

`docs/proof.md` states the lemma: *compute units*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Records
from jouleloop.optimum.words import instances_at, served_at


@njit
def words_together(coef: Ints, factors: Ints) -> float:
    """Return the words of a data space that the units below one instance hold together in a step."""
    words = 1.0
    for r in range(coef.shape[0]):
        words *= (instances_at(coef[r], factors) > 0).sum()
    return words


@njit
def sure_shares(
    coef: Ints, side: Records, factors: Ints, bounds: Ints, rest: Ints, merged: bool
) -> tuple[float, float, float, float]:
    """Return what units ask for, at least: words, and shares of the steps in which all ask, and of words in two kinds.

    The words are those of `words_together`. The first two shares are of steps
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
    stands, reach = 0.0 if merged else 1.0, 0
    for r in range(coef.shape[0]):
        reach = max(reach, (np.abs(coef[r]) * (factors - 1)).sum())
    new = np.ones((coef.shape[0], 1 + reach))
    for r in range(coef.shape[0]):
        units = instances_at(coef[r], factors)
        stands *= (units == 1).sum() / (units > 0).sum()
        for move in range(1, units.shape[0]):
            new[r, move] = _share_of(units, move)
    for d in range(factors.shape[0]):
        if side[d].idle and factors[d] > 1:
            stands = 0.0
    plain, moved = shares_of_steps(coef, side, factors, bounds, rest, stands, new, -1)
    return words_together(coef, factors), plain, moved, stands


@njit
def shares_of_steps(
    coef: Ints, side: Records, factors: Ints, bounds: Ints, rest: Ints, stands: float, new: Floats, innermost: int
) -> tuple[float, float]:
    """Return the first two shares of `sure_shares`, of what steps leave that stand or move a rank.

    ``stands`` and ``new`` are as in `UnitLinks`, of one data space; ``innermost`` is the shared dimension whose loop is
    the innermost that moves it, -1 for any.
    """
    worst = min(1.0, new.min())
    plain = moved = 1.0
    still = min(worst, stands)
    for d in range(factors.shape[0]):
        r = side[d].halo
        if r < 0 or rest[d] == 1 or innermost not in (-1, d):
            continue
        step, outside = coef[r, d] * factors[d], bounds[d] // factors[d]
        own, share = 1.0 - 1.0 / _least_prime(rest[d]), _new_share(new[r], step, outside)
        back, stays = _shares_back(coef[r], factors, bounds, rest, d, new[r])
        # A rank may stay while others move or nothing does.
        sure = (1.0 - stays if back == 1.0 else 0.0) + (stays if still == 1.0 else 0.0)
        plain = min(plain, (own if share == 1.0 else 0.0) + (1.0 - own) * sure)
        moved = min(moved, own * share + (1.0 - own) * ((1.0 - stays) * back + stays * min(still, back)))
    return plain, moved


@njit
def _shares_back(row: Ints, factors: Ints, bounds: Ints, rest: Ints, d: int, new: Floats) -> tuple[float, float]:
    """Of the steps outside the innermost loop, which is over ``d``, that falls back unless it goes on itself.

    Return the share of the words along the rank that no unit held before, at least, and of steps in which the rank may
    stay, at most.
    """
    e, others = d, 0
    for k in range(row.shape[0]):
        if k != d and row[k] != 0 and rest[k] > 1:
            e, others = k, others + 1
    steps, times = np.abs(row) * factors, bounds // factors
    reached = np.zeros(new.shape[0], np.bool_)
    reached[:] = others > 1
    by_other, by_own = others > 1, False
    ahead, back = _ways(times[d])
    other_ahead, other_back = _ways(times[e]) if others == 1 else (0, 0)
    for x in range(1, 1 + max(ahead, back) if others < 2 else 0):
        for y in range(1 + max(other_ahead, other_back)):
            one, other = steps[d] * x, steps[e] * y
            apart, both = abs(one - other), one + other
            on, other_on = x <= ahead and y <= other_back, x <= back and 0 < y <= other_ahead
            by_own |= apart == 0 and on
            by_other |= apart == 0 and other_on
            if (on or other_on) and apart < reached.shape[0]:
                reached[apart] = True
            if x <= back and y <= other_back and both < reached.shape[0]:
                reached[both] = True
    share = 1.0
    for move in range(1, reached.shape[0]):
        if reached[move]:
            share = min(share, new[move])
    # By the own dimension only outside a loop of both.
    return share, 1.0 if by_other else (1.0 / _least_prime(rest[e]) if by_own else 0.0)


@njit
def _ways(times: int) -> tuple[int, int]:
    """Return how far a dimension of so many iterations goes on in a step, and falls back, at most: one of each loop."""
    prime = _least_prime(times)
    return times // prime, (times - 1) // (prime - 1)


@njit
def _share_of(units: Ints, move: int) -> float:
    """Share of the words along a rank that none held a move ago."""
    words = (units > 0).sum()
    return float((words - (served_at(units, move) > 0).sum()) / words)


@njit
def _new_share(new: Floats, step: int, outside: int) -> float:
    """Share of the words along a rank that no unit held before a step of the innermost loop, at least.

    What is unrolled further out may stand inside that loop: it moves by so many steps as divide what is outside.
    """
    share = 1.0
    for beyond in range(1, outside):
        move = abs(step) * beyond
        if move >= new.shape[0]:
            break
        if outside % beyond == 0:
            share = min(share, new[move])
    return share


@njit
def _least_prime(number: int) -> int:
    """Return the least prime of a number above 1."""
    prime = 2
    while number % prime != 0:
        prime += 1
    return prime
