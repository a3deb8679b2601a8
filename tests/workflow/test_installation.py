"""Wheel and source: built, installed with the locked packages into an empty environment, used from another folder."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from paths import ROOT
from waiting import LIMIT_S

pytestmark = pytest.mark.slow


def run(*command: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command as a user would, who has no checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def built(source: Path, target: Path) -> Path:
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", target, folder=source)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"))


def content(folder: Path) -> dict[str, bytes]:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_source_makes_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    (source,) = dist.glob("*.tar.gz")
    assert run("tar", "-xzf", source, folder=tmp_path).returncode == 0
    (unpacked,) = tmp_path.iterdir()
    assert content(built(unpacked, tmp_path / "again")) == content(dist)
    assert any(name.endswith("licenses/LICENSE") for name in content(dist))


@pytest.mark.skipif("JOULELOOP_NO_INSTALL" in os.environ, reason="JOULELOOP_NO_INSTALL forbids to install packages")
def test_the_wheel_works_in_an_empty_environment(dist: Path, tmp_path: Path) -> None:
    python = tmp_path / "venv/bin/python"
    (wheel,) = dist.glob("*.whl")
    # The lock is complete; Python compiles what is imported, when it is.
    pip = (python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile")
    assert run(sys.executable, "-m", "venv", tmp_path / "venv", folder=tmp_path).returncode == 0
    done = run(*pip, "--require-hashes", "-r", ROOT / "requirements/run.lock", folder=tmp_path)
    if done.returncode:
        pytest.skip(f"the locked packages are not to be had: {done.stderr.strip()[-300:]}")
    done = run(*pip, wheel, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    bin_folder, study = python.parent, tmp_path / "elsewhere"
    where = run(python, "-c", "import jouleloop; print(jouleloop.__file__)", folder=tmp_path).stdout
    assert where.startswith(str(tmp_path / "venv"))
    done = run(bin_folder / "jouleloop", "map", "--arch", "eyeriss", "--layer", "fc:64x32", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    for folder, command in (
        (tmp_path, ("jouleloop", "init", study)),
        (study, ("jouleloop", "config")),
        (study, ("snakemake", "--cores", "1", "--dry-run", "--quiet")),
        (tmp_path, ("pip", "check")),
    ):
        done = run(bin_folder / command[0], *command[1:], folder=folder)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
