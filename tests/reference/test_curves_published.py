"""Curves against what Orojenesis prints and what AccelForge's tests expect; see ``reference/curves/README.md``."""

import csv
from dataclasses import replace
from functools import cache
from operator import mul

import pytest

from asked import question
from jouleloop.curves.staircase import Limits, Question, Step, walk
from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.engines.timeloop.programs import locate
from jouleloop.errors import EngineError
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.workload.timeloop_problem import problem_from
from paths import ROOT

DATA = ROOT / "tests" / "reference" / "curves"
#: One operand, word by word, such as a softmax or an activation.
UNARY = {
    "name": "unary",
    "dimensions": ["X"],
    "data_spaces": [
        {"name": "A", "projection": [[["X"]]]},
        {"name": "Z", "projection": [[["X"]]], "read_write": True},
    ],
}


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as stream:
        return list(csv.DictReader(stream))


def kept(layer: str) -> Question:
    """Return the question of Orojenesis: the buffer keeps all three operands."""
    asked = question(layer)
    spaces = frozenset(space.name for space in asked.problem.data_spaces)
    constraints = Constraints("keep", {"Buffer": LevelConstraints(keep=spaces)})
    return replace(asked, target=replace(asked.target, constraints=constraints))


def top_step(asked: Question) -> Step:
    step = walk(asked, Limits(steps=1)).steps[0]
    assert step.proven
    return step


@pytest.mark.parametrize("row", rows("orojenesis.csv"), ids=lambda row: f"{row['figure']}-{row['layer']}")
def test_the_largest_effectual_buffer_of_orojenesis(row: dict[str, str]) -> None:
    """At the last step every operand passes once, so that its value is the words of all operands."""
    step = top_step(kept(row["layer"]))
    digits = len(row["percent"].partition(".")[2])
    assert f"{100 * step.words / step.value:.{digits}f}" == row["percent"]


@cache
def words_of(layer: str) -> tuple[list[float], list[float]]:
    """Return the words that main memory reads and is written, by data space, with a buffer as good as unlimited."""
    kind, _, size = layer.partition(":")
    unary = kind == "unary"
    asked = question(problem_from({"problem": {"shape": UNARY, "instance": {"X": int(size)}}}) if unary else layer)
    found = top_step(asked).result.evaluation
    assert found is not None
    memory = found.levels[0].data
    spaces = [space.name for space in asked.problem.data_spaces]
    return [memory[name].reads for name in spaces], [memory[name].updates for name in spaces]


@pytest.mark.parametrize("workload", [row["workload"] for row in rows("accelforge_totals.csv")])
def test_the_words_of_accelforge(workload: str) -> None:
    """All 14 totals, Einsum by Einsum, in bits; tensors have words of their own."""
    total = 0.0
    for row in rows("accelforge.csv"):
        if row["workload"] == workload:
            bits = list(map(int, row["word_bits"].split()))
            moved = [sum(map(mul, words, bits)) for words in words_of(row["layer"])]
            assert moved == [int(row["read_bits"]), int(row["write_bits"])], row["einsum"]
            total += sum(moved)
    (expected,) = (int(row["bits"]) for row in rows("accelforge_totals.csv") if row["workload"] == workload)
    assert total == expected


@pytest.mark.parametrize(("heads", "most"), [(1, 2_730.7), (32, 240.9), (128, 63.0)])
def test_operations_a_word_of_batched_products(heads: int, most: float) -> None:
    """Figure 13 b: 4k x 4k outputs, heads of 4k / H; below 256 with heads of 128, as Section IV says."""
    step = top_step(kept(f"batched_matmul:H{heads}xM4096xN4096xK{4096 // heads}"))
    assert 2 * 4096**3 / step.value == pytest.approx(most, abs=0.05)


def test_a_grouped_product_is_a_batched_one() -> None:
    """Figure 14 loops over every pair of head and group; heads of a group share an operand in fact.

    So G products of (H / G) M rows move nearly as many words for any number of groups.
    """
    curves = [walk(question(f"batched_matmul:H{g}xM{4096 * 32 // g}xN4096xK128"), Limits()) for g in (1, 32)]
    for words in (1000, 10_000, 100_000):
        one, all_groups = (curve.at(words) for curve in curves)
        assert one is not None
        assert all_groups is not None
        assert 1 <= all_groups.value / one.value < 1.03


@pytest.fixture(scope="module")
def timeloop() -> TimeloopEngine:
    try:
        locate()
    except EngineError:
        pytest.skip("no Timeloop here")
    return TimeloopEngine(TimeloopOptions(mapper_seconds=60))


@pytest.mark.parametrize(("words", "least"), [(105, 512.0), (115, 512.0), (116, 416.0)])
def test_the_mapper_of_timeloop_needs_both_ranks(timeloop: TimeloopEngine, words: int, least: float) -> None:
    """Of 8 x 12 x 16, where Orojenesis states 105 words: exhaustive runs of the mapper that draws its curves."""
    asked = question("matmul:M8xN16xK12")
    target = replace(asked.at(words), semantics=timeloop.programs.semantics)
    found = timeloop.search(asked.problem, target)
    assert found.evaluation is not None
    assert found.optimal
    assert found.evaluation.energy_pj == least
