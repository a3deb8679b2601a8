"""What compute units surely ask for, beside all orders of loops, links serving whatever a unit held a step before."""

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np

from jouleloop.division import factorised
from jouleloop.model.arrays import LEVEL, LOOP
from jouleloop.model.links import mesh_below, neighbour_of
from jouleloop.optimum.prepare import find_sides
from jouleloop.optimum.unit_links import count_links
from jouleloop.optimum.units import shares_of_steps, sure_shares
from shares import by_kind

#: Dimensions: two of a window, another that moves a rank of its own, and one that leaves all in place.
P, R, C, M = range(4)
KINDS = ("window", "two windows", "three dimensions")


def nests_of(rest: list[int], outer: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield all orders of prime loops, the innermost first; a negative one is unrolled further out."""
    loops = [(d, p) for d, n in enumerate(rest) for p, times in factorised(n) for _ in range(times)]
    yield from set(itertools.permutations(loops + [(d, -n) for d, n in enumerate(outer) if n > 1]))


def asked_of(coef: np.ndarray, factors: list[int], loops: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Return in how many steps all units ask, and how many words are asked for in all."""
    held = {tuple(coef @ index) for index in itertools.product(*map(range, factors))}
    idle = factors[M] > 1
    twice = {
        box for box in held if idle or sum(tuple(coef @ i) == box for i in itertools.product(*map(range, factors))) > 1
    }
    # Iterations 0 and 1 of a loop stand for all (`jouleloop.model.steps`), so loops further in fall back by one.
    size, inner = list(factors), np.zeros(len(coef), int)
    plain, words, inside = 1, len(held), math.prod(bound for _, bound in loops if bound > 0)
    for d, bound in loops:
        if bound > 0:
            inside //= bound
            move = coef[:, d] * size[d] - inner
            inner += coef[:, d] * size[d]
            served = {box for box in held if tuple(np.array(box) + move) in held} if move.any() else twice
            plain += (bound - 1) * inside * (not served)
            words += (bound - 1) * inside * (len(held) - len(served))
        size[d] *= abs(bound)
    return plain, words


def draw(rng: random.Random, windows: int) -> tuple[np.ndarray, list[int], list[int]]:
    """Return a data space, spatial factors next to the units and what temporal loops cover."""
    wide = (1, 2, 3, 4, 6) if windows == 1 else (1, 2, 2, 3)
    coef = np.array([[rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2)), 0, 0], [0, 0, 1, 0]])
    factors = [rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 1, 2))]
    rest = [rng.choice(wide), rng.choice((1, 2, 3)), rng.choice((1, 1, 2)), rng.choice((1, 2, 7))]
    if windows > 1:
        # A second window, or a third dimension of the first.
        more = [rng.choice((1, 1, 2)), rng.choice((1, 1, 2))]
        coef = np.pad(coef, ((0, 0), (0, 2)))
        coef[0, 4] = more[0] if windows == 3 else 0
        coef = np.vstack([coef, [0, 0, 0, 0, *more]]) if windows == 2 else coef
        factors += [rng.choice((1, 2, 3)), rng.choice((1, 2, 3)) if windows == 2 else 1]
        rest = [*rest[:2], 1, rng.choice((1, 2)), rng.choice((1, 2, 2)), rng.choice((1, 1, 2)) if windows == 2 else 1]
    return coef, factors, rest


@by_kind(KINDS, 120, 25)
def test_units_ask_for_no_less(kind: str, seeds: range) -> None:
    for seed in seeds:
        check_units(seed, KINDS.index(kind) + 1)


def check_units(seed: int, windows: int) -> None:
    rng = random.Random(seed)
    coef, factors, rest = draw(rng, windows)
    outer = [rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 1, 2)), 1, 1, 1, 1][: len(rest)]
    bounds = np.array(factors) * rest * outer
    side = find_sides(coef[None], bounds)[0]
    held = {tuple(coef @ index) for index in itertools.product(*map(range, factors))}
    together, plain, moved, stands = sure_shares(coef, side, np.array(factors), bounds, np.array(rest), False)
    steps, moving = math.prod(rest), math.prod(rest) // rest[M]
    least = min(steps * moved, moving * moved + (steps - moving) * stands)
    found = [asked_of(coef, factors, loops) for loops in nests_of(rest, outer)]
    assert together == len(held)
    assert min(steps for steps, _ in found) >= moving * plain - 1e-9
    assert min(words for _, words in found) >= least * len(held) - 1e-9
    assert least > 0.0


def test_rank_that_cannot_cancel_asks_in_all_steps() -> None:
    # Two pixels two apart, three taps, all taps unrolled: a step of pixels moves by 4, which serves one word of five.
    coef = np.array([[2, 1]])
    factors, rest = np.array([2, 3]), np.array([7, 1])
    bounds = factors * rest
    sure = sure_shares(coef, find_sides(coef[None], bounds)[0], factors, bounds, rest, False)
    assert sure == (5.0, 0.0, 0.8, 0.8)


def test_strided_window_never_stays() -> None:
    # Three taps go on, and fall back, by one: no pixel makes up for that where pixels move by 2.
    one, bounds = np.array([1, 1]), np.array([4, 3])
    for stride, share in ((2, 1.0), (1, 0.5)):
        coef = np.array([[stride, 1]])
        sure = sure_shares(coef, find_sides(coef[None], bounds)[0], one, bounds, bounds, True)
        assert sure == (1.0, share, share, 0.0)


def test_innermost_loop_of_a_window_asks() -> None:
    # Outputs two apart: no step of a tap lies so far. But nine taps of which three are unrolled fall back by more.
    coef, factors = np.array([[2, 1]]), np.array([2, 1])
    for taps, expected in ((3, (2.0, 1.0, 1.0, 1.0)), (9, (2.0, 0.5, 0.75, 1.0))):
        bounds = np.array([4, taps])
        side = find_sides(coef[None], bounds)[0]
        assert sure_shares(coef, side, factors, bounds, bounds // factors, False) == expected


def test_merged_unrollings_may_have_units_that_hold_one_word() -> None:
    # Two pixels and four taps may cancel: what the next level unrolls may hold the same word then.
    coef, bounds = np.array([[1, 1]]), np.array([2, 4])
    side, one = find_sides(coef[None], bounds)[0], np.array([1, 1])
    assert sure_shares(coef, side, one, bounds, bounds, False) == (1.0, 1.0, 1.0, 1.0)
    assert sure_shares(coef, side, one, bounds, bounds, True) == (1.0, 0.5, 0.5, 0.0)


def arranged(factors: list[int], rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return spatial loops in any order, some along each axis, and a level with a mesh that they fit."""
    dims = [d for d, factor in enumerate(factors) if factor > 1]
    rng.shuffle(dims)
    along_y = rng.randint(0, len(dims))
    loops = np.zeros(len(dims), LOOP)
    for n, d in enumerate(dims):
        loops[n]["dim"], loops[n]["bound"], loops[n]["axis"] = d, factors[d], int(n < along_y)
    level = np.zeros(1, LEVEL)
    level["fanout_x"] = math.prod(factors[d] for d in dims[along_y:]) + rng.choice((0, 0, 1))
    level["fanout_y"] = math.prod(factors[d] for d in dims[:along_y])
    return loops, level[0]


def asked_under(coef: np.ndarray, loops: np.ndarray, mesh: tuple[int, int], nest: tuple[tuple[int, int], ...]) -> int:
    """Return how many words units ask for in all: those of boxes that not every unit of gets from a neighbour."""
    own = [range(int(loop["bound"])) for loop in loops]
    boxes = [
        tuple(sum(coef[:, int(loop["dim"])] * i for loop, i in zip(loops, index, strict=True)) + 0 * coef[:, 0])
        for index in itertools.product(*own)
    ]
    units = len(boxes)
    near = [[neighbour_of(i, way, units, mesh) for way in range(4)] for i in range(units)]

    def left(move: np.ndarray) -> int:
        served = [any(j >= 0 and boxes[j] == tuple(np.array(boxes[i]) + move) for j in near[i]) for i in range(units)]
        return len({box for box, one in zip(boxes, served, strict=True) if not one})

    size, inner = [1] * coef.shape[1], np.zeros(len(coef), int)
    for loop in loops:
        size[int(loop["dim"])] *= int(loop["bound"])
    words, inside = len(set(boxes)), math.prod(bound for _, bound in nest if bound > 0)
    for d, bound in nest:
        if bound > 0:
            inside //= bound
            move = coef[:, d] * size[d] - inner
            inner += coef[:, d] * size[d]
            words += (bound - 1) * inside * left(move)
        size[d] *= abs(bound)
    return words


@by_kind(KINDS, 80, 20)
def test_units_ask_for_no_less_under_an_arrangement(kind: str, seeds: range) -> None:
    for seed in seeds:
        check_arrangement(seed, KINDS.index(kind) + 1)


def check_arrangement(seed: int, windows: int) -> None:
    rng = random.Random(seed)
    coef, factors, rest = draw(rng, windows)
    outer = [rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 1, 2)), 1, 1, 1, 1][: len(rest)]
    bounds = np.array(factors) * rest * outer
    side = find_sides(coef[None], bounds)[0]
    loops, level = arranged(factors, rng)
    new = np.ones((len(coef), 1 + int((coef * (np.array(factors) - 1)).sum(axis=1).max())))
    stands = count_links(coef, loops, level, math.prod(factors), new)
    moved = shares_of_steps(coef, side, np.array(factors), bounds, np.array(rest), stands, new, -1)[1]
    steps, moving = math.prod(rest), math.prod(rest) // rest[M]
    held = {tuple(coef @ index) for index in itertools.product(*map(range, factors))}
    least = min(steps * moved, moving * moved + (steps - moving) * stands) * len(held)
    mesh = mesh_below(level, loops)
    for nest in nests_of(rest, outer):
        asked = asked_under(coef, loops, mesh, nest)
        assert asked >= least - 1e-9
        innermost = next((d for d, bound in nest if bound > 0), M)
        if side["halo"][innermost] >= 0:
            arguments = np.array(factors), bounds, np.array(rest), stands, new, innermost
            assert asked >= steps * shares_of_steps(coef, side, *arguments)[1] * len(held) - 1e-9
        elif not side["idle"][innermost]:
            assert asked == steps * len(held)


def test_only_the_innermost_dimension_has_neighbours() -> None:
    # Two channels and four pixels side by side: pixels lie next to each other, or channels do. Then three of eight
    # units have the next pixel beside them, of the other channel, which serves where a step moves channels as well.
    level = np.zeros(1, LEVEL)
    level["fanout_x"], level["fanout_y"] = 8, 1
    pixels, channels = (0, 4), (1, 2)
    inputs, outputs = np.array([[1, 0], [0, 1]]), np.array([[1, 0]])
    for order, shares in (((channels, pixels), (0.25, 1.0)), ((pixels, channels), (0.625, 0.0))):
        loops = np.array([(dim, bound, 0) for dim, bound in order], LOOP)
        new = np.ones((2, 4))
        count_links(inputs, loops, level[0], 8, new)
        assert (new[0, 1], count_links(outputs, loops, level[0], 8, np.ones((1, 4)))) == shares
