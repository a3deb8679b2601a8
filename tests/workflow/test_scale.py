"""What an edit computes again, and what a run at scale costs: counts of jobs and searches, memory, the idle rerun."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy, copytree

import pandas as pd
import pytest
import yaml

from jouleloop.config.load import load_study, read_config
from jouleloop.study.plan import plan
from paths import ROOT
from waiting import LIMIT_S

GRID = {
    "kind": "fc",
    "ranges": {"C": {"start": 16, "stop": 64, "step": 16}, "M": {"start": 16, "stop": 48, "step": 16}},
    "variable": "C*M",
    "expected": "linear",
}
LINE = {
    "kind": "fc",
    "fixed": {"M": 32},
    "ranges": {"C": {"start": 16, "stop": 80, "step": 16}},
    "variable": "C",
    "expected": "linear",
}


class Study:
    """A copy of the project with sweeps of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles", "config"):
            copytree(ROOT / name, folder / name)
        copy(ROOT / "Snakefile", folder)
        self.config = yaml.safe_load((ROOT / "config/config.yaml").read_text()) | {"chunks": {"least": 1}}

    def sweep(self, name: str, content: dict[str, object]) -> None:
        (self.folder / f"layers/{name}.yaml").write_text(yaml.safe_dump(content))

    def run(self, sweeps: list[str], target: str = "energies") -> "Run":
        path = self.folder / "config/config.yaml"
        text = yaml.safe_dump(self.config | {"sweeps": sweeps})
        if path.read_text() != text:
            path.write_text(text)
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "2", target],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return Run(self.folder, done.stderr)


class Run:
    """What one run of Snakemake did."""

    def __init__(self, folder: Path, output: str) -> None:
        self.output = output
        self.jobs = dict(re.findall(r"^(\w+) +(\d+)$", output, re.MULTILINE))
        summary = json.loads((folder / "results/summary.json").read_text())
        self.searched, self.stored = summary["searches"]["searched"], summary["searches"]["stored"]
        self.points = {name: sum(counts.values()) for name, counts in summary["points"].items()}
        self.summary = summary


@pytest.mark.workflow
@pytest.mark.slow
def test_edits_search_what_they_change(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.sweep("grid", GRID)
    study.sweep("line", LINE)
    # The grid has 4 x 3 layers, the line 5 of which 4 are in the grid: 13 distinct layers on two architectures.
    first = study.run(["grid", "line"])
    assert (first.searched, first.stored, first.points) == (26, 0, {"simba": 17, "eyeriss": 17})
    assert first.jobs["map_chunk"] == "2"

    # A comment in any file is no change: no chunk is even looked at.
    for name in ("layers/grid.yaml", "arch/simba.yaml", "mappings/eyeriss.yaml"):
        path = study.folder / name
        path.write_text(path.read_text() + "# a comment\n")
    comment = study.run(["grid", "line"])
    assert "map_chunk" not in comment.jobs
    assert (comment.searched, comment.stored) == (0, 26)

    # One more point of a sweep: one search an architecture.
    study.sweep("line", LINE | {"ranges": {"C": {"start": 16, "stop": 96, "step": 16}}})
    added = study.run(["grid", "line"])
    assert (added.searched, added.stored) == (2, 26)

    # Sweeps left out and taken up again: all there.
    fewer = study.run(["grid"])
    assert (fewer.searched, fewer.stored) == (0, 24)
    again = study.run(["line", "grid"])
    assert (again.searched, again.stored) == (0, 28)

    # An energy of one architecture: everything on it, nothing on the other one.
    table = next((study.folder / "arch/energy").glob("simba-*.yaml"))
    before = table.read_text()
    table.write_text(re.sub(r"energy: (\d+\.\d+)", lambda found: f"energy: {2 * float(found[1])}", before))
    energies = study.run(["line", "grid"])
    assert (energies.searched, energies.stored) == (14, 14)
    assert energies.jobs["map_chunk"] == "1"
    # And back again: the old results are still there.
    table.write_text(before)
    assert study.run(["line", "grid"]).searched == 0


@pytest.mark.workflow
@pytest.mark.slow
def test_three_hundred_random_layers(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    for name, count in (("scale_fc", 220), ("scale_conv", 80)):
        sweep = yaml.safe_load((ROOT / f"layers/{name}.yaml").read_text())
        sweep["random"]["count"] = count
        study.sweep(name, sweep)
    study.config["chunks"] = {"least": 4}
    done = study.run(["scale_fc", "scale_conv"])
    assert done.points == {"simba": 300, "eyeriss": 300}
    assert done.searched == 600
    # Two architectures, each by two chunks, and the table.
    assert sum(stage["jobs"] for stage in done.summary["stages"]) == 2 + 4 + 1
    assert all(stage["peak_memory_mb"] < 2000 for stage in done.summary["stages"])
    assert len(list((study.folder / "results/store").glob("segment-*.parquet"))) == 4
    table = pd.read_parquet(study.folder / "results/energies.parquet")
    assert table["optimal"].all()
    # Every chunk reports the whole run at its end or not at all; what is noted adds up.
    states = [json.loads(path.read_text()) for path in (study.folder / "results/logs/progress").glob("*.json")]
    assert sum(state["done"] for state in states) == sum(state["searched"] for state in states) == 600
    before = os.times()
    assert "Nothing to be done" in study.run(["scale_fc", "scale_conv"]).output
    after = os.times()
    # Processor time: the wall clock of a busy machine says little.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 60


def test_twenty_thousand_layers_are_few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = read_config(Path("config/config.yaml")).model_copy(update={"sweeps": ["scale_fc", "scale_conv"]})
    chunks = plan(load_study(config))
    assert sum(map(len, chunks.values())) == 20_000
    # The two architectures' chunks, energies, and what follows from them.
    assert 8 <= 2 * len(chunks) + 2 < 500
    assert max(map(len, chunks.values())) < 1.2 * min(map(len, chunks.values()))
