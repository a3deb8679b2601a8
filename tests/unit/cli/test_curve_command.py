"""``jouleloop curve``: table, files, certificates, limits and wrong input."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from jouleloop.cli.app import main
from jouleloop.engines.native import NativeEngine
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.optimum.result import SearchResult
from jouleloop.proof import verify
from paths import ROOT

PRODUCT = ("--arch", "two_levels", "--layer", "matmul:M8xN16xK12")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["jouleloop", "curve", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_table_names_the_largest_buffer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *PRODUCT) == 0
    shown = capsys.readouterr().out
    assert "largest capacity that helps: 116 words, proven" in shown
    assert "exponent" not in shown
    assert run(monkeypatch, "--arch", "two_levels", "--layer", "fc:5040x5040") == 0
    assert "theory -1: agrees yes" in capsys.readouterr().out
    assert run(monkeypatch, *PRODUCT, "--verbose", "--objective", "delay") == 0
    assert "mapping" in capsys.readouterr().out


def test_files_say_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    csv, svg, store = tmp_path / "curve.csv", tmp_path / "curve.svg", tmp_path / "store.json"
    files = ("--write-table", str(csv), "--write-figure", str(svg), "--store", str(store))
    assert run(monkeypatch, *PRODUCT, "--json", *files) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proven"]
    assert found["largest_words"] == 116
    table = pd.read_csv(csv)
    assert list(table["words"]) == [step["words"] for step in found["steps"]]
    assert list(table["value"]) == [step["value"] for step in found["steps"]]
    assert table["most_words"].isna().sum() == 1
    drawn = svg.read_text()
    assert "paper 004, Theorem 2" in drawn
    assert "Buffer [words]" in drawn
    monkeypatch.setattr(NativeEngine, "search", None)
    assert run(monkeypatch, *PRODUCT, "--json", *files) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert svg.read_text() == drawn


def test_certificates_of_every_step_are_verified(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each proves the optimum at the largest capacity of its step: together they prove the curve."""
    assert run(monkeypatch, *PRODUCT, "--json", "--certificates", str(tmp_path)) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert len(steps) >= 10
    for step in steps:
        most = "any" if step["most_words"] is None else step["most_words"]
        path = tmp_path / f"Buffer-{step['words']}-to-{most}.json"
        data = json.loads(path.read_text())
        assert data["value"] == pytest.approx(step["value"])
        assert data["architecture"]["levels"][1]["capacity_words"] == step["most_words"]
        assert verify.verify(data).parts > 0


def test_no_name_of_a_level_leads_out_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text((ROOT / "arch/two_levels.yaml").read_text().replace("name: Buffer", "name: ../Buffer"))
    given = ("--arch", str(design), "--energy", "counts", "--level", "../Buffer", "--layer", "fc:4x4")
    assert run(monkeypatch, *given, "--certificates", str(tmp_path / "proofs")) == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["design.yaml"]
    assert len(list((tmp_path / "proofs").iterdir())) > 0


def test_limits_tell_what_is_proven(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, *PRODUCT, "--steps", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["stopped"], found["proven"], len(found["steps"])) == ("steps", False, 2)
    assert all(step["proven"] for step in found["steps"])
    assert run(monkeypatch, *PRODUCT, "--seconds", "0", "--json") in (0, 1)
    captured = capsys.readouterr()
    assert not json.loads(captured.out)["proven"]
    assert "stopped (seconds)" in captured.err


def test_an_interrupt_ends_with_130_and_the_steps_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = tmp_path / "store.json"
    search, calls = NativeEngine.search, 0

    def stopping(self: NativeEngine, *given: object) -> SearchResult:
        nonlocal calls
        calls += 1
        found = search(self, *given)  # type: ignore[arg-type]
        nothing = SearchResult("no_mapping", lower_bound=0.0, stopped=INTERRUPT)
        return found if calls < 4 else nothing

    monkeypatch.setattr(NativeEngine, "search", stopping)
    proofs = ("--certificates", str(tmp_path / "proofs"))
    assert run(monkeypatch, *PRODUCT, "--json", "--store", str(store), *proofs) == 130
    captured = capsys.readouterr()
    assert not (tmp_path / "proofs").exists()  # they may take minutes
    assert "no certificates are written: interrupted" in captured.err
    few = json.loads(captured.out)
    assert "the same command goes on" in captured.err
    assert (few["stopped"], few["proven"]) == ("interrupt", False)
    assert any(step["proven"] for step in few["steps"])
    monkeypatch.setattr(NativeEngine, "search", search)
    assert run(monkeypatch, *PRODUCT, "--json", "--store", str(store)) == 0
    whole = json.loads(capsys.readouterr().out)
    proven = [step["words"] for step in few["steps"] if step["proven"]]
    assert proven == [step["words"] for step in whole["steps"]][-len(proven) :]


def test_a_layer_without_any_mapping_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--arch", "eyeriss", "--layer", "fc:64x32", "--most-words", "1")
    assert run(monkeypatch, *arguments) == 1
    assert "shared_glb holds 1 words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--level", "Bufer"), "--level: unknown level of an inner memory (got 'Bufer')"),
        (("--objective", "dram-word"), "did you mean 'dram-words'"),
        (
            ("--least-words", "9", "--most-words", "8"),
            "--most-words: must be a whole number (got 8); allowed: 9 or more",
        ),
        (("--write-figure", "curve.gif"), "--write-figure: must be a file of this kind"),
        (("--arch", "two_level"), "did you mean 'two_levels'"),
        (("--layer", "matmul:M8"), "--layer"),
    ],
)
def test_wrong_input_is_named(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *PRODUCT, *arguments) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
