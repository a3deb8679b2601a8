"""Sweeps of a capacity in the workflow: tables, figure and page; a second run does nothing; mistakes stop it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

SWEEP = """\
kind: capacity
layers: [matmul:M8xN16xK12, fc:16x8]
objective: dram-words
levels: {eyeriss: shared_glb}
architectures: [two_levels, eyeriss]
"""
TWO_LEVELS = {
    "arch": "arch/two_levels.yaml",
    "energy": ["arch/energy/two_levels.yaml"],
    "constraints": "mappings/orojenesis.yaml",
}

Make = Callable[..., Any]

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def written(make: Make, folder: Path, text: str = SWEEP) -> Any:
    found = make(folder, sweeps=["own"])
    (found.folder / "layers/own.yaml").write_text(text)
    (found.folder / "config/more.yaml").write_text(f"architectures:\n  two_levels: {TWO_LEVELS}\n")
    return found


def test_curves_of_a_run(study: Make, tmp_path: Path) -> None:
    found = written(study, tmp_path / "study")
    more = ("--configfile", "config/more.yaml")
    code, told = found.run(*more)
    assert code == 0, told
    curves = pd.read_csv(found.results / "capacity_summary.csv")
    assert list(curves["architecture"]) == ["two_levels"] * 2 + ["eyeriss"] * 2
    assert curves["proven"].all()
    assert curves["words_within_0_percent"].iloc[0] == 116
    steps = pd.read_csv(found.results / "capacity.csv")
    assert steps["mapping"].notna().all()
    names = sorted(path.name for path in (found.results / "figures/own").glob("*.png"))
    assert names == ["capacity_eyeriss.png", "capacity_two_levels.png"]
    page = (found.results / "report.html").read_text(encoding="utf-8")
    assert 'id="capacity"' in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert str(steps["mapping"].iloc[0]).partition("|")[0].strip() in page
    code, told = found.run(*more)
    assert code == 0
    assert "Nothing to be done" in told
    # What was searched stays: the same tables without a search.
    before = (found.results / "capacity.parquet").read_bytes()
    kept = {path.name: path.read_bytes() for path in (found.results / "store/curves").iterdir()}
    assert len(kept) == 4
    for path in (found.results / "capacity").rglob("*.parquet"):
        path.unlink()
    code, told = found.run(*more)
    assert code == 0, told
    assert (found.results / "capacity.parquet").read_bytes() == before
    assert {path.name: path.read_bytes() for path in (found.results / "store/curves").iterdir()} == kept


def test_mistakes_stop_it_before_any_job(study: Make, tmp_path: Path) -> None:
    found = written(
        study, tmp_path / "study", SWEEP.replace("shared_glb", "shared_gbl").replace("fc:16x8", "fc:16x8x2")
    )
    code, told = found.run("--configfile", "config/more.yaml")
    assert code != 0
    assert "layers.1" in told
    assert "Traceback" not in told
    (found.folder / "layers/own.yaml").write_text(SWEEP.replace("shared_glb", "shared_gbl"))
    code, told = found.run("--configfile", "config/more.yaml")
    assert code != 0
    assert "shared_glb" in told
    assert "Traceback" not in told
    assert not (found.results / "capacity").exists()
