"""Blocked convolutions executed element by element: counts equal the closed forms, results equal NumPy, bounds hold."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.convolution.blocking import (
    ARRAYS,
    Blocking,
    best_order,
    block_elements,
    blocked_volume,
    largest_blocking,
    tap_tiles,
)
from jouleloop.theory.convolution.blocking_search import VARIABLES, best_blocking, constraint_matrix, solve_blocking_lp
from jouleloop.theory.convolution.bounds import bound_value, single_processor_bounds
from jouleloop.theory.convolution.execute_blocking import (
    direct_convolution,
    execute_blocking,
    execute_naive,
    sample_operands,
)
from jouleloop.theory.convolution.layer import RESNET50_PRECISIONS, Precisions, standing_assumptions
from jouleloop.theory.convolution.volumes import naive_volume
from jouleloop.theory.layers import RESNET50_LAYERS, ConvLayer, useful_sides
from shares import slow_after

MIXED = Precisions(Fraction(1), Fraction(1, 2), Fraction(2))
LAYERS = [
    ConvLayer(2, 3, 2, 4, 3, 3, 2, 1, 1),
    ConvLayer(1, 2, 3, 3, 4, 5, 3, 2, 2),
    ConvLayer(3, 2, 2, 5, 1, 4, 1, 3, 1),
    ConvLayer(1, 2, 2, 3, 3, 1, 1, 2, 2),
    ConvLayer(4, 5, 3, 1, 1, 1, 1),
]


def all_blockings(layer):
    return [
        Blocking(*sides) for sides in itertools.product(*(range(1, s + 1) for s in largest_blocking(layer).sides()))
    ]


def sample(layer, count, seed=1):
    choices = all_blockings(layer)
    picks = np.random.default_rng(seed).choice(len(choices), min(count, len(choices)), replace=False)
    return [choices[i] for i in picks]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kept", ARRAYS)
def test_executed_counts_equal_the_closed_form(layer, kept):
    truth = direct_convolution(layer, *sample_operands(layer))
    for blocking in sample(layer, 25):
        expected = blocked_volume(layer, MIXED, blocking, kept)
        run = execute_blocking(layer, MIXED, blocking, expected.block_words, kept=kept)
        np.testing.assert_array_equal(run.output, truth)
        assert run.updates == layer.macs
        assert run.memory.peak_words == expected.block_words
        # Where a group of loops is a single tile, further arrays happen to stay: the form for `kept` counts an
        # array at least as often as it moves, and exactly in the best order.
        assert run.memory.words_moved <= expected.words
        best = best_order(layer, MIXED, blocking)
        again = execute_blocking(layer, MIXED, blocking, best.block_words, kept=best.kept)
        assert again.memory.loaded == Counter(best.loaded)
        assert again.memory.stored == Counter(best.stored)
        assert again.memory.words_moved == best.words
        assert run.memory.words_moved >= best.words


@pytest.mark.parametrize("layer", LAYERS)
def test_one_word_less_than_the_block_is_refused(layer):
    blocking = sample(layer, 1)[0]
    need = blocked_volume(layer, MIXED, blocking).block_words
    with pytest.raises(AssumptionError, match="more fast memory"):
        execute_blocking(layer, MIXED, blocking, need - Fraction(1, 4))


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("precisions", slow_after(1, [MIXED, Precisions(), RESNET50_PRECISIONS]))
def test_search_equals_brute_force_over_every_blocking(layer, precisions):
    volumes = [blocked_volume(layer, precisions, b, kept) for b in all_blockings(layer) for kept in ARRAYS]
    for memory in (4, 6, 9, 15, 30, 80, 500):
        feasible = [v.words for v in volumes if v.block_words <= memory]
        if not feasible:
            with pytest.raises(AssumptionError):
                best_blocking(layer, precisions, Fraction(1))
            continue
        found = best_blocking(layer, precisions, memory)
        assert found.words == min(feasible)
        assert found.block_words <= memory
        run = execute_blocking(layer, precisions, found.blocking, memory, kept=found.kept)
        assert run.memory.words_moved == found.words


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("precisions", slow_after(1, [MIXED, Precisions(), RESNET50_PRECISIONS]))
def test_no_blocking_goes_below_the_lower_bound(layer, precisions):
    if any(not a.holds for a in standing_assumptions(layer) if "<= σ" in a.text):
        pytest.skip("outside the assumptions")
    for blocking in all_blockings(layer):
        best = best_order(layer, precisions, blocking)
        bound = bound_value(
            single_processor_bounds(layer, precisions, best.block_words), "single_processor_lower_bound"
        )
        assert float(best.words) >= bound * (1 - 1e-12)


@pytest.mark.parametrize("memories", [(3, 8, 20), pytest.param((4, 5, 12, 20), marks=pytest.mark.slow)])
def test_small_memory_layers_where_the_memory_terms_lead_stay_above_the_bound(memories):
    # Layers large enough, for a memory small enough, that the second and third terms exceed the compulsory traffic.
    seen = set()
    for layer, memory in itertools.product(
        [ConvLayer(2, 6, 6, 6, 6, 3, 3), ConvLayer(1, 2, 2, 6, 6, 5, 5), ConvLayer(8, 8, 8, 1, 1, 1, 1)],
        memories,
    ):
        found = single_processor_bounds(layer, Precisions(), memory)
        best = best_blocking(layer, Precisions(), memory)
        run = execute_blocking(layer, Precisions(), best.blocking, memory, kept=best.kept)
        bound = next(b for b in found if b.name == "single_processor_lower_bound")
        seen.add(bound.note)
        assert run.memory.peak_words <= memory
        assert float(run.memory.words_moved) >= float(bound.value)
    assert seen == {f"active term: {name}" for name in ("compulsory_traffic", "large_filter_term", "small_filter_term")}


def test_whole_layer_in_memory_beats_the_printed_first_term():
    # Why the printed footprint is an error: this execution moves fewer words than "every element of the arrays once".
    layer = ConvLayer(2, 3, 2, 4, 4, 3, 3)
    block = largest_blocking(layer)
    run = execute_blocking(layer, Precisions(), block, sum(block_elements(layer, block).values()))
    found = single_processor_bounds(layer, Precisions(), run.memory.peak_words)
    assert float(run.memory.words_moved) == bound_value(found, "compulsory_traffic")
    assert float(run.memory.words_moved) < bound_value(found, "theorem_2_1_as_printed")


@pytest.mark.parametrize("layer", LAYERS)
def test_naive_execution_equals_its_closed_form(layer):
    run = execute_naive(layer, MIXED, MIXED.total)
    np.testing.assert_array_equal(run.output, direct_convolution(layer, *sample_operands(layer)))
    assert run.memory.words_moved == naive_volume(layer, MIXED).words


@pytest.mark.parametrize(("taps", "stride"), list(itertools.product(range(1, 8), range(1, 5))))
def test_tap_tiles_partition_the_filter(taps, stride):
    for quotients, residues in itertools.product(range(1, -(-taps // stride) + 1), range(1, min(stride, taps) + 1)):
        assert sum(map(sum, tap_tiles(taps, stride, quotients, residues))) == taps


def test_useful_sides_reach_every_number_of_tiles():
    for length in range(1, 60):
        sides = useful_sides(length)
        assert {-(-length // s) for s in sides} == {-(-length // s) for s in range(1, length + 1)}
        assert len(sides) == len({-(-length // s) for s in sides})


def test_printed_matrix_rows():
    # 001 §3.2 as printed in 000 (the extraction of 001 lost a row), columns in the order that makes (6) true.
    printed = """1 0 1 1 1 0 0 0 0
    0 1 1 0 0 1 1 1 1
    1 1 0 1 1 0 1 0 1
    1 1 0 1 0 0 1 1 1
    1 1 0 0 1 1 1 0 1
    1 1 0 0 0 1 1 1 1"""
    assert constraint_matrix() == tuple(tuple(map(int, line.split())) for line in printed.splitlines())
    assert len(VARIABLES) == 9


@pytest.mark.parametrize("name", RESNET50_LAYERS)
@pytest.mark.parametrize("exponent", [6, 10, 15, 20, 24])
def test_linear_program_rounds_to_a_block_that_fits(name, exponent):
    layer, memory = RESNET50_LAYERS[name], 2**exponent
    blocking = solve_blocking_lp(layer, RESNET50_PRECISIONS, memory)
    block = block_elements(layer, blocking)
    for array in ARRAYS:
        # Inequalities (6): every array's block within its share of memory, by the exact footprint.
        assert block[array] <= memory / RESNET50_PRECISIONS.total
    rounded = best_order(layer, RESNET50_PRECISIONS, blocking)
    assert rounded.block_words <= memory
    best = best_blocking(layer, RESNET50_PRECISIONS, memory)
    bound = bound_value(single_processor_bounds(layer, RESNET50_PRECISIONS, memory), "single_processor_lower_bound")
    assert bound <= float(best.words) <= float(rounded.words)


def test_linear_program_without_room_is_refused():
    with pytest.raises(AssumptionError, match="M >= 4 p_T"):
        solve_blocking_lp(RESNET50_LAYERS["conv1"], RESNET50_PRECISIONS, 15)


def test_bad_blockings_are_refused():
    layer = LAYERS[0]
    with pytest.raises(InputError, match="too large"):
        execute_blocking(RESNET50_LAYERS["conv1"], MIXED, Blocking(), 100)
    with pytest.raises(AssumptionError, match="p_I \\+ p_F \\+ p_O"):
        best_blocking(layer, MIXED, 3)


def test_search_is_fast_enough_for_real_layers():
    for layer in RESNET50_LAYERS.values():
        found = best_blocking(layer, RESNET50_PRECISIONS, 2**16)
        assert math.isfinite(float(found.words))
        assert found.block_words <= 2**16
