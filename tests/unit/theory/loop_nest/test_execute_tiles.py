"""Integer tiles against brute force, and executed schedules against the bounds they may never undercut."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.loop_nest.bounds import analyse, communication_with_constants, nest_bounds
from jouleloop.theory.loop_nest.closed_form import closed_form
from jouleloop.theory.loop_nest.execute_tiles import TiledRun, best_schedule, random_inputs, run_tiled, schedule_words
from jouleloop.theory.loop_nest.integer_tile import Fit, fits, integer_tile
from jouleloop.theory.loop_nest.nest import LoopNest, from_supports
from jouleloop.theory.loop_nest.read import from_einsum
from shares import slow_after

SMALL = [
    ("ik,kj->ij", (9, 7, 5)),
    ("ik,k->i", (12, 11)),
    ("a,b->a", (17, 13)),
    ("abc,bcd,acd->abd", (4, 3, 5, 4)),
    ("whc,kc->khw", (3, 4, 6, 5)),
    ("ab,bc,cd->ad", (5, 4, 3, 4)),
    ("a,b,c->abc", (5, 6, 4)),
]


def with_sizes(expression: str, sizes: tuple[int, ...]) -> LoopNest:
    nest = from_einsum(expression)
    return nest.with_bounds(dict(zip(nest.loops, sizes, strict=True)))


def all_tiles(nest: LoopNest) -> itertools.product:
    return itertools.product(*(range(1, bound + 1) for bound in nest.bounds))


def run(nest: LoopNest, sides: tuple[int, ...], **options: object) -> TiledRun:
    return run_tiled(nest, sides, random_inputs(nest), **options)


@pytest.mark.parametrize("fit", list(Fit))
@pytest.mark.parametrize("cache", [6, 20, 45])
@pytest.mark.parametrize(("expression", "sizes"), SMALL)
def test_integer_tile_is_the_largest(expression: str, sizes: tuple[int, ...], cache: int, fit: Fit) -> None:
    nest = with_sizes(expression, sizes)
    found = integer_tile(nest, cache, fit=fit)
    assert found.optimal
    assert fits(nest, found.sides, cache, fit)
    assert found.volume == max(math.prod(sides) for sides in all_tiles(nest) if fits(nest, sides, cache, fit))


def test_integer_tiles_of_random_nests_are_the_largest() -> None:
    chooser = random.Random(3)
    for _ in range(25):
        loops, arrays = chooser.randint(2, 4), chooser.randint(1, 4)
        supports = [{i for i in range(loops) if chooser.random() < 0.5} for _ in range(arrays)]
        for loop in range(loops):
            if not any(loop in support for support in supports):
                supports[0].add(loop)
        nest = from_supports(
            tuple("abcd"[:loops]),
            tuple(chooser.randint(1, 9) for _ in range(loops)),
            tuple("ABCD"[:arrays]),
            tuple(tuple(sorted(support)) for support in supports),
        )
        cache = chooser.randint(4, 60)
        for fit in Fit:
            found = integer_tile(nest, cache, fit=fit)
            assert found.optimal
            assert found.volume == max(math.prod(s) for s in all_tiles(nest) if fits(nest, s, cache, fit))


def test_a_small_budget_is_said_not_hidden() -> None:
    nest = from_einsum("abc,bcd,acd->abd", {"a": 900, "b": 800, "c": 700, "d": 600})
    assert not integer_tile(nest, 5000, fit=Fit.SUM, budget=1).optimal


def test_too_small_a_cache_names_the_assumption() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 2, "k": 2, "j": 2})
    with pytest.raises(AssumptionError, match="one for each array"):
        integer_tile(nest, 2, fit=Fit.SUM)


@pytest.mark.parametrize(("expression", "sizes"), SMALL)
@pytest.mark.parametrize("reuse", [True, False])
def test_executed_schedule_computes_the_einsum(expression: str, sizes: tuple[int, ...], reuse: bool) -> None:
    nest = with_sizes(expression, sizes)
    inputs = random_inputs(nest, seed=1)
    # einsum sums over the loops that the output lacks, which is what `+=` does; the letters are ours, sorted.
    terms = ["".join(nest.loops[i] for i in support) for support in nest.supports]
    expected = np.einsum(",".join(terms[:-1]) + "->" + terms[-1], *inputs)
    for sides in [(2,) * len(sizes), (3, *(1,) * (len(sizes) - 1)), sizes]:
        done = run_tiled(nest, sides, inputs, order=tuple(reversed(range(len(sizes)))), reuse=reuse)
        assert done.operations == nest.operations
        np.testing.assert_array_equal(done.results[0], expected)


def test_counts_of_matrix_multiplication_by_hand() -> None:
    """8 × 8 × 8 in tiles of 4 × 2 × 8 (i, k, j), loops over tiles i outermost, then j, then k."""
    nest = from_einsum("ik,kj->ij", {"i": 8, "k": 8, "j": 8})
    done = run(nest, (4, 2, 8), order=(0, 2, 1))
    assert done.tiles == 2 * 4 * 1
    assert done.cache.loaded == Counter(in1=8 * 8, in2=2 * 8 * 8), (
        "in1 once, in2 once for each of two rows of tiles, out created"
    )
    assert done.cache.stored == Counter(out=64)
    assert done.cache.peak_words == 4 * 2 + 2 * 8 + 4 * 8
    without = run(nest, (4, 2, 8), order=(0, 2, 1), reuse=False)
    assert without.cache.loaded == Counter(in1=64, in2=128, out=3 * 2 * 32), (
        "partial sums return three times for each of two blocks"
    )
    assert without.cache.stored == Counter(out=8 * 32)


@pytest.mark.parametrize("cache", slow_after(1, [30, 12, 70]))
@pytest.mark.parametrize(("expression", "sizes"), SMALL)
def test_no_schedule_moves_less_than_the_bounds(expression: str, sizes: tuple[int, ...], cache: int) -> None:
    """Every tile that fits, in every order of a sample, with and without reuse."""
    nest = with_sizes(expression, sizes)
    proven = communication_with_constants(closed_form(nest), nest, cache)
    bounds = {bound.name: bound for bound in nest_bounds(analyse(nest, cache))}
    theorem = bounds["communication_lower_bound"]
    orders = list(itertools.permutations(range(len(sizes))))
    chooser = random.Random(0)
    candidates = [sides for sides in all_tiles(nest) if fits(nest, sides, cache, Fit.SUM)]
    least = float("inf")
    for sides in chooser.sample(candidates, min(30, len(candidates))):
        for order in chooser.sample(orders, min(3, len(orders))):
            done = run(nest, sides, order=order)
            assert done.cache.peak_words <= cache
            least = min(least, done.cache.total_words)
        # The paper's model: every tile carries all its words. Then its Ω holds with constant 1 (docs).
        carried = run(nest, sides, reuse=False)
        touched = sum(math.prod(words) for words in _pieces_touched(nest, sides))
        assert carried.cache.total_words >= touched
        if theorem.assumptions_hold:
            assert touched >= theorem.value * (1 - 1e-12)
    assert least >= proven * (1 - 1e-12)
    assert least >= sum(nest.array_sizes_words)


def _pieces_touched(nest: LoopNest, sides: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Words of every array, summed over all tiles: its size times the tiles in the loops it lacks."""
    return [
        tuple(
            bound if loop in support else -(-bound // side)
            for loop, (bound, side) in enumerate(zip(nest.bounds, sides, strict=True))
        )
        for support in nest.supports
    ]


@pytest.mark.parametrize(("expression", "sizes"), SMALL)
def test_counted_words_are_the_executed_ones(expression: str, sizes: tuple[int, ...]) -> None:
    nest = with_sizes(expression, sizes)
    chooser = random.Random(1)
    orders = list(itertools.permutations(range(len(sizes))))
    for sides in chooser.sample(list(all_tiles(nest)), 25):
        order = chooser.choice(orders)
        assert schedule_words(nest, np.array([sides]), order)[0] == run(nest, sides, order=order).cache.total_words


def test_best_schedule_beats_every_tile_and_order() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 6, "k": 5, "j": 4})
    best = best_schedule(nest, 14)
    words = [
        run(nest, sides, order=order).cache.total_words
        for sides in all_tiles(nest)
        if fits(nest, sides, 14, Fit.SUM)
        for order in itertools.permutations(range(3))
    ]
    assert best.transfers_words == min(words)
    assert fits(nest, best.sides, 14, Fit.SUM)


def test_attained_within_a_constant() -> None:
    """The best tiled schedules come within 2.2 of the proven bound, for thin and for thick matrix multiplications."""
    for third in (1, 4, 12, 24, 48):
        nest = from_einsum("ik,kj->ij", {"i": 48, "k": 48, "j": third})
        proven = communication_with_constants(closed_form(nest), nest, 192)
        assert proven <= best_schedule(nest, 192).transfers_words <= 2.2 * proven
    with pytest.raises(AssumptionError):
        best_schedule(nest, 2)
    with pytest.raises(InputError):
        best_schedule(from_einsum("abcdef->f", dict.fromkeys("abcdef", 10**6)), 100)


def test_wrong_schedules_are_refused() -> None:
    nest = from_einsum("ik,kj->ij", {"i": 4, "k": 4, "j": 4})
    inputs = [np.ones((4, 4)), np.ones((4, 4))]
    for sides, order in [((5, 1, 1), None), ((0, 1, 1), None), ((1, 1), None), ((1, 1, 1), (0, 0, 1))]:
        with pytest.raises(InputError):
            run_tiled(nest, sides, inputs, order=order)
