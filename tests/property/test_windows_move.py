"""What links leave where instances lie along windows, beside every step of nests drawn at random."""

import itertools
import random

import numpy as np
import pytest

from jouleloop.optimum.prepare import find_sides
from jouleloop.optimum.windows import shared_ranks, windows_of

#: Dimensions: two windows of two each, and one that leaves all in place.
P, R, Q, S, M = range(5)
NESTS = 40

Loops = list[tuple[int, int, bool]]


def draw_nest(rng: random.Random, rest: list[list[int]]) -> Loops:
    """Return loops and, between them, factors that are unrolled: dimension, prime and whether it loops; inward out."""
    found = [(d, prime, rng.random() < 0.85) for d, primes in enumerate(rest) for prime in primes]
    rng.shuffle(found)
    return found


def moves_of(coef: np.ndarray, tile: list[int], nest: Loops) -> set[tuple[tuple[int, ...], bool]]:
    """Return how far the steps of a nest move the ranks, and whether that is as a dimension goes on that moves none.

    Iterations 0 and 1 of a loop stand for all (`jouleloop.model.steps`), so loops further in fall back by one.
    """
    size, loops = list(tile), []
    for d, prime, is_loop in nest:
        if is_loop:
            loops.append((d, prime, size[d]))
        size[d] *= prime
    found = set()
    for k, (d, _, step) in enumerate(loops):
        move = coef[:, d] * step
        for e, _, inner in loops[:k]:
            move = move - coef[:, e] * inner
        found.add((tuple(move.tolist()), d == M))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_links_leave_no_fewer_boxes_and_instances(seed: int) -> None:
    rng = random.Random(seed)
    coef = np.zeros((2, 5), np.int64)
    coef[0, :2], coef[1, 2:4] = ([rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2))] for _ in range(2))
    extent = [rng.choice((1, 1, 1, 2, 3)) for _ in range(4)] + [1]
    factors = [rng.choice((1, 2, 3, 4)) if seed % 3 or d < 2 else 1 for d in range(4)] + [rng.choice((1, 2))]
    rest = [rng.choice(([], [2], [3], [2, 2], [2, 3], [2, 2, 3])) for _ in range(4)] + [rng.choice(([], [2], [2, 2]))]
    bounds = np.array([e * f * int(np.prod(n)) for e, f, n in zip(extent, factors, rest, strict=True)])
    side = find_sides(coef[None], bounds)
    windows, window = windows_of(coef[None], side, np.array([extent]), bounds, [np.array([factors])])
    number = window[0][0, 0]
    held: dict[tuple[int, ...], int] = {}
    for index in itertools.product(*map(range, factors)):
        box = tuple((coef @ (np.array(index) * extent)).tolist())
        held[box] = held.get(box, 0) + 1
    shared = [side["halo"][0] == r for r in range(2)]
    most = [max((f for f, own in zip(factors, mine, strict=True) if own), default=1) for mine in shared]
    alone = [int(np.prod([1, *(f for d, f in enumerate(factors) if c[d] and side["halo"][0, d] < 0)])) for c in coef]
    boxes = windows.boxes[0, number, 0] * np.prod(most) / max(most) * np.prod(alone)
    filled = windows.instances[0, number, 0]
    ranks = shared_ranks(side["halo"])[0]
    moved = 0
    for _ in range(NESTS):
        nest = draw_nest(rng, rest)
        steps = moves_of(coef, [e * f for e, f in zip(extent, factors, strict=True)], nest)
        for move, idle in steps:
            if not any(move):
                continue
            served = [box for box in held if tuple(np.add(box, move).tolist()) in held]
            assert len(held) - len(served) >= boxes[int(idle), -1] - 1e-9, (nest, move)
            share = 1.0 - sum(held[box] for box in served) / sum(held.values())
            assert share >= filled[int(idle), -1] - 1e-9, (nest, move)
            for a in (a for a, r in enumerate(ranks) if move[r]):
                assert len(held) - len(served) >= boxes[int(idle), a] - 1e-9, (nest, move, a)
                assert share >= filled[int(idle), a] - 1e-9, (nest, move, a)
            moved += 1
    assert moved or not any(rest[:4])
    assert (boxes[0] >= boxes[1]).all()
    assert (boxes[1] >= boxes[1, -1]).all()
    assert boxes.min() > 0.0


def test_a_window_that_nothing_moves_hands_nothing_on() -> None:
    coef, bounds = np.array([[[2, 1, 0]]]), np.array([4, 3, 2])
    side = find_sides(coef, bounds)
    extent, rows = np.array([[1, 1, 1]]), [np.array([[4, 3, 1]])]
    windows, _ = windows_of(coef, side, extent, bounds, rows)
    # Nine places in a row; nothing is left of the window, so no step moves it.
    assert windows.boxes[0, 0, 0, :, -1].tolist() == [9.0, 9.0]
    # With as many outputs left, a step is eight places on: one of the nine was held before.
    windows, _ = windows_of(coef, side, extent, np.array([8, 3, 2]), rows)
    assert windows.boxes[0, 0, 0, :, -1].tolist() == [8.0, 8.0]


def test_a_loop_goes_on_by_less_than_it_spans_where_others_are_unrolled() -> None:
    # Loops of 2 and 2 with 3 unrolled in between: the outer one goes on by 6 as the inner one falls back by 1.
    coef, bounds = np.array([[[5, 1, 0]]]), np.array([2, 12, 1])
    side = find_sides(coef, bounds)
    windows, _ = windows_of(coef, side, np.array([[1, 1, 1]]), bounds, [np.array([[2, 1, 1]])])
    assert windows.boxes[0, 0, 0, :, -1].tolist() == [1.0, 1.0]
    assert windows.instances[0, 0, 0, :, -1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("first", [0, 1])
def test_a_window_falls_back_while_another_stands(first: int) -> None:
    # Taps of 3 and 2 fall back by 4 as the other window goes on and falls back by 1; alone they go on by 3 at most.
    coef = np.zeros((2, 4), np.int64)
    coef[first, :2], coef[1 - first, 2:] = (4, 1), (1, 1)
    bounds = np.array([4, 6, 2, 2])
    side = find_sides(coef[None], bounds)
    windows, _ = windows_of(coef[None], side, np.ones((1, 4), np.int64), bounds, [np.array([[4, 1, 1, 1]])])
    assert windows.boxes[0, 0, 0, :, -1].tolist() == [1.0, 1.0]
    # Where the other window cannot stand, only a dimension that moves neither lets the taps fall back alone.
    bounds = np.array([4, 6, 2, 1])
    windows, _ = windows_of(coef[None], side, np.ones((1, 4), np.int64), bounds, [np.array([[4, 1, 1, 1]])])
    assert windows.boxes[0, 0, 0, :, -1].tolist() == [4.0, 1.0]
