"""Lower bounds on the least cost 2μ + ν that hold for every schedule, for layers of any size.

They join the counting relaxations of `fc_relaxation` with three facts, C being the least cost and (n, m, β) the layer:

- the first β reads bring at most β vertices, so at most ⌊β²/4⌋ pairs, and each later read does at most β − 1 new ones:
  ⌊β²/4⌋ + (β−1)(μ+ν−β) >= mn, and μ >= m, ν >= n;
- taking an input that is read at least ⌈ν/n⌉ times out of a schedule leaves one for n − 1 inputs (what its reads would
  have overwritten stays in its place), so 2μ + ν >= C(n−1, m, β) + ⌈ν/n⌉;
- in the same way 2μ + ν >= C(n, m−1, β) + 2⌈μ/m⌉.

A cost is ruled out when no μ and ν meet all of them. For β = 2 the first alone gives mn + m + 1, which
Algorithm 1 meets.
"""

from functools import lru_cache

from jouleloop.bounds.fc import FcLayer
from jouleloop.bounds.fc_relaxation import input_relaxation, output_relaxation, relaxed_states
from jouleloop.bounds.fc_upper import best_upper

SMALL_STATES = 3_000_000
"""Relaxations of at most this many states (by the estimate of `relaxed_states`) are solved for every smaller layer."""


def most_pairs(reads: int, buffer_words: int) -> int:
    """Return how many pairs so many reads can do at most."""
    first = min(reads, buffer_words)
    return first * first // 4 + (buffer_words - 1) * (reads - first)


def count_bound(
    inputs: int, outputs: int, buffer_words: int, below: int = 0, below_x: int = 0, below_y: int = 0
) -> int:
    """Return the least 2μ + ν not ruled out.

    Parameters
    ----------
    inputs, outputs, buffer_words
        n, m and β.
    below
        A lower bound on the cost that is known already.
    below_x, below_y
        Lower bounds for one input less and for one output less, or 0.
    """
    n, m, pairs = inputs, outputs, inputs * outputs
    cost = max(below, 2 * m + n)
    while True:
        for mu in range(m, (cost - n) // 2 + 1):
            nu = cost - 2 * mu
            enough = most_pairs(mu + nu, buffer_words) >= pairs
            if enough and cost >= below_x - (-nu // n) and cost >= below_y - 2 * (-mu // m):
                return cost
        cost += 1


@lru_cache(maxsize=100_000)
def recursive_bound(inputs: int, outputs: int, buffer_words: int) -> int:
    """Return the lower bound from all smaller layers, with relaxations where these are small."""
    n, m, beta = inputs, outputs, buffer_words
    if min(n, m) < beta:
        return 2 * m + n
    known = best_upper(FcLayer(n, m, beta)).accesses
    # One input less first: for (β−1) | m it closes every n >= m/(β−1) once one is closed; the others cost far more.
    below_x = recursive_bound(n - 1, m, beta)
    lower = count_bound(n, m, beta, 0, below_x)
    if lower == known:
        return lower
    relaxed = relaxation_bound(n, m, beta, SMALL_STATES, known)
    lower = count_bound(n, m, beta, relaxed, below_x)
    if lower == known:
        return lower
    return count_bound(n, m, beta, relaxed, below_x, recursive_bound(n, m - 1, beta))


def relaxation_bound(inputs: int, outputs: int, buffer_words: int, most_states: int, enough: int) -> int:
    """Return the larger of the two relaxations' bounds, the smaller problem first and the other if not ``enough``.

    Those with more than ``most_states`` states are left out.
    """
    best = 0
    sides = ((output_relaxation, inputs, outputs), (input_relaxation, outputs, inputs))
    for make, anonymous, tracked in sorted(sides, key=lambda side: relaxed_states(side[1], side[2], buffer_words)):
        if best < enough and relaxed_states(anonymous, tracked, buffer_words) <= most_states:
            relaxation = make(inputs, outputs, buffer_words)
            best = max(best, relaxation.bound() or 0)
    return best
