"""The search with imperfect factors by the rules of Timeloop 4, against every mapping of small mapspaces."""

import itertools
import math

import pytest

from differential.native import load
from differential.residual_space import mappings, sizes
from differential.ruby import draw_ruby
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.encode import nest_arrays
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.residual.averaged import AveragedKernel
from jouleloop.optimum.residual.optimise import search_residuals
from jouleloop.optimum.result import SearchResult
from jouleloop.optimum.rounded import orders_of
from property.test_rounded_search import whole_tiles_fit
from shares import in_shares

#: Most mappings of a mapspace that is walked as a whole.
MOST = 1500


def kernel_of(seed: int, semantics: str) -> AveragedKernel | None:
    """Return the kernel of a case, where it is searched."""
    case = draw_ruby(seed)
    try:
        problem, target = load(case)
        space = build_mapspace(problem, target.arch, target.constraints, imperfect=True)
        return AveragedKernel(Task(space, target.costs, (case.objective,), semantics), new_counters())
    except JouleloopError:
        return None


def search(kernel: AveragedKernel, budget: int | None = None) -> SearchResult:
    """Search the kernel's mapspace as commands do."""
    task = kernel.task
    return search_residuals(task.space, task.costs, objective=task.objective, semantics=task.semantics, budget=budget)


def least(kernel: AveragedKernel) -> float:
    """Return the least value of all mappings that the mapper would evaluate, infinite where there is none."""
    space, best = kernel.space, math.inf
    for mapping in mappings(space):
        try:
            found = evaluate_mapping(space.problem, space.arch, kernel.task.costs, mapping, kernel.task.semantics)
        except MappingError:
            continue
        if all(whole_tiles_fit(kernel, mapping, k) for k in range(len(space.temporal))):
            best = min(best, kernel.objective.value(found))
    return best


def check_bounds(kernel: AveragedKernel, seed: int) -> int:
    """Compare the bound of every choice of ends and of what is kept with some of its orders; return how many."""
    compared = 0
    for value, chosen, place in filter(None, kernel._parts()):
        ends = kernel._ends(chosen)
        times = [orders_of(slot, ends[at]) for slot, at in zip(kernel.space.temporal, kernel.time, strict=True)]
        for temporal in itertools.islice(itertools.product(*times), 20):
            for spatial in itertools.product(*kernel._arrangements(ends)):
                exact = kernel._value(nest_arrays(temporal, spatial, kernel.space.keeps[place]))[0]
                assert value <= exact * (1 + 1e-9), (seed, chosen, temporal, spatial)
                compared += value > 0
    return compared


@in_shares(400, first=30)
@pytest.mark.parametrize("semantics", ["timeloop-4", "timeloop-2024"])
def test_nothing_is_better_and_no_bound_is_above_a_mapping(semantics: str, seeds: range) -> None:
    compared = bounded = 0
    for seed in seeds:
        kernel = kernel_of(seed, semantics)
        if kernel is None or not 1 < sizes(kernel.space) <= MOST:
            continue
        best, result = least(kernel), search(kernel)
        assert kernel.floor <= best * (1 + 1e-9), seed
        bounded += check_bounds(kernel, seed)
        if result.evaluation is None:
            assert best == math.inf, seed
            continue
        assert result.optimal, seed
        assert kernel.objective.value(result.evaluation) == pytest.approx(best, rel=1e-9), seed
        compared += 1
    assert compared >= len(seeds) // 20
    assert bounded >= len(seeds)


def test_what_is_not_listed_is_bounded_and_searched_near_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jouleloop.optimum.rounded.MOST_PARTS", 30)
    compared = gaps = hits = 0
    for seed in range(60):
        kernel = kernel_of(seed, "timeloop-4")
        if kernel is None or kernel.whole or sizes(kernel.space) > MOST:
            continue
        best, result = least(kernel), search(kernel)
        if result.evaluation is None:
            continue
        value = kernel.objective.value(result.evaluation)
        assert not result.optimal
        assert result.stopped == "memory"
        assert result.lower_bound <= best * (1 + 1e-9), seed
        assert value >= best * (1 - 1e-9), seed
        compared, gaps, hits = compared + 1, gaps + (result.lower_bound > 0), hits + (value <= best * (1 + 1e-9))
    assert compared >= 5
    assert gaps > 0
    assert hits >= compared // 2


def test_a_budget_stops_it() -> None:
    kernel = kernel_of(3, "timeloop-4")
    assert kernel is not None
    result = search(kernel, budget=1)
    assert result.stopped == "budget"
    assert not result.optimal
