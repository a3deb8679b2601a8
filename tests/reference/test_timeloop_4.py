"""Evaluations by Timeloop 4 of random designs, layers and mappings, field by field; see timeloop_4/README.md."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from drawn import drawn, ours, stored
from jouleloop.arch.read import read_architecture
from jouleloop.energy.estimator import load_costs
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.errors import MappingError
from jouleloop.mapping.formats import read_timeloop_mapping
from jouleloop.mapspace.constraints import Constraints, LevelConstraints
from jouleloop.mapspace.read import inline_constraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_many, evaluate_mapping
from jouleloop.model.semantics import has_windows
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import problem_from, read_problem
from paths import REFERENCE

EVALUATIONS = REFERENCE / "timeloop_4" / "evaluations.json.xz"


def documents(number: str) -> dict[str, Any]:
    module = drawn()
    found: dict[str, Any] = module.Draw(int(number), module.LATER_TABLES).documents
    return found


def test_every_stored_evaluation_is_met(tmp_path: Path) -> None:
    wrong, others, fields = [], 0, 0
    for number, theirs in stored(EVALUATIONS).items():
        mine = ours(documents(number), tmp_path, "timeloop-4")
        assert (mine is None) == (theirs is None), number
        if mine is None:
            continue
        pairs = drawn().compared_json(mine.as_json(), theirs)
        wrong += [(number, pair.field, pair.ours, pair.theirs) for pair in pairs if pair.verdict != "equal"]
        fields += len(pairs)
        before = ours(documents(number), tmp_path, "timeloop-3.0.3")
        assert before is not None
        other = any(a.data != b.data for a, b in zip(mine.levels, before.levels, strict=True))
        others += other
        assert not other or has_windows(problem_from(documents(number)["problem"])), number
    assert wrong == []
    assert sum(found is not None for found in stored(EVALUATIONS).values()) >= 500
    assert fields > 30_000
    # Version 3.0.3 counts some of them otherwise.
    assert others >= 10


#: So few choices that a search is short.
LIMITS = {
    "DRAM": LevelConstraints(keep=frozenset({"Weights", "Inputs", "Outputs"})),
    "GlobalBuffer": LevelConstraints(keep=frozenset({"Inputs", "Outputs"}), bypass=frozenset({"Weights"})),
    "PEInputBuffer": LevelConstraints(keep=frozenset({"Inputs"}), bypass=frozenset({"Weights", "Outputs"})),
    "PEWeightBuffer": LevelConstraints(keep=frozenset({"Weights"}), bypass=frozenset({"Inputs", "Outputs"})),
    "PEAccuBuffer": LevelConstraints(keep=frozenset({"Outputs"}), bypass=frozenset({"Weights", "Inputs"})),
    "PEWeightRegs": LevelConstraints(keep=frozenset({"Weights"}), bypass=frozenset({"Inputs", "Outputs"})),
}


@cache
def exercise() -> tuple[Any, ...]:
    folder = REFERENCE / "exercises" / "simba_like"
    arch, problem = read_architecture(folder / "arch.yaml"), read_problem(folder.parent / "problem.yaml")
    mapping = read_timeloop_mapping(folder / "map.yaml", problem, arch)
    return problem, arch, load_costs(arch, folder / "ERT.yaml"), mapping


def test_totals_in_bulk_have_the_leakage_too() -> None:
    problem, arch, costs, mapping = exercise()
    single = evaluate_mapping(problem, arch, costs, mapping, "timeloop-4")
    energies_pj, cycles = evaluate_many(problem, arch, costs, [mapping], "timeloop-4")
    assert energies_pj[0] == pytest.approx(single.energy_pj, rel=1e-12)
    assert cycles[0] == single.cycles
    assert single.energy_pj > evaluate_mapping(problem, arch, costs, mapping).energy_pj


def test_energies_that_timeloop_4_charges_otherwise_are_refused() -> None:
    problem, arch, costs, mapping = exercise()
    first = replace(costs.levels[0], later_pj=(1.0, 2.0, 3.0))
    other = replace(costs, levels=(first, *costs.levels[1:]))
    evaluate_mapping(problem, arch, other, mapping)
    with pytest.raises(MappingError, match="charges other actions"):
        evaluate_mapping(problem, arch, other, mapping, "timeloop-4")
    with pytest.raises(MappingError, match="charges other actions"):
        evaluate_many(problem, arch, other, [mapping], "timeloop-4")


def test_searches_without_windows_and_leakage_are_those_of_3_0_3() -> None:
    problem, arch, costs, _ = exercise()
    dry = replace(costs, levels=tuple(replace(level, leak_pj=0.0) for level in costs.levels))
    product = parse_layer("fc:16x32").problem()
    found = NativeEngine().search(product, Target(arch, dry, Constraints("none", LIMITS), "timeloop-4"))
    before = NativeEngine().search(product, Target(arch, dry, Constraints("none", LIMITS)))
    assert found.optimal
    assert found.evaluation == before.evaluation
    assert found.mapping is not None
    assert evaluate_mapping(product, arch, dry, found.mapping, "timeloop-4") == found.evaluation
    for layer, energies, why in ((problem, dry, "windows"), (product, costs, "leakage")):
        refused = NativeEngine().search(layer, Target(arch, energies, Constraints("none", LIMITS), "timeloop-4"))
        assert refused.status == "invalid"
        assert why in refused.reason


def test_no_search_is_claimed_for_it() -> None:
    problem, arch, costs, _ = exercise()
    space = build_mapspace(problem, arch, inline_constraints(arch, shape=problem.shape))
    with pytest.raises(MappingError, match="no search is proven"):
        search_mapspace(space, costs, semantics="timeloop-4")
