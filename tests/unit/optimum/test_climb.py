"""A search that had to stop has a mapping all the same, as good as a climb: allowed, no better than the optimum."""

import pytest

from differential.draw import draw_case
from differential.native import load
from jouleloop.engines.native import NativeEngine
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace, build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.climb import climb
from jouleloop.optimum.optimise import search_mapspace


def allowed(space: MapSpace, mapping: Mapping) -> bool:
    """Whether a mapping keeps to the slots of a mapspace."""
    names = space.problem.shape.dimensions
    spaces = [one.name for one in space.problem.data_spaces]
    for level, time, place in zip(reversed(mapping.levels), space.temporal, space.spatial, strict=True):
        for slot, loops in ((time, level.temporal), (place, [loop[:2] for loop in level.spatial])):
            factors = dict(loops)
            for d, name in enumerate(names):
                factor = factors.get(name, 1)
                if slot is None:
                    assert factor == 1
                elif slot.is_open(d):
                    assert slot.least[d] <= factor <= slot.most[d]
                else:
                    assert factor == slot.fixed[d]
        ranks = [time.rank[names.index(name)] for name, _ in level.temporal]
        assert ranks == sorted(ranks, reverse=True)
    for v, name in enumerate(spaces):
        kept = [name in level.keep for level in reversed(mapping.levels)]
        assert any(kept == list(column) for column in space.columns[v])
    return True


@pytest.mark.parametrize("kind", ["general", "windows", "arrays"])
def test_it_is_allowed_and_no_better_than_the_optimum(kind: str) -> None:
    shown, helped = 0, 0
    for seed in range(40):
        try:
            problem, target = load(draw_case(seed, kind))
            optimum = NativeEngine().search(problem, target).evaluation
        except JouleloopError:
            continue
        space = build_mapspace(problem, target.arch, target.constraints)

        def evaluate(mapping: Mapping) -> Evaluation:
            return evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)  # noqa: B023 - called in this turn

        found = climb(space, evaluate, lambda evaluation: evaluation.energy_pj)
        if found is None:
            continue
        assert optimum is not None, seed
        assert allowed(space, found.mapping), seed
        assert found.value >= optimum.energy_pj * (1 - 1e-9), seed
        again = climb(space, evaluate, lambda evaluation: evaluation.energy_pj)
        assert again == found
        hurried = climb(space, evaluate, lambda evaluation: evaluation.energy_pj, 0.0)
        assert hurried is not None
        assert allowed(space, hurried.mapping), seed
        assert hurried.value >= found.value, seed
        # A search that stops is no worse, unless it is within a tenth of its bound; that stays below the optimum.
        stopped = search_mapspace(space, target.costs, semantics=target.semantics, budget=1)
        assert stopped.mapping is not None
        assert stopped.evaluation is not None
        value = stopped.evaluation.energy_pj
        assert allowed(space, stopped.mapping), seed
        assert stopped.lower_bound <= optimum.energy_pj * (1 + 1e-9), seed
        assert value >= optimum.energy_pj * (1 - 1e-9), seed
        assert value <= max(found.value, 1.1 * stopped.lower_bound) * (1 + 1e-9), seed
        helped += not stopped.optimal and value == found.value
        shown += 1
    assert shown > 10
    assert helped
