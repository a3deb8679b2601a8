"""``jouleloop map --certificate`` and ``jouleloop check``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jouleloop.optimum.check.form import digest_of


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "jouleloop", *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


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


def test_no_certificate_is_written_for_imperfect_factors(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    options = ("--arch", "simba", "--layer", "fc:16x8", "--factors", "imperfect", "--certificate", str(path))
    code, _, error = run("map", *options)
    assert code == 2
    assert error.splitlines() == [
        "error: --certificate: no certificate is written for imperfect factors; allowed: perfect"
    ]
    assert not path.exists()


def test_a_certificate_of_another_layer_is_refused(certificate: Path) -> None:
    code, _, error = run("check", str(certificate), "--arch", "simba", "--layer", "fc:16x16")
    assert code == 1
    assert "another problem" in error


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
