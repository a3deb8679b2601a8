"""``jouleloop map`` stopped early: its best mapping, its gap, and the exit code of an interrupt."""

import json
import sys
from pathlib import Path

import pytest

from jouleloop.cli.app import main
from jouleloop.model.arrays import Records
from jouleloop.optimum import certificate
from jouleloop.optimum.limit import INTERRUPT, Watch
from jouleloop.proof import verify


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

    def stopped(watch: Watch, counters: Records) -> str:
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


def test_an_interrupted_certificate_leaves_the_optimum(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "c.json"
    before, looks = Watch.stopped, 0

    def stopped(watch: Watch, counters: Records) -> str:
        nonlocal looks
        looks += not watch.subject  # a watch of a search names its layer
        return INTERRUPT if looks > 2 else before(watch, counters)

    monkeypatch.setattr(Watch, "stopped", stopped)
    assert run(monkeypatch, "--json", "--certificate", str(file)) == 130
    told = capsys.readouterr()
    assert json.loads(told.out)["optimal"]
    assert "is not written: interrupted; 2 of " in told.err.replace("\n", " ")
    assert not file.exists()


def test_pauses_change_nothing_in_a_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digests, looks = set(), []
    before = Watch.stopped
    monkeypatch.setattr(Watch, "stopped", lambda w, c: looks.append(w.subject) or before(w, c))
    for ticks in (1, 10**9):
        monkeypatch.setattr(certificate, "_SLICE_TICKS", ticks)
        looks.append("next")
        layer = ["--arch", "eyeriss", "--layer", "conv:C4xM8xP7xQ7xR3xS3"]
        assert run(monkeypatch, *layer, "--certificate", str(tmp_path / "c.json")) == 0
        written = json.loads((tmp_path / "c.json").read_text())
        assert {part["lemma"] for part in written["parts"]} == {"bound", "cuts"}
        digests.add(written["digest"])
    assert len(digests) == 1
    second = looks.index("next", 1)
    assert looks[:second].count("") > looks[second:].count("")


def test_an_interrupted_check_says_how_far_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "c.json"
    assert run(monkeypatch, "--certificate", str(file)) == 0
    parts = len(json.loads(file.read_text())["parts"])
    assert parts > 2
    before, verified = verify.Part.verify, 0

    def interrupted(part: verify.Part, given: dict[str, object]) -> None:
        nonlocal verified
        verified += 1
        if verified > 2:
            raise KeyboardInterrupt
        before(part, given)

    monkeypatch.setattr(verify.Part, "verify", interrupted)
    monkeypatch.setattr(sys, "argv", ["jouleloop", "check", str(file)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.startswith(f"interrupted, nothing is proven: 2 of {parts} parts")


def test_what_stops_a_search_that_rounds_up_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    constraints = tmp_path / "two.yaml"
    constraints.write_text(
        "mapspace_constraints: [{target: PEWeightBuffer, type: temporal, factors: C=5},"
        " {target: PEWeightRegs, type: bypass, keep: [Weights], bypass: [Inputs, Outputs]}]\n"
    )
    given = ["--semantics", "timeloop-4", "--constraints", str(constraints), "--budget", "1", "--json"]
    assert run(monkeypatch, *given) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mapping"]
    assert not found["optimal"]
