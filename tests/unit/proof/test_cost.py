"""Costs by the proof's own counts against the production model, and against stored runs of real Timeloop."""

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from differential.draw import draw_case
from differential.imperfect import draw_evaluated, load_mapping, load_record
from differential.keywords import draw_spread, draw_wired
from differential.later import draw_later
from differential.native import load
from differential.runs import read_records
from jouleloop.engines.protocol import Target
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.constraints import Constraints
from jouleloop.mapspace.space import build_mapspace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.objective import OBJECTIVES as MODEL_OBJECTIVES
from jouleloop.model.semantics import RULES as MODEL_RULES
from jouleloop.optimum.certificate import subject
from jouleloop.proof.cost import cost_of, nest_of
from jouleloop.proof.design import Design
from jouleloop.proof.rules import OBJECTIVES, RULES
from jouleloop.workload.problem import Problem
from paths import REFERENCE
from sample import sample_mappings
from shares import by_kind, by_part

RUNS = sorted((REFERENCE / "imperfect_runs").glob("*.jsonl.xz"))
#: Every file of runs is read in so many parts, the first of them by ``make test``.
PARTS = 20
DRAWS = {"later": draw_later, "wired": draw_wired, "spread": draw_spread}


def counted(problem: Problem, target: Target, mapping: Mapping) -> tuple[Fraction, int] | None:
    space = SimpleNamespace(problem=problem, arch=target.arch, name="timeloop")
    design = Design(subject(space, Constraints("none"), target.costs, target.semantics))  # type: ignore[arg-type]
    return cost_of(design, nest_of(design, mapping.as_json()))


def test_the_rules_of_every_version_are_the_models() -> None:
    stated = {
        name: (one.first_fills_elided, one.charges_networks, one.zero_shift_keeps_last, one.counts_leakage)
        for name, one in MODEL_RULES.items()
    }
    assert {name: tuple(one) for name, one in RULES.items()} == stated
    powers = {name: (one.energy_power, one.delay_power) for name, one in MODEL_OBJECTIVES.items()}
    assert {name: tuple(one) for name, one in OBJECTIVES.items()} == powers
    assert all(one.charges_updates == one.counts_leakage for one in MODEL_RULES.values())


@by_kind(["general", "windows", "arrays", "later", "wired", "spread"], 60, first=12)
def test_perfect_nests_cost_what_the_model_counts(kind: str, seeds: range) -> None:
    compared = 0
    for seed in range(2000 + seeds.start, 2000 + seeds.stop):
        try:
            problem, target = load(DRAWS[kind](seed) if kind in DRAWS else draw_case(seed, kind))
            space = build_mapspace(problem, target.arch, target.constraints)
            mappings = sample_mappings(space, 6, seed=seed)
        except JouleloopError:
            continue
        if any(space.reuse) or target.arch.latency_cycles:
            continue
        for mapping in mappings:
            try:
                wanted = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
            except JouleloopError:
                continue
            found = counted(problem, target, mapping)
            assert found is not None, (seed, mapping.compact())
            assert float(found[0]) == pytest.approx(wanted.energy_pj, rel=1e-12, abs=1e-12), (seed, mapping.compact())
            if not any(level.bandwidth_scale for level in target.arch.levels):
                assert found[1] == wanted.cycles, (seed, mapping.compact())
            compared += 1
    assert compared > 2 * len(seeds) // 3


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(["general", "windows", "arrays", "eyeriss", "simba"]))
def test_imperfect_nests_cost_what_the_model_counts(seed: int, kind: str) -> None:
    drawn = draw_evaluated(seed, kind)
    if drawn is None or any(level.reuse for level in drawn[3].levels):
        return
    _, problem, target, mapping = drawn
    try:
        wanted = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
    except JouleloopError:
        return
    found = counted(problem, target, mapping)
    assert found is not None
    assert float(found[0]) == pytest.approx(wanted.energy_pj, rel=1e-12, abs=1e-12), mapping.compact()
    assert found[1] == wanted.cycles


@by_part(PARTS, first=1)
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name.split(".")[0])
def test_imperfect_nests_cost_what_real_timeloop_counts(path: Path, part: int) -> None:
    compared = 0
    for record in read_records(path)[part::PARTS]:
        problem, target = load_record(record)
        mapping = load_mapping(record, problem, target)
        found = counted(problem, target, mapping)
        assert found is not None, record["seed"]
        wanted_pj = record["real"]["energy_pj"]
        assert float(found[0]) == pytest.approx(wanted_pj, rel=1e-9), record["seed"]
        assert found[1] == record["real"]["cycles"], record["seed"]
        compared += 1
    assert compared > 100 // PARTS
