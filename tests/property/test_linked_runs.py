"""Steps of a run that no link serves, beside every step of nests drawn at random."""

import random

import numpy as np
import pytest

from jouleloop.optimum.group_lattice import unlinked_shares
from jouleloop.optimum.prepare import find_sides

#: Dimensions: two windows of two each, one that moves a rank of its own, and one that leaves all in place.
P, R, Q, S, C, M = range(6)
NESTS = 40

Loop = tuple[int, int]


def steps_of(coef: np.ndarray, tile: list[int], nest: list[Loop]) -> list[tuple[float, np.ndarray]]:
    """Return how many steps each loop makes, the innermost first, and how far they move the ranks."""
    size, outer = list(tile), float(np.prod([prime for _, prime in nest]))
    found, back = [], np.zeros(len(coef), np.int64)
    for d, prime in nest:
        outer /= prime
        found.append(((prime - 1) * outer, coef[:, d] * size[d] - back))
        # Loops further in fall back by one iteration (`jouleloop.model.steps`).
        back = back + coef[:, d] * size[d]
        size[d] *= prime
    return found


@pytest.mark.parametrize("seed", range(60))
def test_as_many_steps_move_another_rank(seed: int) -> None:
    rng = random.Random(seed)
    coef = np.zeros((3, 6), np.int64)
    coef[0, :2], coef[1, 2:4], coef[2, 4] = (rng.choice((1, 2)), 1), (rng.choice((1, 2)), 1), 1
    bounds = np.full(6, 12)
    side = find_sides(coef[None], bounds)
    axes = [(d, prime, power) for d in range(6) for prime, power in ((2, 2), (3, 1))]
    shares = []
    for _ in range(NESTS):
        # A run leaves another data space in place: any of its dimensions, but for one that leaves this one in place.
        mine = rng.choice(((R, S, C), (P, Q), (R, S), (S, C), (P, R, S, C), (C,)))
        run = [(d, prime) for d in mine for prime in rng.sample((2, 2, 3), rng.randint(0, 3))]
        rng.shuffle(run)
        often = rng.choice((0.0, 0.3))
        beyond = [(d, prime) for d in range(6) for prime in (2, 3) if rng.random() < often]
        rng.shuffle(beyond)
        powers = np.array([[sum(loop == (d, prime) for loop in run) for d, prime, _ in axes]])
        unlinked = unlinked_shares(side, powers, axes)[0, 0]
        steps = steps_of(coef, [rng.choice((1, 2)) for _ in range(6)], run + beyond)
        total = float(np.prod([prime for _, prime in run + beyond]))
        for near in range(4):
            others = [r for r in range(3) if r == 2 or not near >> r & 1]
            apart = sum(count for count, move in steps if move[others].any())
            assert apart >= unlinked[near] * total - 1e-9, (run, beyond, near)
            # But for the first box, a nest of the run alone may have no more.
            shares.append(unlinked[near] > 0.0 and apart <= unlinked[near] * total + 1e-9)
    assert any(shares)


def test_two_dimensions_of_a_rank_may_cancel_out() -> None:
    coef, bounds = np.array([[[1, 1, 0], [0, 0, 1]]]), np.array([4, 4, 4])
    side = find_sides(coef, bounds)
    axes = [(d, 2, 2) for d in range(3)]
    for powers, share in (((0, 0, 2), 0.75), ((1, 0, 2), 0.875), ((1, 1, 2), 0.0)):
        assert unlinked_shares(side, np.array([powers]), axes)[0, 0, 0] == share
    # Where instances differ along the window, of its loops as many are inside as may be.
    assert unlinked_shares(side, np.array([(1, 0, 2)]), axes)[0, 0, 1] == pytest.approx(0.5 - 1 / 8)
