"""Windows that cannot stand: where the lemma says so, no step of two dimensions leaves their rank in place."""

import itertools
import math
import random

import numpy as np

from jouleloop.optimum.arrays import ACROSS, HALO, IDLE, OUTSIDE, PLACES, SIDE
from jouleloop.optimum.bounds import _may_cancel


def test_no_step_of_such_a_window_stands() -> None:
    drawn = random.Random(5)
    side = np.zeros((2, SIDE), np.int64)
    side[:, IDLE] = side[:, HALO] = 0
    held = stood = 0
    for _ in range(1500):
        coef = np.array([[drawn.randint(1, 3) for _ in range(2)]])
        tile = [drawn.randint(1, 3) for _ in range(2)]
        inside = [drawn.choice([1, 1, 2, 3]) for _ in range(2)]
        place = np.ones((2, PLACES), np.int64)
        place[:, ACROSS] = np.multiply(tile, inside)
        # Innermost loop first; further out more may be unrolled inside a loop.
        loops = []
        for _ in range(drawn.randint(2, 5)):
            if drawn.random() < 0.25:
                inside[drawn.randint(0, 1)] *= 2
            d, bound = drawn.randint(0, 1), drawn.randint(2, 3)
            loops.append((d, bound, tile[d] * inside[d]))
            tile[d] *= bound
            place[d, OUTSIDE] *= bound
        bounds = np.array([tile[d] * inside[d] * drawn.choice([1, 1, 2]) for d in range(2)])
        if (place[:, OUTSIDE] == 1).any():
            assert not _may_cancel(coef, side, place, bounds, loops[0][0])
            continue
        steps = itertools.product(*(range(bound) for _, bound, _ in reversed(loops)))
        at = [sum(n * step * coef[0, d] for n, (d, _, step) in zip(i, reversed(loops), strict=True)) for i in steps]
        assert len(at) == math.prod(bound for _, bound, _ in loops)
        stands = any(before == after for before, after in itertools.pairwise(at))
        if _may_cancel(coef, side, place, bounds, 0):
            assert _may_cancel(coef, side, place, bounds, 1)
            stood += stands
        else:
            assert not stands, (loops, bounds, coef)
            held += 1
    assert held > 200
    assert stood > 100
