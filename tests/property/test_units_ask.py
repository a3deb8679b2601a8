"""What compute units surely ask for, beside all orders of loops, links serving whatever a unit held a step before."""

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

from jouleloop.division import factorised
from jouleloop.optimum.prepare import find_sides
from jouleloop.optimum.units import sure_shares

#: Dimensions: two of a window, another that moves a rank of its own, and one that leaves all in place.
P, R, C, M = range(4)


def nests_of(rest: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield all orders of prime loops, the innermost first."""
    loops = [(d, p) for d, n in enumerate(rest) for p, times in factorised(n) for _ in range(times)]
    yield from set(itertools.permutations(loops))


def asked_of(coef: np.ndarray, factors: list[int], loops: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Return in how many steps all units ask, and how many words are asked for in all."""
    held = {tuple(coef @ index) for index in itertools.product(*map(range, factors))}
    idle = factors[M] > 1
    twice = {
        box for box in held if idle or sum(tuple(coef @ i) == box for i in itertools.product(*map(range, factors))) > 1
    }
    step, at, steps = list(factors), np.zeros(len(factors), int), []
    for d, bound in loops:
        steps.append((d, bound, step[d]))
        step[d] *= bound
    plain = words = 0
    before: np.ndarray | None = None
    for index in itertools.product(*(range(bound) for _, bound, _ in reversed(steps))):
        at[:] = 0
        for i, (d, _, one) in zip(reversed(index), steps, strict=True):
            at[d] += i * one
        move = None if before is None else coef @ (at - before)
        before = at.copy()
        if move is None:
            served = set()
        elif move.any():
            served = {box for box in held if tuple(np.array(box) + move) in held}
        else:
            served = twice
        plain += not served
        words += len(held) - len(served)
    return plain, words


@pytest.mark.parametrize("seed", range(80))
def test_units_ask_for_no_less(seed: int) -> None:
    rng = random.Random(seed)
    coef = np.array([[rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2)), 0, 0], [0, 0, 1, 0]])
    factors = [rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 1, 2))]
    rest = [rng.choice((1, 2, 3, 4, 6)), rng.choice((1, 2, 3)), rng.choice((1, 1, 2)), rng.choice((1, 2, 7))]
    bounds = np.array(factors) * rest
    side = find_sides(coef[None], bounds)[0]
    held = {tuple(coef @ index) for index in itertools.product(*map(range, factors))}
    along = len({box[0] for box in held}) if max(factors[:2]) > 1 else 1
    shares = sure_shares(coef, side, np.array(factors), bounds, np.array(rest), 1.0 / along, False)
    steps, moving = math.prod(rest), math.prod(rest) // rest[M]
    least = min(steps * shares[1], moving * shares[1] + (steps - moving) * shares[2])
    found = [asked_of(coef, factors, loops) for loops in nests_of(rest)]
    assert min(plain for plain, _ in found) >= moving * shares[0] - 1e-9
    assert min(words for _, words in found) >= least * len(held) - 1e-9
    assert least > 0.0


def test_innermost_loop_of_a_window_asks() -> None:
    # Outputs two apart: no step of the tap lies so far, so at least half of the steps ask for both words.
    coef = np.array([[2, 1]])
    bounds = np.array([4, 2])
    side = find_sides(coef[None], bounds)[0]
    shares = sure_shares(coef, side, np.array([2, 1]), bounds, np.array([2, 2]), 0.5, False)
    assert shares == (0.5, 0.75, 1.0)


def test_merged_unrollings_may_have_units_that_hold_one_word() -> None:
    # Two pixels and four taps may cancel: what the next level unrolls may hold the same word then.
    coef, bounds = np.array([[1, 1]]), np.array([2, 4])
    side, one = find_sides(coef[None], bounds)[0], np.array([1, 1])
    assert sure_shares(coef, side, one, bounds, bounds, 1.0, False) == (0.5, 1.0, 1.0)
    assert sure_shares(coef, side, one, bounds, bounds, 1.0, True) == (0.5, 0.5, 0.0)
