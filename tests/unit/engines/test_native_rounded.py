"""Factors that do not divide the layer: rounded up under ``timeloop-4`` alone."""

import pytest

from jouleloop.api.hardware import Architecture
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.errors import InputError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.certificate import certify
from jouleloop.workload.sizes import parse_layer


def test_a_layer_that_the_factors_do_not_divide_is_searched_under_timeloop_4_alone() -> None:
    problem = parse_layer("fc:13x7").problem()
    for semantics in ("timeloop-3.0.3", "timeloop-2023-04"):
        target = Architecture.read("simba", semantics=semantics).target(problem)
        assert NativeEngine().search(problem, target).status == "invalid"
    target = Architecture.read("simba", semantics="timeloop-4").target(problem)
    found = NativeEngine().search(problem, target)
    assert found.optimal
    assert found.evaluation is not None
    assert found.mapping is not None
    # What the exhaustive mapper of Timeloop 4 finds.
    assert found.evaluation.energy_pj == pytest.approx(10019.257910201004, rel=1e-12)
    assert found.index_factorizations == 40
    assert evaluate_mapping(problem, target.arch, target.costs, found.mapping, "timeloop-4") == found.evaluation
    space = build_mapspace(problem, target.arch, target.constraints, rounds=True)
    with pytest.raises(InputError, match="rounded up"):
        certify(space, target.constraints, target.costs, found, "timeloop-4")


def test_two_objectives_are_refused() -> None:
    problem = parse_layer("fc:13x7").problem()
    target = Architecture.read("simba", semantics="timeloop-4").target(problem)
    found = NativeEngine().search(problem, target, SearchOptions(objective=("energy", "delay")))
    assert found.status == "invalid"
    assert "one objective" in found.reason


def test_an_unrolled_loop_that_ends_early_needs_one_outside() -> None:
    problem = parse_layer("fc:3x1").problem()
    target = Architecture.read("eyeriss", semantics="timeloop-4", constraints="none").target(problem)
    names = target.arch.level_names
    fan = next(k for k, (x, y) in enumerate(target.arch.fanout) if max(x, y) >= 4)
    axis = "X" if target.arch.fanout[fan][0] >= 4 else "Y"
    keep = frozenset(space.name for space in problem.data_spaces)
    levels = [LevelMapping(name, (), (("C", 4, axis),) if k == fan else (), keep) for k, name in enumerate(names)]
    mapping = Mapping(tuple(levels), (("C", 3),))
    with pytest.raises(MappingError, match="none of its dimension is outside"):
        evaluate_mapping(problem, target.arch, target.costs, mapping, "timeloop-4", check_capacity=False)
    # Timeloop 3.0.3 counts it.
    assert evaluate_mapping(problem, target.arch, target.costs, mapping, check_capacity=False).computes >= 3
