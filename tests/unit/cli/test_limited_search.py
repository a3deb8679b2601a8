"""``jouleloop map`` stopped early: its best mapping, its gap, and the exit code of an interrupt."""

import json
import sys
from pathlib import Path

import pytest

from jouleloop.cli.app import main
from jouleloop.model.arrays import Ints
from jouleloop.optimum.limit import INTERRUPT, Watch


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["jouleloop", "map", "--arch", "simba", "--layer", "fc:48x32", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_an_interrupt_prints_the_best_mapping_and_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = 0

    def stopped(watch: Watch, counters: Ints) -> str:
        nonlocal looks
        del watch, counters
        looks += 1
        return INTERRUPT if looks > 1 else ""

    assert run(monkeypatch, "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(Watch, "stopped", stopped)
    assert run(monkeypatch, "--json") == 130
    found = json.loads(capsys.readouterr().out)
    assert found["mapping"]
    optimum_pj = whole["evaluation"]["energy_pj"]
    assert found["lower_bound"] <= optimum_pj * (1 + 1e-9)
    assert optimum_pj <= found["evaluation"]["energy_pj"] * (1 + 1e-9)


def test_a_profile_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--profile", "--seconds", "100") == 0
    shown = capsys.readouterr().out
    assert "Search, by level" in shown
    assert "CPU seconds: unrollings" in shown


def test_an_interrupted_sweep_says_where_it_stood_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def sweep() -> int:
        layers = tmp_path / "few.yaml"
        layers.write_text("kind: fc\nfixed: {M: 16}\nranges: {C: [16, 32, 48]}\nvariable: C\nexpected: linear\n")
        arguments = ["sweep", str(layers), "--arch", "simba", "--output", str(tmp_path / "out")]
        monkeypatch.setattr(sys, "argv", ["jouleloop", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    before = Watch.stopped
    second = "fc:32x16"
    monkeypatch.setattr(Watch, "stopped", lambda w, c: INTERRUPT if w.subject == second else before(w, c))
    assert sweep() == 130
    told = capsys.readouterr().err
    assert "interrupted; fc:32x16: best " in told
    assert "the same command goes on" in told
    assert not (tmp_path / "out" / "energies.csv").exists()
    monkeypatch.setattr(Watch, "stopped", before)
    assert sweep() == 0
    assert "2 results searched, 1 from the store" in capsys.readouterr().out
