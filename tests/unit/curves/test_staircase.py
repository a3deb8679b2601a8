"""Curves of a layer: their steps, where they stop, and what is proven then."""

from dataclasses import replace

import pytest

from asked import question
from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import problem_of
from jouleloop.curves.hardware import capacity_of, dram_words, with_words
from jouleloop.curves.staircase import DRAM_WORDS, Limits, Point, Question, Staircase, join, steps_of, walk
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import InputError
from jouleloop.optimum.limit import INTERRUPT, Limit, Watch
from jouleloop.optimum.result import SearchResult


def values(curve: Staircase) -> list[tuple[int, float]]:
    return [(step.words, step.value) for step in curve.steps]


def test_a_product_by_hand() -> None:
    """2 x 2 x 2: 8 + 8 reads, 8 updates and 4 reads back; a word keeps a sum; three a column and what multiplies it."""
    curve = walk(question("matmul:M2xN2xK2"), Limits())
    assert curve.proven
    assert values(curve) == [(0, 28.0), (1, 20.0), (3, 16.0), (8, 12.0)]
    assert [step.most_words for step in curve.steps] == [0, 2, 7, None]
    for step in curve.steps:
        assert step.result.evaluation is not None
        assert dram_words(step.result.evaluation) == step.value


def test_words_of_a_design_with_energies() -> None:
    """DRAM words alone may be least at another mapping than energy; they bound those of every energy."""
    energies = walk(question("fc:64x32", "eyeriss", "shared_glb"), Limits())
    words = walk(question("fc:64x32", "eyeriss", "shared_glb", DRAM_WORDS), Limits())
    assert energies.proven
    assert words.proven
    assert words.question.unit == "words"
    for step in energies.steps:
        least = words.at(step.words)
        assert least is not None
        assert step.result.evaluation is not None
        assert least.value <= dram_words(step.result.evaluation)
    assert energies.reason.startswith("shared_glb holds")
    assert energies.at(energies.steps[0].words - 1) is None


def test_steps_stop_it_with_proven_steps() -> None:
    whole = walk(question("matmul:M8xN16xK12"), Limits())
    few = walk(question("matmul:M8xN16xK12"), Limits(steps=3))
    assert few.stopped == "steps"
    assert not few.proven
    assert values(few) == values(whole)[-3:]
    assert all(step.proven for step in few.steps)


def test_a_range_of_capacities() -> None:
    whole = walk(question("matmul:M8xN16xK12"), Limits())
    part = walk(replace(question("matmul:M8xN16xK12"), least_words=20, most_words=100), Limits())
    assert part.proven
    assert part.steps[-1].most_words == 100
    for words in (20, 50, 100):
        mine, theirs = part.at(words), whole.at(words)
        assert mine is not None
        assert theirs is not None
        assert mine.value == theirs.value
    assert part.at(19) is None


def test_a_stopped_curve_says_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step is optimal; that fewer words cost more is not known."""
    search, calls = NativeEngine.search, 0

    def stopping(self: NativeEngine, *given: object) -> SearchResult:
        nonlocal calls
        calls += 1
        found = search(self, *given)  # type: ignore[arg-type]
        if calls < 4:
            return found
        return replace(
            found, optimal=False, lower_bound=0.0, stopped=INTERRUPT, mapping=None, evaluation=None, status="no_mapping"
        )

    whole = walk(question("matmul:M8xN16xK12"), Limits())
    monkeypatch.setattr(NativeEngine, "search", stopping)
    curve = walk(question("matmul:M8xN16xK12"), Limits())
    assert curve.stopped == INTERRUPT
    assert not curve.proven
    assert [step.proven for step in curve.steps] == [False, *[True] * (len(curve.steps) - 1)]
    assert curve.steps[0].optimal
    assert not curve.steps[0].least
    assert values(curve)[1:] == values(whole)[-len(curve.steps) + 1 :]


def test_no_second_leaves_no_step() -> None:
    curve = walk(question("conv:C8xM8xP6xQ6xR3xS3", "eyeriss", "shared_glb"), Limits(watch=Watch(Limit(0.0))))
    assert curve.stopped == "seconds"
    assert not any(step.proven for step in curve.steps)
    assert not curve.proven


def test_better_mappings_at_fewer_words_count_above() -> None:
    """Searches that were not proven may find less at a smaller capacity; its mapping fits the larger one."""
    target = question("matmul:M2xN2xK2")
    points = [
        Point(None, SearchResult("ok", lower_bound=5.0), 10, 9.0),
        Point(9, SearchResult("ok", lower_bound=7.0, optimal=True), 6, 7.0),
        Point(5, SearchResult("ok", lower_bound=8.0, optimal=True), 4, 8.0),
    ]
    groups: list[list[Point]] = []
    for point in points:
        join(groups, point)
    steps = steps_of(target, groups, complete=True)
    assert [(step.words, step.most_words, step.value) for step in steps] == [(4, 5, 8.0), (6, None, 7.0)]
    # Above 9 words 5 is all that is known.
    assert [(step.lower_bound, step.optimal, step.proven) for step in steps] == [(8.0, True, True), (5.0, False, False)]


def test_capacity_of_a_level_that_is_buffered_twice() -> None:
    problem = problem_of("fc:32x32")
    target = Architecture.read("gemmini").target(problem)
    level = target.arch.level("Scratchpad")
    assert level.multiple_buffering == 2
    for words in range(50):
        assert int(capacity_of(level, words) / 2) == words
    assert with_words(target, "Scratchpad", 7).arch.level("Scratchpad").effective_words == 7
    curve = walk(Question(problem, target, "Scratchpad"), Limits(steps=2))
    assert [step.capacity_words for step in curve.steps] == [2 * step.words for step in curve.steps]


@pytest.mark.parametrize(
    ("level", "objective", "said"),
    [
        ("Bufer", "energy", "did you mean 'Buffer'"),
        ("DRAM", "energy", "unknown level of an inner memory"),
        ("Buffer", "enrgy", "did you mean 'energy'"),
    ],
)
def test_what_no_curve_is_of(level: str, objective: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        question("matmul:M2xN2xK2", level=level, objective=objective)


def test_a_level_that_has_to_be_filled_is_refused() -> None:
    """A larger one would have to be filled more, so that its optimum may be worse."""
    found = question("fc:8x8")
    level = replace(found.storage, min_utilization=0.5)
    arch = replace(found.target.arch, levels=(found.target.arch.levels[0], level))
    with pytest.raises(InputError, match="filled to a share"):
        replace(found, target=replace(found.target, arch=arch))


def test_constraints_that_do_not_fit_the_layer_are_an_error() -> None:
    """Simba's C and M are multiples of 4 under its full constraints."""
    with pytest.raises(InputError, match="C = 7 is not divisible"):
        walk(question("fc:7x7", "simba", "GlobalBuffer"), Limits())
