"""Theory beside a curve: bounds that hold, the corners, and the test of the exponent."""

from collections.abc import Callable

import numpy as np
import pytest

from asked import question
from jouleloop.curves.beside import (
    conv_layer,
    corners,
    curve_growth,
    expected_exponent,
    fast_words,
    ratios,
    theory_lines,
)
from jouleloop.curves.staircase import DRAM_WORDS, Limits, walk
from jouleloop.stats.growth import Outcome, fit_growth

CONV, GROUPS = "conv:C4xM8xP6xQ6xR3xS3", "conv:C4xM8xP6xQ6xR3xS3/groups2"
LAYERS = ["matmul:M32xN32xK32", "fc:48x32", "fc:32x32/batch8", CONV, GROUPS]


@pytest.mark.parametrize("arch", [("two_levels", "Buffer"), ("eyeriss", "shared_glb")])
@pytest.mark.parametrize("layer", LAYERS)
def test_no_step_is_below_theory(layer: str, arch: tuple[str, str]) -> None:
    curve = walk(question(layer, *arch, objective=DRAM_WORDS), Limits())
    found = ratios(curve)
    assert len(found) == len(curve.steps)
    assert all(ratio is not None and ratio >= 1 for ratio in found)
    # Of windows of groups theory counts the longer side alone.
    assert layer == GROUPS or found[-1] == pytest.approx(1)


def test_the_papers_that_speak_of_a_layer() -> None:
    names = {layer: [line.name for line in theory_lines(question(layer), [20, None])] for layer in LAYERS}
    assert names["matmul:M32xN32xK32"] == ["paper 001, Theorem 2.1", "paper 004, Theorem 2"]
    assert "paper 002, equation (28)" in names["fc:48x32"]
    assert names["fc:32x32/batch8"] == names["matmul:M32xN32xK32"]
    assert names[CONV] == ["paper 001, Theorem 2.1"]
    assert names[GROUPS] == ["every word once"]


def test_fast_memory_counts_all_instances() -> None:
    asked = question("fc:48x32", "eyeriss", "shared_glb")
    inner = sum(level.instances * (level.effective_words or 0) for level in asked.target.arch.levels[2:])
    assert fast_words(asked, 100) == 100 + inner + 3 * asked.target.arch.compute.instances
    assert fast_words(asked, None) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "steps", "agrees", "exponent"),
    [
        # Too few steps to tell it from theory's.
        (720, 30, "undecided", -0.516),
        # A size with many divisors has many steps, which fix the exponent of a product.
        (5040, 100, "yes", -0.5140),
    ],
)
def test_the_exponent_between_the_corners(size: int, steps: int, agrees: str, exponent: float) -> None:
    curve = walk(question(f"matmul:M{size}xN{size}xK{size}"), Limits())
    low, high = corners(curve)
    assert low == 624
    assert size**2 / 8 < high < size**2
    growth = curve_growth(curve)
    assert growth is not None
    assert growth.steps > steps
    assert growth.exponent.expected == expected_exponent(curve.question.problem) == -0.5
    assert growth.exponent.agrees == agrees
    assert growth.exponent.exponent == pytest.approx(exponent, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["matmul:M2520xN5040xK1260", "matmul:M5040xN1680xK3360"])
def test_the_square_root_of_products_that_the_rule_was_not_made_with(layer: str) -> None:
    growth = curve_growth(walk(question(layer), Limits()))
    assert growth is not None
    assert growth.exponent.agrees == "yes"


@pytest.mark.parametrize("tolerance", [0.01, 0.02, 0.05])
@pytest.mark.parametrize(
    ("layer", "held", "power"), [("matmul:M4xN4xK4", lambda k: (k + 1) ** 0.5, -0.5), ("fc:4x4", lambda k: k, -1.0)]
)
def test_the_lower_corner_follows_from_theory(
    layer: str, held: Callable[[float], float], power: float, tolerance: float
) -> None:
    """From the corner on, the slope of theory's own words in logarithms is within the tolerance of the power."""
    low, _ = corners(walk(question(layer), Limits()), tolerance)

    def slope(k: float) -> float:
        return (np.log(1 / (held(k * 1.000001) - 1)) - np.log(1 / (held(k) - 1))) / np.log(1.000001)

    assert abs(slope(low) - power) <= tolerance * (1 + 1e-4)
    assert abs(slope(low - 2) - power) > tolerance


def test_words_of_a_matrix_times_a_vector_are_an_exact_law() -> None:
    """c + d / (capacity - 1), as equation (28) of paper 002 has it with weights that pass by."""
    curve = walk(question("fc:5040x5040"), Limits())
    growth = curve_growth(curve)
    assert growth is not None
    assert growth.exponent.agrees == "yes"
    low, high = corners(curve)
    steps = [step for step in curve.steps if low <= step.words <= high]
    test = fit_growth([1 / (step.words - 1) for step in steps], [step.value for step in steps], "linear")
    assert test.verdict.outcome is Outcome.EXACT


@pytest.mark.slow
def test_convolutions_leave_the_square_root() -> None:
    growth = curve_growth(walk(question("conv:C60xM60xP60xQ60xR3xS3"), Limits()))
    assert growth is not None
    assert growth.exponent.agrees == "no"
    assert growth.exponent.high < -0.58


def test_few_steps_are_no_test() -> None:
    assert curve_growth(walk(question("matmul:M8xN8xK8"), Limits())) is None


def test_what_is_no_convolution() -> None:
    assert conv_layer(question("conv:C4xM8xP6xQ6xR3xS3/dilation2").problem) is None
    found = conv_layer(question("matmul:M3xN4xK5").problem)
    assert found is not None
    assert found.macs == np.prod([3, 4, 5])
