"""An external program that crashes or hangs: a row with the reason, and the next run tries again."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.engines.registry import get_engine
from jouleloop.engines.timeloop.process import ProgramWatch, run_program
from jouleloop.errors import EngineError
from jouleloop.model.evaluation import Evaluation
from jouleloop.optimum.result import SearchResult
from jouleloop.study.compute import Job, run_chunk
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.energies import energies_table
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import Sweep, load_sweep
from paths import ROOT
from waiting import LIMIT_S

FAULTS = {
    "crash": ("kill -9 $$", "crashed with SIGKILL"),
    "hang": ("sleep 7200", "time limit"),
    "error": ("echo 'ERROR: no' >&2; exit 3", "ended with exit code 3: ERROR: no"),
}


class External:
    """The native engine behind a program that must end well before its result counts."""

    name = "external"
    version = "1"

    def __init__(self, script: str, folder: Path) -> None:
        self.script = script
        self.folder = folder
        self.calls = 0

    def evaluate(self, problem: Problem, target: Target, mapping: Any) -> Evaluation:
        return get_engine("native").evaluate(problem, target, mapping)

    def search(self, problem: Problem, target: Target, options: SearchOptions = PROVEN) -> SearchResult:
        self.calls += 1
        if problem.bound["C"] == 32:
            limit_s = 0.5 if "sleep" in self.script else LIMIT_S
            outcome = run_program(["/bin/sh", "-c", self.script], self.folder, ProgramWatch(limit_s))
            if not outcome.ok:
                raise EngineError(outcome.failure("external"))
        return get_engine("native").search(problem, target, options)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    path = tmp_path / "s.yaml"
    path.write_text("kind: fc\nfixed: {M: 16}\nranges: {C: [16, 32, 64]}\nvariable: C\nexpected: linear\n")
    return load_sweep(path)


@pytest.fixture(scope="module")
def eyeriss() -> TargetSet:
    files = ("arch/eyeriss.yaml", "arch/energy/eyeriss-45nm-accelergy03.yaml", "mappings/eyeriss.yaml")
    return TargetSet(TargetFiles("eyeriss", *(ROOT / name for name in files)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_search_is_tried_again(fault: str, sweep: Sweep, eyeriss: TargetSet, tmp_path: Path) -> None:
    script, reason = FAULTS[fault]
    store = ResultStore(tmp_path / "store")
    layers = [point.layer for point in sweep.points]
    broken = External(script, tmp_path)
    report = run_chunk(Job(eyeriss, broken), layers, store)
    assert (report.computed, report.cached, broken.calls) == (3, 0, 3)
    table, _ = energies_table({"eyeriss": Job(eyeriss, broken)}, [sweep], store)
    assert broken.calls == 3, "the table takes the reason from the store"
    assert table["status"].tolist() == ["ok", "failed", "ok"]
    assert reason in table["reason"][1]
    assert table["total_pj"].isna().tolist() == [False, True, False]
    # The program works again: only what failed is searched.
    mended = External("exit 0", tmp_path)
    report = run_chunk(Job(eyeriss, mended), layers, store)
    assert (report.computed, report.cached, mended.calls) == (1, 2, 1)
    table, _ = energies_table({"eyeriss": Job(eyeriss, mended)}, [sweep], store)
    undisturbed, _ = energies_table({"eyeriss": Job(eyeriss, mended)}, [sweep], ResultStore(tmp_path / "other"))
    assert table.equals(undisturbed)
    assert set(table["status"]) == {"ok"}
