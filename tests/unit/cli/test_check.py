"""``jouleloop map --certificate`` and ``jouleloop check``."""

import json
from pathlib import Path

import pytest

from command_line import run
from jouleloop.proof.form import digest_of
from paths import ROOT


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proof") / "proof.json"
    code, _, error = run("map", "--arch", "simba", "--layer", "fc:16x8", "--certificate", str(path))
    assert code == 0, error
    return path


def test_a_certificate_is_proven(certificate: Path) -> None:
    code, out, error = run("check", str(certificate), "--arch", "simba", "--layer", "fc:16x8", "--json")
    assert code == 0, error
    verdict = json.loads(out)
    assert verdict["proven"]
    assert verdict["parts"] > 0


def test_a_certificate_of_imperfect_factors_is_proven(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    about = ("--arch", "simba", "--layer", "fc:13x11")
    code, _, error = run("map", *about, "--factors", "imperfect", "--certificate", str(path))
    assert code == 0, error
    code, out, error = run("check", str(path), *about, "--json")
    assert code == 0, error
    assert json.loads(out)["parts"] > 100
    data = json.loads(path.read_text())
    for level in data["mapping"]:
        level["temporal"] = []
    data["digest"] = digest_of(data)
    path.write_text(json.dumps(data))
    code, _, error = run("check", str(path))
    assert code == 1
    assert "refused: the mapping is none of the mapspace" in error


def test_certificates_of_imperfect_factors_are_of_windows_too_but_of_energy_alone(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    about = ("--arch", "simba", "--layer", "conv:C3xM5xP5xQ4xR3xS3")
    written = ("--factors", "imperfect", "--certificate", str(path))
    code, _, error = run("map", *about, *written, "--objective", "delay")
    assert code == 0, error
    assert "holds a claim, not a certificate: imperfect factors are proven for the least energy" in error
    assert "certificate" not in json.loads(path.read_text())
    code, _, error = run("check", str(path), *about)
    assert code == 1
    assert "claim: the mapping costs" in error
    data = json.loads(path.read_text())
    data["value"] *= 0.99
    path.write_text(json.dumps({**data, "digest": digest_of(data)}))
    code, _, error = run("check", str(path))
    assert code == 1
    assert "refused: the mapping costs" in error
    code, _, error = run("map", *about, *written)
    assert code == 0, error
    code, _, error = run("check", str(path), *about)
    assert code == 0, error


def test_a_certificate_of_another_layer_is_refused(certificate: Path) -> None:
    code, _, error = run("check", str(certificate), "--arch", "simba", "--layer", "fc:16x16")
    assert code == 1
    assert "another problem" in error


def test_loops_that_divide_prove_nothing_of_those_that_need_not(certificate: Path) -> None:
    about = ("--arch", "simba", "--layer", "fc:16x8")
    code, _, error = run("check", str(certificate), *about, "--factors", "imperfect")
    assert code == 1
    assert "another choice of factors" in error


def test_a_design_of_which_certificates_state_too_little_is_refused(tmp_path: Path) -> None:
    """One for the same levels without latencies has other cycles."""
    path = tmp_path / "proof.json"
    arch = ROOT / "arch" / "simba.yaml"
    about = ("--layer", "fc:16x8", "--energy", str(ROOT / "arch/energy/simba-45nm-accelergy03.yaml"))
    constraints = ("--constraints", str(ROOT / "mappings/simba.yaml"))
    options = (*about, *constraints)
    code, _, error = run("map", "--arch", str(arch), *options, "--objective", "delay", "--certificate", str(path))
    assert code == 0, error
    slow = tmp_path / "slow.yaml"
    before, after = arch.read_text().split('type: "LPDDR4", ')
    slow.write_text(f'{before}type: "LPDDR4", network_fill_latency: 100, {after}')
    code, _, error = run("check", str(path), "--arch", str(slow), *options)
    assert code == 2
    assert "certificates know no latencies" in error


def test_a_false_claim_is_refused(certificate: Path, tmp_path: Path) -> None:
    data = json.loads(certificate.read_text())
    data["value"] *= 0.5
    data["digest"] = digest_of(data)
    (tmp_path / "false.json").write_text(json.dumps(data))
    code, _, error = run("check", str(tmp_path / "false.json"))
    assert code == 1
    assert "refused" in error
    assert "Traceback" not in error


def test_what_is_no_certificate_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"certificate": 1, "parts": 3}')
    code, _, error = run("check", str(tmp_path / "none.json"))
    assert code == 2
    assert "none.json" in error
    assert "Traceback" not in error


def test_a_certificate_needs_a_proof() -> None:
    code, _, error = run("map", "--arch", "simba", "--layer", "fc:16x8", "--budget", "5", "--certificate", "x.json")
    assert code == 2
    assert "--certificate" in error
