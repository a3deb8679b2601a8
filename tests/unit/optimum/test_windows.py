"""Loops of two dimensions over one rank: which steps can stand, move like the innermost, or reach a neighbour."""

import itertools
import random

import numpy as np

from jouleloop.optimum.arrays import AXIS, PLACE, REACH, SIDE
from jouleloop.optimum.slide import windows
from jouleloop.optimum.words import find_reach, offsets_of, values_of
from jouleloop.proof.boxes import values

Window = tuple[list[tuple[int, int, int]], np.ndarray, np.ndarray, np.ndarray]


def drawn_window(drawn: random.Random) -> Window:
    """Loops (dimension, bound, indices of one step), innermost first; places, bounds of the layer, coefficients."""
    coef = np.array([[drawn.randint(1, 3) for _ in range(2)]])
    tile = [drawn.randint(1, 3) for _ in range(2)]
    inside = [drawn.choice([1, 1, 2, 3]) for _ in range(2)]
    place = np.ones(2, PLACE)
    place["across"] = np.multiply(tile, inside)
    # Further out more may be unrolled inside a loop.
    loops = []
    for _ in range(drawn.randint(2, 5)):
        if drawn.random() < 0.25:
            inside[drawn.randint(0, 1)] *= 2
        d, bound = drawn.randint(0, 1), drawn.randint(2, 3)
        loops.append((d, bound, tile[d] * inside[d]))
        tile[d] *= bound
        place[d]["outside"] *= bound
    bounds = np.array([tile[d] * inside[d] * drawn.choice([1, 1, 2]) for d in range(2)])
    return loops, place, bounds, coef


def side_of_one_rank() -> np.ndarray:
    return np.zeros(2, SIDE)


def moves(window: Window) -> list[tuple[int, int]]:
    """By step the loop that advances and the move of the rank."""
    loops, _, _, coef = window
    steps = list(itertools.product(*(range(bound) for _, bound, _ in reversed(loops))))
    at = [sum(n * step * coef[0, d] for n, (d, _, step) in zip(i, reversed(loops), strict=True)) for i in steps]
    advancing = [
        len(loops) - 1 - next(k for k, (m, n) in enumerate(zip(*pair, strict=True)) if m < n)
        for pair in itertools.pairwise(steps)
    ]
    return list(zip(advancing, (b - a for a, b in itertools.pairwise(at)), strict=True))


def test_no_step_of_such_a_window_stands() -> None:
    drawn = random.Random(5)
    side = side_of_one_rank()
    held = stood = 0
    for _ in range(1500):
        window = drawn_window(drawn)
        loops, place, bounds, coef = window
        if (place["outside"] == 1).any():
            assert not windows(coef, side, place, bounds, loops[0][0])[0]
            continue
        stands = any(move == 0 for _, move in moves(window))
        if windows(coef, side, place, bounds, 0)[0]:
            assert windows(coef, side, place, bounds, 1)[0]
            stood += stands
        else:
            assert not stands, (loops, bounds, coef)
            held += 1
    assert held > 200
    assert stood > 100


def test_steps_past_the_other_dimension_move_otherwise() -> None:
    """Where the lemma says so: steps of a loop over the other dimension, and of those with one inside."""
    drawn = random.Random(6)
    side = side_of_one_rank()
    held = matched = 0
    for _ in range(3000):
        window = drawn_window(drawn)
        loops, place, bounds, coef = window
        j = loops[0][0]
        first = coef[0, j] * loops[0][2]
        past = next((k for k, (d, _, _) in enumerate(loops) if d != j), len(loops))
        same = any(move == first for k, move in moves(window) if k >= past)
        if windows(coef, side, place, bounds, j)[1]:
            matched += same
        else:
            assert not same, (loops, bounds, coef)
            held += past < len(loops)
    assert held > 200
    assert matched > 100


def test_no_move_is_within_reach() -> None:
    """Where the lemma says so, no step moves the rank by a multiple of a distance within reach."""
    drawn = random.Random(8)
    side = side_of_one_rank()
    held = reached = 0
    for _ in range(3000):
        window = drawn_window(drawn)
        loops, place, bounds, coef = window
        grid = drawn.randint(1, 12)
        far = grid * drawn.randint(1, 4)
        found = any(0 < abs(move) <= far and move % grid == 0 for _, move in moves(window))
        if windows(coef, side, place, bounds, loops[0][0], far, grid)[2]:
            reached += found
        else:
            assert not found, (loops, bounds, coef, far, grid)
            held += 1
    assert held > 200
    assert reached > 200


def test_distinct_offsets() -> None:
    """Exact for tiles of given sizes, the least for tiles of any; of three dimensions no more than that."""
    drawn = random.Random(9)
    overlapping = 0
    for _ in range(400):
        dims = drawn.choice([1, 2, 2, 2, 3])
        coef, inner = (np.array([drawn.randint(1, 4) for _ in range(dims)]) for _ in "ab")
        factors = np.array([drawn.randint(1, 5) for _ in range(dims)])
        rests = np.ones(dims, AXIS)
        rests["rest"] = [drawn.choice([1, 2, 3, 4, 6]) for _ in range(dims)]
        counts = []
        for tile in itertools.product(*([n for n in range(1, r + 1) if r % n == 0] for r in rests["rest"])):
            extent = inner * np.array(tile)
            exact = len({int(np.dot(coef * extent, i)) for i in itertools.product(*map(range, factors))})
            counts.append(exact)
            found = offsets_of(coef, extent, factors, rests, True)
            assert found == exact if (factors > 1).sum() < 3 else found <= exact
        least = offsets_of(coef, inner * factors, factors, rests, False)
        assert least == min(counts) if (factors > 1).sum() < 3 else least <= min(counts)
        overlapping += max(factors) < least < np.prod(factors)
    assert overlapping > 20


def test_distances_of_instances() -> None:
    """Every distance of two instances below a fan-out is within reach, and divided by what divides all."""
    drawn = random.Random(7)
    apart = 0
    side = side_of_one_rank()
    for _ in range(300):
        coef, extent = (
            np.array([[drawn.randint(1, 3) for _ in range(2)]]),
            np.array([drawn.randint(1, 4) for _ in "ab"]),
        )
        factors = np.array([drawn.choice([1, 2, 3, 4]) for _ in range(2)])
        reach = np.zeros(1, REACH)
        find_reach(coef, side, extent, factors, reach)
        steps = coef[0] * extent
        at = [int(np.dot(steps, i)) for i in itertools.product(*map(range, factors))]
        found = {abs(a - b) for a in at for b in at} - {0}
        assert max(found, default=0) == reach[0]["farthest"]
        assert all(distance % reach[0]["quantum"] == 0 for distance in found)
        apart += len(found) > 1 and reach[0]["quantum"] > 1
    assert apart > 20


def test_a_rank_takes_no_fewer_values_than_stated() -> None:
    rng = random.Random(3)
    exact = 0
    for _ in range(2000):
        dims = rng.randint(1, 3)
        coef = np.array([rng.randint(1, 4) for _ in range(dims)], np.int64)
        bounds = np.array([rng.randint(1, 9) for _ in range(dims)], np.int64)
        seen = np.array([rng.choice((int(bound), rng.randint(1, int(bound)))) for bound in bounds], np.int64)
        indices = [rng.sample(range(bound), own) for bound, own in zip(bounds.tolist(), seen.tolist(), strict=True)]
        number = len({int(coef @ np.array(one)) for one in itertools.product(*indices)})
        stated = values_of(coef, seen, bounds)
        assert stated <= number
        exact += dims == 2 and number == stated > seen.sum() - 1
        open_dims = bounds > 1
        if open_dims.any():
            narrow = [one[open_dims] for one in (coef, seen, bounds)]
            verified = values(dict(enumerate(coef.tolist())), seen.tolist(), bounds.tolist())
            assert verified == values_of(*narrow)
    assert exact > 100
