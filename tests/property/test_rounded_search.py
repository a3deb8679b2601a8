"""The search over factors that are rounded up, against every mapping, and its bounds against every order."""

import itertools
import math
from collections.abc import Iterator
from functools import partial

import pytest

from differential.native import load
from differential.rounded import draw_rounded, mappings
from jouleloop.errors import JouleloopError, MappingError
from jouleloop.mapspace.rounded import index_factorizations, rounded_chains
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.encode import nest_arrays
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.driver import Task
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.optimum.rounded import RoundedKernel, _products, orders_of

SEMANTICS = "timeloop-4"
MOST = 3000


def spaces(seeds: range) -> list[tuple[int, MapSpace, RoundedKernel]]:
    """Return those mapspaces of some seeds whose factors do not divide the layer and that are small."""
    found = []
    for seed in seeds:
        case = draw_rounded(seed, 300)
        try:
            problem, target = load(case)
            space = build_mapspace(problem, target.arch, target.constraints, rounds=True)
            search = RoundedKernel(Task(space, target.costs, (case.objective,), SEMANTICS), new_counters())
        except JouleloopError:
            continue
        if space.rounded and sum(1 for _ in itertools.islice(mappings(space), MOST + 1)) <= MOST:
            found.append((seed, space, search))
    return found


@pytest.mark.parametrize("first", [60, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(0, 200, 40))])
def test_nothing_is_better_and_no_bound_is_above_an_order(first: int) -> None:
    searched, bounded = 0, 0
    for seed, space, search in spaces(range(first, first + (40 if first % 40 == 0 else 16))):
        best = math.inf
        for mapping in mappings(space):
            try:
                found = evaluate_mapping(space.problem, space.arch, search.task.costs, mapping, SEMANTICS)
            except MappingError:
                continue
            tiles = [k for k, _ in enumerate(space.temporal) if not whole_tiles_fit(search, mapping, k)]
            if not tiles:
                best = min(best, search.objective.value(found))
        result = search_mapspace(space, search.task.costs, objective=(search.objective.name,), semantics=SEMANTICS)
        if result.evaluation is None:
            assert best == math.inf, seed
        else:
            assert result.optimal
            assert search.objective.value(result.evaluation) == pytest.approx(best, rel=1e-9), seed
        searched += 1
        for value, chosen, place in filter(None, search._parts()):
            ends = search._ends(chosen)
            times = [orders_of(slot, ends[at]) for slot, at in zip(space.temporal, search.time, strict=True)]
            for temporal in itertools.islice(itertools.product(*times), 100):
                for spatial in itertools.product(*search._arrangements(ends)):
                    exact = search._value(nest_arrays(temporal, spatial, space.keeps[place]))[0]
                    assert value <= exact * (1 + 1e-9), (seed, chosen, temporal, spatial)
                    bounded += 1
    assert searched >= 5
    assert bounded >= 100


def test_orders_are_made_when_they_are_asked_for() -> None:
    made = []

    def choice(name: str) -> Iterator[str]:
        for n in range(5040):
            made.append(name)
            yield f"{name}{n}"

    found = _products([partial(choice, name) for name in "abc"])
    assert next(found) == ("a0", "b0", "c0")
    assert made == ["a", "b", "c"]
    few = [range(2), range(3), range(2)]
    assert list(_products([partial(iter, one) for one in few])) == list(itertools.product(*few))


def whole_tiles_fit(search: RoundedKernel, mapping: object, level: int) -> bool:
    """Whether the tiles of a level, taken for whole, fit it, as the mapper asks before it evaluates."""
    problem, levels = search.space.problem, mapping.levels[::-1]  # type: ignore[attr-defined]
    words = 0
    for space in problem.data_spaces:
        if space.name not in levels[level].keep:
            continue
        size = 1
        for rank in space.projection:
            side = 1
            for term in rank:
                step = 1 if term.coefficient is None else problem.coefficient[term.coefficient]
                ends = [end for one in levels[: level + 1] for d, end in one.loops if d == term.dimension]
                side += step * (math.prod(ends) - 1)
            size *= side
        words += size
    room = search.space.arch.levels[::-1][level]
    return room.effective_words is None or words <= room.effective_words


def test_ends_are_those_of_the_source() -> None:
    for _, space, _ in spaces(range(12)):
        for d, (chains, bound) in enumerate(zip(rounded_chains(space), space.problem.bounds, strict=True)):
            fixed = math.prod(slot.fixed[d] for slot in space.slots if slot.fixed[d])
            for chain in chains:
                # Every index is reached, and no loop could be left out.
                assert math.prod(chain) >= bound
                left = bound
                for slot, end in zip(space.slots, chain, strict=True):
                    assert 1 <= end <= left
                    assert slot.fixed[d] == 0 or end == min(slot.fixed[d], left)
                    left = math.ceil(left / end)
                assert left == 1
            if bound % fixed == 0:
                assert all(math.prod(chain) == bound for chain in chains)
        assert index_factorizations(space) >= math.prod(map(len, rounded_chains(space)))


def test_a_search_that_is_stopped_says_so() -> None:
    for _, space, search in spaces(range(12)):
        whole = search_mapspace(space, search.task.costs, objective=(search.objective.name,), semantics=SEMANTICS)
        if whole.visited < 3:
            continue
        short = search_mapspace(
            space, search.task.costs, objective=(search.objective.name,), semantics=SEMANTICS, budget=1
        )
        assert not short.optimal
        assert short.stopped == "budget"
        assert short.lower_bound <= whole.lower_bound * (1 + 1e-12)
        assert OBJECTIVES[search.objective.name].value(short.evaluation) >= whole.lower_bound * (1 - 1e-12)  # type: ignore[arg-type]
        return
    pytest.fail("no search took longer")
