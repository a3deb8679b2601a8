"""Lower bounds on the least cost 2μ + ν that hold for every schedule, for layers of any size.

They join the counting relaxations of `fc_relaxation` with three facts, C being the least cost and (n, m, β) the layer:

- every read but the first does at most β − 1 new pairs: (β−1)(μ+ν−1) >= mn, and μ >= m, ν >= n;
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
            enough = (buffer_words - 1) * (mu + nu - 1) >= pairs
            if enough and cost >= below_x - (-nu // n) and cost >= below_y - 2 * (-mu // m):
                return cost
        cost += 1


@lru_cache(maxsize=100_000)
def recursive_bound(inputs: int, outputs: int, buffer_words: int) -> int:
    """Return the lower bound from all smaller layers, with relaxations where these are small."""
    n, m, beta = inputs, outputs, buffer_words
    if min(n, m) < beta:
        return 2 * m + n
    below_x = recursive_bound(n - 1, m, beta)
    below_y = recursive_bound(n, m - 1, beta)
    lower = count_bound(n, m, beta, 0, below_x, below_y)
    if lower == best_upper(FcLayer(n, m, beta)).accesses:
        return lower
    return count_bound(n, m, beta, relaxation_bound(n, m, beta, SMALL_STATES), below_x, below_y)


def relaxation_bound(inputs: int, outputs: int, buffer_words: int, most_states: int) -> int:
    """Return the larger of the two relaxations' bounds, leaving out those with more than ``most_states`` states."""
    best = 0
    for make, anonymous, tracked in ((output_relaxation, inputs, outputs), (input_relaxation, outputs, inputs)):
        if relaxed_states(anonymous, tracked, buffer_words) <= most_states:
            relaxation = make(inputs, outputs, buffer_words)
            best = max(best, relaxation.bound() or 0)
    return best
