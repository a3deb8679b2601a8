"""What share of their steps compute units surely ask for: the innermost loop's moves are known, and many.

`docs/proof.md` states the lemma: *compute units*.
"""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Ints, Records


@njit
def sure_share(
    coef: Ints, side: Records, factors: Ints, bounds: Ints, rest: Ints, chains: float
) -> tuple[float, float]:  # fmt: skip
    """Share of the steps in which all units ask, at least, and of the words asked for; steps that stand first apart.

    Of the steps of the innermost loop that moves a window all but one in its end are its own. Such a step asks for the
    words that no unit held before. Where no other loop moves the rank, it does not stand outside that loop.

    Parameters
    ----------
    coef, side
        Of one data space.
    factors, bounds, rest
        By dimension the spatial factors next to the units, all indices, and what loops outside cover at most.
    chains
        Share of the different words at ends of chains, whatever the move.
    """
    sure = asked = 1.0
    for d in range(factors.shape[0]):
        if side[d].halo < 0 or rest[d] == 1:
            continue
        row, several = coef[side[d].halo], False
        for e in range(factors.shape[0]):
            several = several or (e != d and row[e] != 0 and rest[e] > 1)
        held = _held(row, factors)
        share = 1.0
        outside = bounds[d] // factors[d]
        for beyond in range(1, outside):
            move = abs(row[d]) * factors[d] * beyond
            if move >= held.shape[0]:
                break
            # What is unrolled further out may stand inside the loop.
            if outside % beyond == 0:
                share = min(share, _new_share(held, move))
        own = 1.0 - 1.0 / _least_prime(rest[d])
        sure = min(sure, own if share == 1.0 else 0.0)
        asked = min(asked, own * share if several else max(own * share, min(share, chains)))
    return sure, asked


@njit
def _held(row: Ints, factors: Ints) -> Bools:
    """Return which places along a rank units hold in one step, the first being 0."""
    length = 1
    for d in range(row.shape[0]):
        length += abs(row[d]) * (factors[d] - 1)
    held = np.zeros(length, np.bool_)
    held[0] = True
    far = 0
    for d in range(row.shape[0]):
        step = abs(row[d])
        if step == 0 or factors[d] == 1:
            continue
        for i in range(far, -1, -1):
            if held[i]:
                for n in range(1, factors[d]):
                    held[i + n * step] = True
        far += step * (factors[d] - 1)
    return held


@njit
def _new_share(held: Bools, move: int) -> float:
    """Share of the places held after a move that none held before it."""
    new = 0
    for i in range(held.shape[0]):
        if held[i] and not (i + move < held.shape[0] and held[i + move]):
            new += 1
    return new / held.sum()


@njit
def _least_prime(number: int) -> int:
    """Return the least prime of a number above 1."""
    prime = 2
    while number % prime != 0:
        prime += 1
    return prime
