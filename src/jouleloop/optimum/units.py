"""What share of the words that their steps need compute units surely ask for, whatever links serve.

`docs/proof.md` states the lemma: *compute units*.
"""

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints, Records
from jouleloop.optimum.words import instances_at, served_at


@njit
def sure_shares(
    coef: Ints, side: Records, factors: Ints, bounds: Ints, rest: Ints, chains: float, merged: bool
) -> tuple[float, float, float]:  # fmt: skip
    """Return the share of steps in which all ask, at least, and of words asked for, by steps that stand first or not.

    The first two are of steps beyond the trailing loops that leave the data space in place, the last of those.
    Of the steps of the innermost loop that moves a window all but one in its end are its own. Such a step asks for the
    words that no unit held before.

    Parameters
    ----------
    coef, side
        Of one data space.
    factors, bounds, rest
        By dimension the spatial factors next to the units, all indices, and what loops outside cover at most.
    chains
        Share of the different words at ends of chains, whatever the move.
    merged
        Whether merged unrollings may have more units that hold one word.
    """
    plain = moved = 1.0
    single = 0.0 if merged else 1.0
    for r in range(coef.shape[0]):
        single *= _single_share(instances_at(coef[r], factors))
    for d in range(factors.shape[0]):
        if side[d].idle and factors[d] > 1:
            single = 0.0
    for d in range(factors.shape[0]):
        if side[d].halo < 0 or rest[d] == 1:
            continue
        row, cancels = coef[side[d].halo], False
        for e in range(factors.shape[0]):
            cancels = cancels or (e != d and row[e] != 0 and rest[e] > 1)
        own, share = 1.0 - 1.0 / _least_prime(rest[d]), _new_share(row, factors, d, bounds[d] // factors[d])
        plain = min(plain, own if share == 1.0 else 0.0)
        moved = min(moved, own * share + (1.0 - own) * min(share, chains, single if cancels else 1.0))
    return plain, moved, single


@njit
def _single_share(units: Ints) -> float:
    """Share of the words along a rank that one unit alone holds."""
    return float((units == 1).sum() / (units > 0).sum())


@njit
def _new_share(row: Ints, factors: Ints, d: int, outside: int) -> float:
    """Share of the words along a rank that no unit held before a step of the innermost loop, over ``d``, at least.

    What is unrolled further out may stand inside that loop.
    """
    units, share = instances_at(row, factors), 1.0
    words = (units > 0).sum()
    for beyond in range(1, outside):
        move = abs(row[d]) * factors[d] * beyond
        if move >= units.shape[0]:
            break
        if outside % beyond == 0:
            share = min(share, (words - (served_at(units, move) > 0).sum()) / words)
    return share


@njit
def _least_prime(number: int) -> int:
    """Return the least prime of a number above 1."""
    prime = 2
    while number % prime != 0:
        prime += 1
    return prime
