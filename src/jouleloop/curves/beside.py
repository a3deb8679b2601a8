"""Theory beside a curve: the papers' bounds at each capacity, and whether the curve falls with its square root."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jouleloop.curves.hardware import dram_words
from jouleloop.curves.staircase import Question, Staircase, Step
from jouleloop.stats.exponent import ExponentFit, exponent_fit
from jouleloop.stats.growth import GrowthTest, fit_growth
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.network_bound import least_dram_words, problem_lower_words
from jouleloop.theory.fully_connected.bounds import word_bounds
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.layers import ConvLayer
from jouleloop.workload.kinds import kind_named
from jouleloop.workload.layer import CONV, Layer
from jouleloop.workload.problem import Problem

#: Words that a unit holds besides all memories: two operands and a sum.
_UNIT_WORDS = 3
_FEWEST_STEPS = 4
_MATMUL = kind_named("matmul").reduced


@dataclass(frozen=True)
class TheoryLine:
    """What one paper says of DRAM words."""

    name: str
    lower: bool
    """Whether no schedule moves fewer words; the others are what a paper's schedule moves."""
    words: tuple[float | None, ...]
    """At each capacity; None where the paper says nothing."""


def fast_words(question: Question, words: int | None) -> int | None:
    """Return the words of all memory on the chip where the level leaves ``words`` to a tile; None: unlimited.

    Units count with three words each: what no level keeps is there while it is used.
    """
    total = _UNIT_WORDS * question.target.arch.compute.instances
    for level in question.target.arch.levels[1:]:
        held = words if level.name == question.level else level.effective_words
        if held is None:
            return None
        total += held * level.instances
    return total


def theory_lines(question: Question, capacities: Sequence[int | None]) -> list[TheoryLine]:
    """Return what the papers say at these capacities [words of a tile]: those that speak of the problem."""
    memories = [fast_words(question, words) for words in capacities]
    layer = conv_layer(question.problem)
    projective = question.problem if layer is None else _product(layer)
    lines = []
    if layer is not None:
        words = tuple(float(least_dram_words(layer, memory)) for memory in memories)
        lines.append(TheoryLine("paper 001, Theorem 2.1", True, words))
        if layer.in_channels * layer.out_channels == layer.macs:
            lines += _fully_connected(layer.in_channels, layer.out_channels, memories)
    if projective is not None:
        single = all(len(rank) == 1 for space in projective.data_spaces for rank in space.projection)
        words = tuple(problem_lower_words(projective, memory) for memory in memories)
        lines.append(TheoryLine("paper 004, Theorem 2" if single else "every word once", True, words))
    return lines


def _product(layer: ConvLayer) -> Problem | None:
    """Return the product of matrices that a convolution of 1 x 1 windows is; None where it is none."""
    if (layer.filter_width, layer.filter_height, layer.stride_width, layer.stride_height) != (1, 1, 1, 1):
        return None
    pixels = layer.batch * layer.out_width * layer.out_height
    return Layer.of("matmul", M=layer.out_channels, K=layer.in_channels, N=pixels).problem()


def _fully_connected(inputs: int, outputs: int, memories: Sequence[int | None]) -> list[TheoryLine]:
    """Return the least of paper 002 and what its equation (28) moves; biases, which no model reads, left out."""
    lower: list[float | None] = []
    scheme: list[float | None] = []
    for memory in memories:
        if memory is None or memory < 3:
            lower.append(None)
            scheme.append(None)
            continue
        found = word_bounds(FcLayer(inputs, outputs, memory))
        lower.append(float(found.lower_words - outputs))
        scheme.append(None if found.eq_28_words is None else float(found.eq_28_words - outputs))
    return [
        TheoryLine("paper 002, lower bound", True, tuple(lower)),
        TheoryLine("paper 002, equation (28)", False, tuple(scheme)),
    ]


def conv_layer(problem: Problem) -> ConvLayer | None:
    """Return the convolution that a problem is; None where it is none, has groups or dilated windows.

    A product of matrices is a convolution of 1 x 1 windows.
    """
    bound, coefficient = problem.bound, problem.coefficient
    if problem.shape == _MATMUL:
        return ConvLayer(1, bound["K"], bound["M"], bound["N"], 1, filter_width=1, filter_height=1)
    if problem.shape != CONV or max(coefficient[name] for name in ("Wdilation", "Hdilation")) > 1:
        return None
    batch, inputs, outputs, *sizes = (bound[name] for name in ("N", "C", "M", "P", "Q", "R", "S"))
    width, height, filter_width, filter_height = sizes
    strides = coefficient["Wstride"], coefficient["Hstride"]
    return ConvLayer(batch, inputs, outputs, width, height, filter_width, filter_height, *strides)


def least_words(lines: Sequence[TheoryLine]) -> list[float]:
    """Return the largest of the lower bounds at each capacity."""
    lower = [line.words for line in lines if line.lower]
    return [max((words for words in column if words is not None), default=0.0) for column in zip(*lower, strict=True)]


@dataclass(frozen=True)
class CurveGrowth:
    """How DRAM words fall between the two corners of a curve."""

    steps: int
    least_words: int
    most_words: int
    """Of the steps between the corners."""
    test: GrowthTest
    """Whether they are c + d words^k with the expected k."""
    exponent: ExponentFit
    """The k that fits best."""


def corners(staircase: Staircase, tolerance: float = StatisticsOptions().exponent_tolerance) -> tuple[int, float]:
    """Return the capacities between which theory's words of a layer fall with a power of the capacity.

    The lower one follows from theory's own words at k words of buffer: beside 1 / (sqrt(k + 1) - 1), of a tile of a x a
    with its edges, the exponent is -1/2 - 1 / (2 sqrt(k + 1)); beside 1 / (k - 1), of equation (28) of paper 002, it is
    -1 - 1 / (k - 1). From the corner on it is within ``tolerance`` of the power. Beyond the upper one theory asks for
    no more than every word once.
    """
    capacities = [step.words for step in staircase.steps]
    least = _least_words(staircase.question, [*capacities, None])
    falling = [words for words, bound in zip(capacities, least[:-1], strict=True) if bound > least[-1]]
    half = expected_exponent(staircase.question.problem) == -0.5
    low = 1 / (2 * tolerance) ** 2 - 1 if half else 1 / tolerance + 1
    return math.ceil(low * (1 - 1e-12)), max(falling, default=-1)


def expected_exponent(problem: Problem) -> float:
    """Return the power of the capacity that theory expects: -1/2, or -1 where only two sizes are above 1 (002)."""
    return -0.5 if sum(size > 1 for size in problem.bound.values()) > 2 else -1.0


def curve_growth(staircase: Staircase, options: StatisticsOptions | None = None) -> CurveGrowth | None:
    """Return the test of the steps between the corners; None where they are too few for one."""
    options = options or StatisticsOptions()
    low, high = corners(staircase, options.exponent_tolerance)
    steps: list[Step] = [step for step in staircase.steps if low <= step.words <= high]
    if len(steps) < _FEWEST_STEPS:
        return None
    expected = expected_exponent(staircase.question.problem)
    x = np.array([step.words for step in steps], dtype=np.float64)
    y = np.array([dram_words(step.result.evaluation) for step in steps if step.result.evaluation is not None])
    test = fit_growth(x**expected, y, "linear", options)
    return CurveGrowth(
        len(steps),
        steps[0].words,
        steps[-1].words,
        test,
        exponent_fit(x, y, expected, tolerance=options.exponent_tolerance),
    )


def ratios(staircase: Staircase) -> list[float | None]:
    """Return the DRAM words of each step over the largest lower bound at its least capacity."""
    least = _least_words(staircase.question, [step.words for step in staircase.steps])
    return [
        dram_words(step.result.evaluation) / words if words and step.result.evaluation is not None else None
        for step, words in zip(staircase.steps, least, strict=True)
    ]


def _least_words(question: Question, capacities: Sequence[int | None]) -> list[float]:
    return least_words(theory_lines(question, capacities))
