"""Random small convolutions: the best blocking against brute force, execution and every form of the lower bound."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jouleloop.theory.convolution.blocking import ARRAYS, Blocking, blocked_volume, largest_blocking
from jouleloop.theory.convolution.blocking_search import best_blocking
from jouleloop.theory.convolution.bounds import bound_value, single_processor_bounds
from jouleloop.theory.convolution.execute_blocking import execute_blocking
from jouleloop.theory.convolution.layer import Precisions, standing_assumptions
from jouleloop.theory.layers import ConvLayer

sizes = st.integers(1, 4)
words = st.sampled_from([Fraction(1, 4), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(5)])
layers = st.builds(ConvLayer, sizes, sizes, sizes, sizes, sizes, sizes, sizes, st.integers(1, 3), st.integers(1, 3))


DRAWS = (layers, st.builds(Precisions, words, words, words), st.integers(1, 120))


@settings(max_examples=10, deadline=None)
@given(*DRAWS)
def test_best_blocking_is_feasible_optimal_and_above_the_bounds(layer, precisions, memory):
    check(layer, precisions, memory)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(*DRAWS)
def test_so_are_those_of_more_layers(layer, precisions, memory):
    check(layer, precisions, memory)


def check(layer, precisions, memory):
    assume(memory >= precisions.total)
    best = best_blocking(layer, precisions, memory)
    run = execute_blocking(layer, precisions, best.blocking, memory, kept=best.kept)
    assert run.memory.words_moved == best.words
    assert run.memory.peak_words <= memory
    limits = largest_blocking(layer).sides()
    if math.prod(limits) <= 2000:
        volumes = (
            blocked_volume(layer, precisions, Blocking(*chosen), kept)
            for chosen in itertools.product(*(range(1, limit + 1) for limit in limits))
            for kept in ARRAYS
        )
        assert best.words == min(volume.words for volume in volumes if volume.block_words <= memory)
    assume(all(held.holds for held in standing_assumptions(layer) if "_O" in held.text))
    found = single_processor_bounds(layer, precisions, memory)
    for name in ("single_processor_lower_bound", "lower_bound_outputs_start_at_zero"):
        assert float(best.words) >= bound_value(found, name) * (1 - 1e-12)
