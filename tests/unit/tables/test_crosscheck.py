"""The cross-check of native optima by another engine: agreement, differences, failures, resumption, the page."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from jouleloop.config.model import Config
from jouleloop.engines.agreement import Pair, compare_evaluations, joint_verdict
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.errors import EngineError, InputError, MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.report.crosscheck_page import crosscheck_page
from jouleloop.study.compute import Job
from jouleloop.study.confirm import run_confirmation
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.crosscheck import crosscheck_table
from jouleloop.validation import validate
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep, load_sweep
from paths import ROOT

SWEEP = """\
kind: fc
fixed: {M: 8}
ranges: {C: {start: 8, stop: 32, step: 8}}
variable: C
expected: linear
"""


class Other(NativeEngine):
    """The native engine under another name, with faults planted by the number of inputs."""

    name = "other"

    def __init__(self) -> None:
        self.evaluated = 0

    def evaluate(self, problem: Problem, target: Target, mapping: Mapping) -> Evaluation:
        self.evaluated += 1
        found = super().evaluate(problem, target, mapping)
        match problem.bound["C"]:
            case 16:
                return replace(found, energy_pj=found.energy_pj * 1.25, cycles=found.cycles - 1)
            case 24:
                raise EngineError("timeloop-model crashed with SIGSEGV")
            case 32:
                raise MappingError("level Buffer cannot be mapped")
        return found


@pytest.fixture(scope="module")
def job() -> Job:
    files = TargetFiles(
        "eyeriss",
        ROOT / "arch/eyeriss.yaml",
        ROOT / "arch/energy/eyeriss-45nm-accelergy03.yaml",
        ROOT / "mappings/eyeriss.yaml",
    )
    return Job(TargetSet(files), NativeEngine())


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    path = tmp_path_factory.mktemp("layers") / "few.yaml"
    path.write_text(SWEEP)
    return load_sweep(path)


@pytest.fixture(scope="module")
def tables(job: Job, sweep: Sweep, tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    return crosscheck_table({"eyeriss": job}, Other(), [sweep], ResultStore(tmp_path_factory.mktemp("store")))


def test_every_point_has_a_row(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    points, _ = tables
    assert list(points["status"]) == ["equal", "different", "not_confirmed", "not_confirmed"]
    assert "SIGSEGV" in points["reason"][2]
    assert "cannot be mapped" in points["reason"][3]


def test_agreement_by_point(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    equal, different = (tables[0].iloc[position] for position in (0, 1))
    assert equal["fields"] == equal["fields_equal"] > 50
    assert equal["ours_total_pj"] == equal["theirs_total_pj"]
    # Ours is a fifth below 1.25 times itself; the total is the only energy that was changed.
    assert different["largest_difference"] == pytest.approx(-0.2)
    assert different["largest_at"] == "total"
    assert (different["energy_is"], different["cycles_is"], different["reads_is"]) == ("lower", "higher", "equal")
    assert different["fields"] - different["fields_equal"] == 2


def test_summary_by_quantity(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    summary = tables[1].set_index("quantity")
    energy = summary.loc["energy"]
    assert (energy["points"], energy["points_without"], energy["lower"], energy["higher"]) == (2, 2, 1, 0)
    assert energy["largest_at"] == "fc:16x8: total"
    assert summary.loc["tiles", "equal"] == summary.loc["tiles", "fields"] > 0
    assert summary.loc["tiles", "largest_difference"] == 0.0


def test_confirmations_are_stored(job: Job, sweep: Sweep, tmp_path: Path) -> None:
    layers = [point.layer for point in sweep.points]
    first, again = Other(), Other()
    assert run_confirmation(job, first, layers[:3], ResultStore(tmp_path)).computed == 3
    report = run_confirmation(job, again, layers, ResultStore(tmp_path))
    # The new layer, and the one whose evaluation has failed: it is tried again.
    assert (report.computed, report.cached, again.evaluated) == (2, 2, 2)
    crosscheck_table({"eyeriss": job}, last := Other(), [sweep], ResultStore(tmp_path))
    assert last.evaluated == 0


def test_a_layer_without_optimum_is_a_row(job: Job, sweep: Sweep, tmp_path: Path) -> None:
    class Unlucky(NativeEngine):
        version = "unlucky"

        def search(self, problem, target, _options=None):  # type: ignore[no-untyped-def]
            return replace(
                super().search(problem, target), status="no_mapping", mapping=None, evaluation=None, reason="r"
            )

    points, summary = crosscheck_table(
        {"a": Job(job.target, Unlucky())}, Other(), [replace(sweep, points=sweep.points[:1])], ResultStore(tmp_path)
    )
    assert (points["status"][0], points["reason"][0]) == ("no_optimum", "r")
    assert set(summary["points"]) == {0}
    assert "no optimum" in crosscheck_page(points, summary)


def test_page_stands_alone(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    page = crosscheck_page(*tables)

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.outside: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.outside += [value or "" for name, value in attrs if name in ("src", "href")]
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(page)
    assert (reader.open, reader.outside) == ([], [])
    assert "1 of 2 evaluated points agree in every field" in page
    assert "timeloop-model crashed" in page


def test_pairs() -> None:
    assert Pair("energy", "x", 1.0, 2.0).verdict == "lower"
    assert Pair("energy", "x", 3.0, 2.0).difference == 0.5
    assert Pair("energy", "x", 1.0, 0.0).difference == float("inf")
    assert Pair("energy", "x", None, 2.0).verdict == "mixed"
    assert joint_verdict([]) == "none"
    assert joint_verdict(["equal", "lower"]) == "lower"
    assert joint_verdict(["higher", "lower"]) == "mixed"


def test_a_data_space_that_only_one_keeps_is_a_difference(job: Job, sweep: Sweep) -> None:
    problem = sweep.points[0].layer.problem()
    found = NativeEngine().search(problem, job.target.for_shape(problem.shape)).evaluation
    assert found is not None
    ours, theirs = found.as_json(), found.as_json()
    assert all(pair.verdict == "equal" for pair in compare_evaluations(ours, theirs))
    level = next(level for level in theirs["levels"] if "Inputs" in level["data"])
    del level["data"]["Inputs"]
    unequal = [pair for pair in compare_evaluations(ours, theirs) if pair.verdict != "equal"]
    assert {pair.verdict for pair in unequal} == {"mixed"}
    assert all(pair.field.startswith(f"{level['name']}.Inputs.") for pair in unequal)
    assert len(unequal) == 9


def test_confirm_belongs_to_the_native_engine() -> None:
    entry = {"arch": "a.yaml", "energy": "e.yaml", "constraints": "c.yaml"}
    data = {"architectures": {"x": entry}, "sweeps": ["s"], "confirm": "timeloop"}
    assert validate(Config, data, "test").confirm == "timeloop"
    with pytest.raises(InputError, match="confirm is for engine native"):
        validate(Config, data | {"engine": "timeloop"}, "test")
