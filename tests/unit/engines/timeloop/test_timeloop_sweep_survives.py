"""A sweep searched by a Timeloop that crashes, hangs or says nothing: every layer is a row with a reason."""

import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jouleloop.engines.timeloop.engine import TimeloopEngine, TimeloopOptions
from jouleloop.engines.timeloop.process import ProgramRun, ProgramWatch
from jouleloop.engines.timeloop.runners import run_executable
from jouleloop.study.compute import Job
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetFiles, TargetSet
from jouleloop.tables.energies import energies_table
from jouleloop.workload.sweep import load_sweep
from paths import REFERENCE, ROOT
from waiting import LIMIT_S

RUNS = REFERENCE / "timeloop_runs"
SWEEP = "kind: fc\nfixed: {M: 11}\nranges: {C: {start: 2, stop: 8, step: 1}}\nvariable: C\nexpected: linear\n"
#: What the mapper does for each number of inputs; 7 inputs and 11 outputs replay a real run.
MAPPER = f"""\
C=$(sed -n 's/.*[{{ ]C: \\([0-9]*\\).*/\\1/p' problem.yaml | tail -1)
case "$C" in
2) kill -SEGV $$;;
3) exec sleep 7200;;
4) exit 0;;
5) for kind in map.txt stats.txt map+stats.xml; do : > "timeloop-mapper.$kind"; done; exit 0;;
6) echo "no valid mappings found"; exit 0;;
7) cat "{RUNS}/mapper_ok/"*.log; cp "{RUNS}/mapper_ok/"timeloop-mapper.* .; exit 0;;
*) echo "ERROR: out of memory"; exit 1;;
esac
"""
EXPECTED = {
    2: ("failed", "crashed with SIGSEGV"),
    3: ("failed", "stopped after the time limit"),
    4: ("failed", "exit code 0 but"),
    5: ("failed", "is empty"),
    6: ("no_mapping", "no valid mapping"),
    7: ("ok", ""),
    8: ("failed", "exit code 1: ERROR: out of memory"),
}


@pytest.mark.parametrize("again", [False, True])
def test_the_rest_of_a_sweep_completes(tmp_path: Path, *, again: bool) -> None:
    for name, body in (
        ("timeloop-model", f'cp "{RUNS}/probe_3.0.3/"timeloop-model.* .'),
        ("timeloop-mapper", f"echo run >> {tmp_path}/runs\n{MAPPER}"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755 | stat.S_IXUSR)
    (tmp_path / "few.yaml").write_text(SWEEP)
    eyeriss = TargetFiles(
        "eyeriss",
        ROOT / "arch/eyeriss.yaml",
        ROOT / "arch/energy/eyeriss-45nm-accelergy03.yaml",
        ROOT / "mappings/eyeriss.yaml",
        "arch-only",
    )

    def patient(program: Path, files: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
        """Only the layer whose mapper hangs has a short time limit."""
        hangs = re.search(r"\bC: 3\b", (folder / "problem.yaml").read_text())
        return run_executable(program, files, folder, replace(watch, time_limit_s=1.0 if hangs else LIMIT_S))

    options = TimeloopOptions(home=tmp_path, interrupt_grace_s=0.2)
    job = Job(TargetSet(eyeriss), TimeloopEngine(options, runner=patient))
    sweep, store = load_sweep(tmp_path / "few.yaml"), ResultStore(tmp_path / "store")
    table, _ = energies_table({"eyeriss": job}, [sweep], store)
    if again:
        made = (tmp_path / "runs").read_text()
        table, _ = energies_table({"eyeriss": job}, [sweep], store)
        assert (tmp_path / "runs").read_text() == made
    assert list(table["C"]) == list(EXPECTED)
    for inputs, (status, words) in EXPECTED.items():
        row = table[table["C"] == inputs].iloc[0]
        assert row["status"] == status
        assert words in row["reason"]
        assert (row["total_pj"] > 0) == (status == "ok")
