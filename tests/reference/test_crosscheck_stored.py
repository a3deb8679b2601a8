"""The native engine against the stored cross-check: what real Timeloop said of 3052 native optima, and found itself."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jouleloop.engines.agreement import compare_evaluations
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.mapping.formats import from_levels
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import Problem
from paths import ROOT

DATA = Path(__file__).parent / "crosscheck"
SIZES = ("C", "M", "R", "S", "N", "P", "Q", "w_stride", "h_stride", "groups")
ENGINE = NativeEngine()


@cache
def stored() -> pd.DataFrame:
    return pd.read_parquet(DATA / "timeloop_evaluations.parquet")


@cache
def targets(architecture: str, constraints: str, semantics: str) -> TargetSet:
    table = ROOT / f"arch/energy/{architecture}-45nm-accelergy03.yaml"
    mapspace = ROOT / f"mappings/{architecture}.yaml"
    files = TargetFiles(architecture, ROOT / f"arch/{architecture}.yaml", table, mapspace, constraints)
    return TargetSet(files, semantics)


def problem_and_target(row: Any) -> tuple[Problem, Target]:
    sizes = {name: int(getattr(row, name, 1)) for name in SIZES}
    problem = Layer.of("conv", **sizes).problem()
    found = targets(row.architecture, getattr(row, "constraints", "full"), getattr(row, "semantics", "timeloop-3.0.3"))
    return problem, found.for_shape(problem.shape)


def rows(select: Callable[[pd.DataFrame], pd.DataFrame]) -> list[Any]:
    return list(select(stored()).itertuples(index=False))


def test_enough_points_of_both_kinds() -> None:
    full = stored()[stored()["run"] == "full"]
    windows = (full["P"] > 1) | (full["R"] > 1)
    for architecture in ("eyeriss", "simba"):
        own = full["architecture"] == architecture
        assert (own & ~windows).sum() >= 300
        assert (own & windows).sum() >= 100


@pytest.mark.parametrize("run", ["full", "arch-only", "2023-04", "edp"])
def test_every_stored_field_is_equal(run: str) -> None:
    compared = 0
    for row in rows(lambda table: table[table["run"] == run]):
        problem, target = problem_and_target(row)
        ours = ENGINE.evaluate(problem, target, from_levels(json.loads(row.mapping), problem, target.arch))
        assert ours.energy_pj == pytest.approx(row.timeloop_pj, rel=1e-9)
        assert ours.cycles == row.timeloop_cycles
        assert ours.utilization == pytest.approx(row.timeloop_utilization, rel=1e-9)
        if isinstance(row.evaluation, str):
            pairs = compare_evaluations(ours.as_json(), json.loads(row.evaluation))
            assert [pair for pair in pairs if pair.verdict != "equal"] == []
            compared += len(pairs)
    assert compared > 10_000


def test_the_search_still_finds_what_timeloop_evaluated() -> None:
    def some(table: pd.DataFrame) -> pd.DataFrame:
        products = (table["P"] == 1) & (table["R"] == 1)
        small = table["C"] * table["M"] * table["P"] * table["Q"] * table["R"] * table["S"] < 1e6
        return pd.concat([table[products].iloc[::60], table[~products & small].iloc[::12]])

    sample = rows(some)
    assert len(sample) > 40
    for row in sample:
        problem, target = problem_and_target(row)
        found = ENGINE.search(problem, target, SearchOptions((row.objective,)))
        assert found.optimal
        assert found.evaluation is not None
        if row.objective == "energy":
            assert found.evaluation.energy_pj == pytest.approx(row.timeloop_pj, rel=1e-9)
        else:
            edp = row.timeloop_pj * row.timeloop_cycles
            assert found.evaluation.energy_pj * found.evaluation.cycles == pytest.approx(edp, rel=1e-9)


def test_what_the_mapper_found_in_the_workflow() -> None:
    table = pd.read_csv(DATA / "workflow_timeloop.csv")
    assert len(table) >= 40
    assert set(table["architecture"]) == {"simba", "eyeriss"}
    for row in table.itertuples(index=False):
        problem, target = problem_and_target(row)
        found = ENGINE.search(problem, target)
        assert found.status == row.status
        if row.status == "ok":
            assert found.evaluation is not None
            # Equal where the mapper was exhaustive; it also was where it had been interrupted.
            assert found.evaluation.energy_pj == pytest.approx(row.total_pj, rel=1e-9)


def test_the_summary_adds_up() -> None:
    summary = pd.read_csv(DATA / "summary.csv")
    assert (
        summary["fields"] == summary["equal"] + summary["lower"] + summary["higher"] + summary["only_one_has"]
    ).all()
    assert summary["fields"].sum() > 300_000
    assert (summary[["lower", "higher", "only_one_has"]] == 0).all(axis=None)
