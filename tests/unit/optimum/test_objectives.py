"""An objective is one record: the search and its certificate follow from it; the verifier has a line of its own."""

import json

import pytest

from bulk import evaluate_many
from jouleloop.api.project import load_target
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.optimum.certificate import certify
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.proof import rules
from jouleloop.proof.form import check_form
from jouleloop.proof.verify import verify
from jouleloop.workload.sizes import parse_layer
from sample import sample_mappings
from shares import slow_after


@pytest.mark.parametrize(("energy_power", "delay_power"), slow_after(3, [(1, 2), (1, 0), (0, 1), (2, 1), (1, 1)]))
def test_any_product_of_powers_is_minimised_and_proven(
    monkeypatch: pytest.MonkeyPatch, energy_power: int, delay_power: int
) -> None:
    objective = Objective("tried", "pJ^a x cycles^b", energy_power, delay_power)
    monkeypatch.setitem(OBJECTIVES, "tried", objective)
    monkeypatch.setitem(rules.OBJECTIVES, "tried", rules.Objective(energy_power, delay_power))
    target = load_target("eyeriss", semantics="timeloop-3.0.3")
    problem = parse_layer("fc:24x40").problem()
    chosen = target.for_shape(problem.shape)
    space = build_mapspace(problem, chosen.arch, chosen.constraints)
    result = search_mapspace(space, chosen.costs, objective=("tried",))
    assert result.optimal
    assert result.evaluation is not None
    value = objective.value(result.evaluation)
    assert result.lower_bound == value
    energies_pj, cycles = evaluate_many(problem, chosen.arch, chosen.costs, sample_mappings(space, 2000))
    best = min(objective.of(e, c) for e, c in zip(energies_pj, cycles, strict=True))
    assert value <= best * (1 + 1e-12)
    data = certify(space, chosen.constraints, chosen.costs, result, "timeloop-3.0.3")
    verify(check_form(json.loads(json.dumps(data))))
