"""What a study is refused for before its first search, all of it at once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from jouleloop import workflow
from jouleloop.errors import EngineError, InputError
from paths import ROOT

SWEEP = {"kind": "fc", "fixed": {"M": 8}, "ranges": {"C": [4, 8]}, "variable": "C", "expected": "linear"}


def refused(folder: Path, monkeypatch: pytest.MonkeyPatch, sweep: dict[str, Any], **config: Any) -> str:
    (folder / "one.yaml").write_text(yaml.safe_dump(SWEEP | sweep))
    monkeypatch.chdir(ROOT)
    given = yaml.safe_load((ROOT / "config/config.yaml").read_text()) | {"sweeps": [str(folder / "one.yaml")]}
    with pytest.raises(InputError) as told:
        workflow.Workflow(given | config)
    return str(told.value)


def test_a_missing_engine_hides_no_misspelt_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise EngineError("timeloop is not installed")

    monkeypatch.setattr(workflow, "check_engines", missing)
    said = refused(tmp_path, monkeypatch, {"response_growth": {"dram_pj": "linear"}})
    assert "timeloop is not installed" in said
    assert "response_growth: unknown response (got 'dram_pj')" in said


def test_published_energies_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(tmp_path, monkeypatch, {"published": {"simba": "gone.csv"}, "published_parameter": "C"})
    assert "published.simba: no such file" in said


def test_architectures_that_cannot_be_read_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def targets_of(study: object) -> None:
        read.append(study)
        raise InputError("no such level")

    monkeypatch.setattr(workflow, "targets_of", targets_of)
    assert refused(tmp_path, monkeypatch, {}) == "no such level"
    assert len(read) == 1
