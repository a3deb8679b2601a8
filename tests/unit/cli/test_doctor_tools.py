"""What the doctor says of Timeloop, pytimeloop and Accelergy: there, missing, broken."""

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jouleloop.cli import doctor
from jouleloop.cli.app import app
from jouleloop.cli.doctor_tools import accelergy_state, front_end_state
from paths import REFERENCE, ROOT

RUNS = REFERENCE / "timeloop_runs"
ACCELERGY = """\
case "$1" in -h) echo "usage: energy estimator --suppress_version_errors"; exit 0;; esac
grep -q SRAM "$1" || { echo "ERROR Can not find an energy estimator for this"; exit 1; }
mkdir -p "$3"
cat > "$3/ERT.yaml" <<EOF
ERT:
  version: 0.4
  tables:
  - name: system.component
    actions:
    - {name: read, arguments: {}, energy: 1.5}
    - {name: write, arguments: {}, energy: 2.5}
EOF
cat > "$3/ERT_summary.yaml" <<EOF
ERT_summary:
  version: 0.4
  table_summary:
  - name: system.component
    primitive_estimation(s):
    - {name: system.component, estimator: CactiSRAM}
EOF
"""


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def timeloop_finding() -> doctor.Finding:
    return next(found for found in doctor.examine() if (found.kind, found.name) == ("engine", "timeloop"))


@pytest.mark.parametrize(
    ("release", "label"),
    [
        ("3.0.3", "3.0.x (counts as timeloop-3.0.3)"),
        ("2024", "of 2024 (counts as timeloop-2024)"),
        ("later", "4 (counts as timeloop-4)"),
    ],
)
def test_which_timeloop_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, label: str) -> None:
    program(tmp_path, "timeloop-model", f'cp "{RUNS}/probe_{release}/"timeloop-model.* .')
    program(tmp_path, "timeloop-mapper", "exit 0")
    monkeypatch.setenv("JOULELOOP_TIMELOOP", str(tmp_path))
    found = timeloop_finding()
    assert (found.state, found.detail) == ("ok", f"Timeloop {label}, in {tmp_path}")


def test_no_timeloop_and_a_broken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULELOOP_TIMELOOP", str(tmp_path))
    assert timeloop_finding().state == "missing"
    assert not timeloop_finding().required
    program(tmp_path, "timeloop-model", "kill -SEGV $$")
    program(tmp_path, "timeloop-mapper", "exit 0")
    found = timeloop_finding()
    assert found.state == "broken"
    assert "SIGSEGV" in found.detail


def test_accelergy_and_who_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, "accelergy", ACCELERGY)
    state, detail = accelergy_state()
    assert state == "ok"
    assert detail.startswith(f"0.4, {tmp_path}/accelergy; SRAM by CactiSRAM; DRAM: none (")
    assert "Can not find an energy estimator" in detail


def test_no_accelergy_and_something_else_of_that_name(tmp_path: Path) -> None:
    assert accelergy_state(str(tmp_path / "none"))[0] == "missing"
    program(tmp_path, "other", "echo hello")
    assert accelergy_state(str(tmp_path / "other"))[0] == "broken"


def test_front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pytimeloop"
    (package / "timeloopfe").mkdir(parents=True)
    for folder in (package, package / "timeloopfe"):
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    state, detail = front_end_state()
    assert state == "broken"
    assert "v3" in detail
    (package / "timeloopfe/v3.py").touch()
    assert front_end_state() == ("ok", f"front end of Timeloop: {package}/__init__.py")


def test_doctor_tells_what_becomes_of_a_design(tmp_path: Path) -> None:
    design = ROOT / "arch" / "eyeriss.yaml"
    shown = CliRunner().invoke(app, ["doctor", "--design", str(design), "--json"])
    assert shown.exit_code == 0
    assert {entry["verdict"] for entry in json.loads(shown.stdout)} == {
        "counted",
        "counts for energy",
        "no effect",
    }
    path = tmp_path / "mine.yaml"
    path.write_text(design.read_text().replace("class: intmac", "class: gizmo"))
    refused = CliRunner().invoke(app, ["doctor", "--design", str(path)])
    assert refused.exit_code == 1
    assert "passed by" in refused.stdout
    assert "has no compute" in refused.stdout
