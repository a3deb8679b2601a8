"""The proven search of imperfect factors on the project's architectures, through the engine."""

import pytest

from jouleloop.api.hardware import Architecture
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions
from jouleloop.mapping.formats import from_levels
from jouleloop.workload.sizes import parse_layer


def test_simba_has_a_mapping_where_channels_are_no_multiple_of_four() -> None:
    problem = parse_layer("fc:13x7").problem()
    engine = NativeEngine()
    perfect = Architecture.read("simba").target(problem)
    assert engine.search(problem, perfect).status == "invalid"
    target = Architecture.read("simba", factors="imperfect").target(problem)
    found = engine.search(problem, target)
    assert (found.status, found.optimal) == ("ok", True)
    assert found.mapping is not None
    assert dict(found.mapping.imperfect)
    assert from_levels(found.mapping.as_json(), problem, target.arch) == found.mapping
    assert found.evaluation is not None
    assert found.lower_bound == pytest.approx(found.evaluation.energy_pj)


def test_imperfect_factors_cost_no_more_than_perfect_ones() -> None:
    problem = parse_layer("fc:31x23").problem()
    engine = NativeEngine()
    energies = []
    for factors in ("perfect", "imperfect"):
        found = engine.search(problem, Architecture.read("eyeriss", factors=factors).target(problem))
        assert found.optimal
        assert found.evaluation is not None
        energies.append(found.evaluation.energy_pj)
    assert energies[1] < energies[0]


def test_a_search_that_is_stopped_claims_nothing() -> None:
    problem = parse_layer("fc:61x59").problem()
    target = Architecture.read("eyeriss", factors="imperfect").target(problem)
    whole = NativeEngine().search(problem, target)
    assert whole.optimal
    assert whole.evaluation is not None
    stopped = NativeEngine().search(problem, target, SearchOptions(seconds=1e-9))
    assert not stopped.optimal
    assert stopped.lower_bound <= whole.evaluation.energy_pj
