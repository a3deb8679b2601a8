"""Every step of a curve against a search at every capacity, and against an enumeration that shares nothing with it."""

import os
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise

import pytest

from differential.case import Case, unhindered
from differential.draw import KINDS, draw_case
from differential.enumerator import Enumerator, evaluate
from differential.native import load
from jouleloop.curves.hardware import held_words
from jouleloop.curves.staircase import CURVE_OBJECTIVES, Limits, Question, Staircase, walk
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import JouleloopError
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.objective import OBJECTIVES

#: Curves by kind of case, more with the variable; and those that are walked at once.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "13"))
FIRST = min(EXAMPLES, 2)
#: The draws of `make test`, and those of `make test-all`.
SEEDS = [*range(FIRST), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(FIRST, EXAMPLES))]
#: Mappings of a case under its own capacities, and under any.
LIMIT, MOST_MAPPINGS = 1500, 1500
#: Capacities that are searched one by one.
MOST_WORDS = 150


@cache
def drawn(kind: str, seed: int) -> tuple[Case, Staircase] | None:
    """Return a case and a curve of it; None where it is refused by name."""
    case = draw_case(seed, kind, LIMIT)
    try:
        problem, target = load(case)
        inner = target.arch.levels[1:]
        level = inner[seed % len(inner)].name
        question = Question(problem, target, level, CURVE_OBJECTIVES[seed % len(CURVE_OBJECTIVES)])
        return case, walk(question, Limits())
    except JouleloopError:
        return None


def least_at(question: Question, words: int) -> float | None:
    """Return the least value at a capacity by a search of its own."""
    found = NativeEngine().search(question.problem, question.at(words), SearchOptions((question.minimised,)))
    return None if found.evaluation is None else OBJECTIVES[question.minimised].value(found.evaluation)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_capacity_has_the_value_of_its_step(kind: str, seed: int) -> None:
    found = drawn(kind, seed)
    if found is None:
        return
    curve = found[1]
    assert curve.proven
    assert [step.words for step in curve.steps] == sorted(step.words for step in curve.steps)
    for lower, upper in pairwise(curve.steps):
        assert lower.most_words == upper.words - 1
        assert lower.value > upper.value
    largest = curve.steps[-1].words if curve.steps else 20
    near = {words for step in curve.steps for words in (step.words - 1, step.words)} - {-1}
    for words in sorted({*range(min(largest, MOST_WORDS) + 2), largest + 1, *near}):
        step, least = curve.at(words), least_at(curve.question, words)
        assert (step is None) == (least is None), words
        if step is not None:
            assert step.value == pytest.approx(least, rel=1e-9), words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_steps_are_those_of_an_enumeration(kind: str, seed: int) -> None:
    """Every mapping under any capacity, counted symbolically: the staircase of words held and least value."""
    found = drawn(kind, seed)
    if found is None:
        return
    case, curve = found
    question = curve.question
    if question.objective not in OBJECTIVES:
        return
    target = question.at(None)
    every = Enumerator(case, question.problem, target.arch, unhindered(case)).mappings()
    counting = list(islice(every, MOST_MAPPINGS + 1))
    if len(counting) > MOST_MAPPINGS:
        return
    points = []
    for mapping in counting:
        energy_pj, cycles = evaluate(question.problem, target.arch, target.costs, mapping, case.semantics)
        counted = evaluate_mapping(question.problem, target.arch, target.costs, mapping, case.semantics)
        points.append((held_words(counted, question.level), OBJECTIVES[question.objective].of(energy_pj, cycles)))
    steps: list[tuple[int, float]] = []
    for held, value in sorted(points):
        if not steps or value < steps[-1][1] * (1 - 1e-9):
            steps = [step for step in steps if step[0] < held] + [(held, value)]
    assert [step.words for step in curve.steps] == [held for held, _ in steps]
    assert [step.value for step in curve.steps] == pytest.approx([value for _, value in steps], rel=1e-9)


@pytest.mark.parametrize("examples", [FIRST, pytest.param(EXAMPLES, marks=pytest.mark.slow)])
def test_few_cases_are_refused_or_too_large(examples: int) -> None:
    found = [drawn(kind, seed) for kind in KINDS for seed in range(examples)]
    assert sum(curve is not None for curve in found) >= 0.9 * len(found)
    assert sum(len(curve[1].steps) > 1 for curve in found if curve is not None) >= 0.4 * len(found)


def test_the_test_sees_a_step_that_is_missing() -> None:
    """A curve without one of its steps differs from the searches at every capacity."""
    found = next(
        curve for curve in (drawn("general", seed) for seed in range(EXAMPLES)) if curve and len(curve[1].steps) > 2
    )
    curve = found[1]
    broken = replace(curve, steps=(curve.steps[0], *curve.steps[2:]))
    words = curve.steps[1].words
    step = broken.at(words)
    assert step is not None
    assert step.value != pytest.approx(least_at(curve.question, words), rel=1e-9)
