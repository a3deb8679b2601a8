"""The native engine against stored results of real Timeloop, and whether a difference would be seen."""

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jouleloop.api.project import load_target
from jouleloop.engines.protocol import Target
from jouleloop.engines.registry import get_engine
from jouleloop.engines.verify import verify_folder
from jouleloop.errors import InputError
from jouleloop.workload.layer import CONV

FOLDER = Path(__file__).parent / "timeloop"


@cache
def target_for(arch: str, constraints: str, semantics: str) -> Target:
    return load_target(arch, semantics=semantics, constraints=constraints).for_shape(CONV)


def failures(folder: Path, only: str | None = None) -> tuple[int, dict[str, list[str]]]:
    outcomes = list(verify_folder(folder, get_engine("native"), target_for, only=only))
    return len(outcomes), {o.case: [str(d) for d in o.differences] for o in outcomes if not o.passed}


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., Path]:
    """Write chosen entries of one reference file, changed by a function, into a folder of their own."""

    def write(name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Path:
        entries = change(copy.deepcopy(json.loads((FOLDER / name).read_text())))
        (tmp_path / name).write_text(json.dumps(entries))
        return tmp_path

    return write


@pytest.mark.parametrize("name", ["cases_eyeriss.json", "cases_simba.json"])
def test_all_evaluated_mappings(copied: Callable[..., Path], name: str) -> None:
    count, failed = failures(copied(name, lambda entries: entries))
    assert count >= 150
    assert failed == {}


@pytest.mark.slow
def test_fully_connected_optima(copied: Callable[..., Path]) -> None:
    folder = copied("mapper_optima.json", lambda entries: [e for e in entries if e["dims"]["P"] == 1])
    count, failed = failures(folder, "fc")
    assert count >= 25
    assert failed == {}


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "reads": (lambda c: c["levels"]["DRAM"]["W"].update(reads=c["levels"]["DRAM"]["W"]["reads"] + 1), "DRAM.W.reads"),
    "tile": (lambda c: c["levels"]["psum_spad"]["O"].update(tile=0), "psum_spad.O.tile"),
    "partition": (lambda c: c["levels"]["psum_spad"]["O"].update(partition=0), "psum_spad.O.partition"),
    "fills": (lambda c: c["levels"]["shared_glb"]["I"].update(fills=0), "shared_glb.I.fills"),
    "energy": (
        lambda c: c["levels"]["DRAM"]["W"].update(energy=c["levels"]["DRAM"]["W"]["energy"] * (1 + 3e-9)),
        "DRAM.W.energy",
    ),
    "cycles": (lambda c: c["summary"].update(cycles=c["summary"]["cycles"] + 1), "summary.cycles"),
    "utilization": (
        lambda c: c["summary"].update(utilization=c["summary"]["utilization"] + 0.01),
        "summary.utilization",
    ),
    "a space that is not kept": (lambda c: c["levels"]["DRAM"].pop("W"), "DRAM.kept"),
    "throttle": (lambda c: c["levels"]["shared_glb"].update(throttle=0.1), "shared_glb.throttle"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_difference_is_seen(copied: Callable[..., Path], what: str) -> None:
    change, field = CHANGES[what]

    def one(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        case = next(e for e in entries if e["dims"]["P"] == 1)
        change(case)
        return [case]

    _, failed = failures(copied("cases_eyeriss.json", one))
    (differences,) = failed.values()
    assert [text for text in differences if text.startswith(field)], differences


def test_an_optimum_below_ours_is_seen(copied: Callable[..., Path]) -> None:
    def lower(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        chosen = [e for e in entries if e["name"] == "fc_128x256"]
        return [e | {"total_energy": e["total_energy"] * (1 - 1e-6)} for e in chosen]

    count, failed = failures(copied("mapper_optima.json", lower))
    assert len(failed) == count > 0


@pytest.mark.parametrize(
    "text", ["{}", "[1]", "[{}]", '[{"dims": {}}]', "[", '[{"dims": {"C": 4, "M": 4}, "arch": "eyeriss"}]']
)
def test_data_of_another_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases_x.json").write_text(text)
    with pytest.raises(InputError):
        failures(tmp_path)
