"""What is read and not followed is said: dropped factors, attributes that nothing reads, half a filter, no energy."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jouleloop.cli import main
from paths import ROOT

EYERISS = (ROOT / "arch" / "eyeriss.yaml").read_text()
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["jouleloop", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return command


def verdicts(run: Run, text: str) -> dict[str, tuple[str, str]]:
    """Return verdict and reason of every key of a design."""
    Path("mine.yaml").write_text(text)
    entries = json.loads(run("doctor", "--design", "mine.yaml", "--json")[1])
    return {entry["where"]: (entry["verdict"], entry["why"]) for entry in entries}


def test_a_factor_larger_than_its_dimension_is_named(run: Run) -> None:
    text = "architecture_constraints:\n  targets:\n  - {target: shared_glb, type: temporal, factors: N=7 M=2}\n"
    Path("mine.yaml").write_text(text)
    code, _, err = run("map", "--arch", "eyeriss", "--layer", "fc:16x16/batch4", "--constraints", "mine.yaml")
    assert code == 0, err
    assert "note: shared_glb: temporal N=7 is dropped, as by Timeloop: the layer has N = 4" in err
    assert "M=2" not in err


def test_half_a_filter_asks_for_the_other_half(run: Run) -> None:
    code, out, err = run("map", "--arch", "eyeriss", "--layer", "conv:C3xM8xP5xQ5xR11")
    assert (code, out) == (2, "")
    assert "S: is missing beside R11; allowed: S11" in err
    assert run("map", "--arch", "eyeriss", "--layer", "conv:C3xM8xR3/input9")[0] == 2
    assert run("map", "--arch", "eyeriss", "--layer", "conv:C3xM8xP5xQ5")[0] == 0  # neither: a layer of 1 x 1
    assert run("map", "--arch", "eyeriss", "--layer", "conv:C3xM8xP5xR3")[0] == 0  # along one axis alone


def test_a_slip_of_an_attribute_is_named(run: Run) -> None:
    slip = EYERISS.replace("n_banks: 32", "n_bank: 1")
    said = "n_bank is an attribute that nothing reads; did you mean 'n_banks'?"
    assert verdicts(run, slip)["shared_glb.attributes.n_bank"] == ("no effect", said)
    _, _, err = run("map", "--arch", "mine.yaml", "--layer", "fc:16x16", "--energy", "interpolated")
    assert f"note: shared_glb: {said}" in err
    Path("mine.yaml").write_text(EYERISS)
    _, _, err = run("map", "--arch", "mine.yaml", "--layer", "fc:16x16", "--energy", "interpolated")
    assert "note" not in err
    said = verdicts(run, EYERISS.replace("n_banks: 32", "sizekb: 32"))["shared_glb.attributes.sizekb"]
    assert said == ("no effect", "sizekb is an attribute that nothing reads; did you mean 'sizeKB'?")


def test_messages_name_what_was_written(run: Run) -> None:
    arguments = ("map", "--arch", "mine.yaml", "--layer", "fc:16x16", "--energy", "interpolated")
    for old, new, said in (
        (
            'technology: "45nm"',
            'technolgy: "45nm"',
            "DummyBuffer: no estimator knows the energy of class regfile: interpolated: regfile without a technology",
        ),
        ("name: shared_glb", "name: 5", "the name must be text (got 5)"),
    ):
        assert old in EYERISS
        Path("mine.yaml").write_text(EYERISS.replace(old, new))
        code, _, err = run(*arguments)
        assert code == 2
        assert said in err
    Path("c.yaml").write_text("architecture_constraint: {}")
    _, _, err = run("map", "--arch", "eyeriss", "--layer", "fc:16x16", "--constraints", "c.yaml")
    assert err.count("mapspace_constraints,") == 1


def test_what_energies_depend_on_is_not_called_without_effect(run: Run) -> None:
    found = verdicts(run, EYERISS.replace("n_banks: 32", "n_banks: 8"))
    assert found["shared_glb.attributes.n_banks"][0] == "counts for energy"
    assert found["DRAM.attributes.type"][0] == "counts for energy"
    assert found["shared_glb.attributes.depth"][0] == "counted"
    assert found["psum_spad.attributes.n_banks"][0] == "no effect"  # a register file has none


def test_doctor_refuses_the_energies_that_map_refuses(run: Run) -> None:
    found = verdicts(run, EYERISS.replace("LPDDR4", "LPDR4"))
    verdict, why = found["DRAM"]
    assert verdict == "refused"
    assert "DRAM type LPDR4, known are LPDDR4" in why
    assert run("doctor", "--design", "mine.yaml")[0] == 1
    assert run("map", "--arch", "mine.yaml", "--layer", "fc:16x16")[0] == 2
