"""The Accelergy estimator against a stand-in program that behaves as versions 0.3 and 0.4 were seen to behave."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jouleloop.arch.architecture import StorageLevel
from jouleloop.arch.read import read_architecture
from jouleloop.energy.accelergy import AccelergyEstimator
from jouleloop.energy.estimator import Estimate, Refusal, estimate_costs
from jouleloop.energy.interpolated import InterpolatedEstimator
from paths import ROOT
from waiting import LIMIT_S

# What it prints, its exit codes and its files follow runs of Accelergy 0.3 (commit of 2022) and 0.4 (6911d15).
PROGRAM = """#!{python}
import os, sys, time
import yaml
if "-h" in sys.argv:
    print("Accelergy is an architecture-level energy estimator for accelerator designs.")
    print("{flag}")
    sys.exit(0)
out = sys.argv[sys.argv.index("-o") + 1]
data = yaml.safe_load(open(sys.argv[1]))["architecture"]
part = data["subtree"][0]["local"][0]
depth = part["attributes"].get("depth", 0)
if depth == 1:
    print("2026-01-01 00:00:00 ERROR       ===== An error has caused Accelergy to crash. Error below =====")
    print("2026-01-01 00:00:00 ERROR       Can not find an energy estimator for " + part["class"])
    sys.exit(255)
if depth == 2:
    time.sleep(7200)
if depth == 3:
    sys.exit(0)
os.makedirs(out)
dummy = depth == 4
print("Warn: No action counts are specified as yaml input")
print("2026-01-01 00:00:00 WARNING     the width was rounded")
actions = part.get("required_actions", ["read", "write", "idle"])
table = [dict(name=a, arguments=None, energy=1 if dummy else depth + i) for i, a in enumerate(actions)]
yaml.safe_dump(dict(ERT=dict(version=data["version"], tables=[dict(name="system.component", actions=table)])),
               open(out + "/ERT.yaml", "w"))
estimator = "dummy_table" if dummy else "Aladdin_table"
made_by = {{"primitive_estimation(s)": [dict(name="x", estimator=estimator)]}}
summary = dict(version=data["version"], table_summary=[dict(name="system.component", actions=[], **made_by)])
yaml.safe_dump(dict(ERT_summary=summary), open(out + "/ERT_summary.yaml", "w"))
"""


@pytest.fixture(params=["0.3", "0.4"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "accelergy"
    flag = "--suppress_version_errors" if request.param == "0.4" else ""
    file.write_text(PROGRAM.format(python=sys.executable, flag=flag))
    file.chmod(0o755)
    return str(file), str(request.param)


def regfile(depth: int) -> StorageLevel:
    return StorageLevel("b", "b", "regfile", 64, 16, attributes={"technology": "45nm", "depth": depth, "width": 16})


def test_version_energies_and_warnings(program: tuple[str, str]) -> None:
    estimator = AccelergyEstimator(program[0])
    assert estimator.version() == program[1]
    answer = estimator.estimate(regfile(16))
    assert isinstance(answer, Estimate)
    assert (answer.energy_pj["read"], answer.energy_pj["write"]) == (16, 17)
    assert answer.warnings == ("the width was rounded",)
    assert answer.source == f"Accelergy {program[1]}: regfile by Aladdin_table"


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (1, "failed: Can not find an energy estimator for regfile"),
        (2, "did not finish in 0.5 s"),
        (3, "failed: no output"),
        (4, "knows no estimate and would take dummy_table"),
    ],
)
def test_refused(depth: int, message: str, program: tuple[str, str]) -> None:
    estimator = AccelergyEstimator(program[0], timeout_s=LIMIT_S)
    assert estimator.version() == program[1]
    # The version is known: the short limit is for the run that never ends.
    answer = replace(estimator, timeout_s=0.5 if depth == 2 else LIMIT_S).estimate(regfile(depth))
    assert isinstance(answer, Refusal)
    assert message in answer.reason


def test_missing_program() -> None:
    estimator = AccelergyEstimator("no-such-accelergy")
    assert estimator.version() is None
    answer = estimator.estimate(regfile(16))
    assert isinstance(answer, Refusal)
    assert "not installed" in answer.reason


def test_warnings_are_passed_on_and_others_fill_in(program: tuple[str, str]) -> None:
    arch = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    arch = replace(arch, levels=(arch.levels[0], arch.levels[2]))
    told: list[str] = []
    estimators = [AccelergyEstimator(program[0]), InterpolatedEstimator.read(ROOT / "arch" / "energy")]
    costs = estimate_costs(arch, estimators, warn=told.append)
    assert costs.levels[1].read_pj == 16
    assert "DummyBuffer: the width was rounded" in told
    # Named after those that answered.
    assert costs.table == costs.estimator
