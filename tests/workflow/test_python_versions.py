"""The same inputs under every supported Python: the same tables, byte for byte."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from waiting import LIMIT_S

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.xdist_group("workflow")]

VERSIONS = ("3.11", "3.12", "3.13")
#: What `jouleloop sweep` imports.
NEEDED = ("jinja2", "numba", "numpy", "pandas", "pyarrow", "pydantic", "rich", "scipy", "statsmodels", "typer", "yaml")
SWEEP = """\
kind: conv
fixed: {kernel: 3, output: 6}
ranges: {C: {start: 4, stop: 16, step: 4}, M: [8, 12]}
combine: product
variable: macs
expected: linear
"""


def interpreters(version: str) -> list[str]:
    """Return the commands that may be this Python, a prepared one first."""
    named = os.environ.get(f"JOULELOOP_PYTHON_{version.replace('.', '_')}")
    own = sys.executable if sys.version_info[:2] == tuple(map(int, version.split("."))) else None
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return [path for path in (named, own, shutil.which(f"python{version}"), *map(str, managed)) if path]


def works(python: str, statement: str) -> bool:
    done = subprocess.run([python, "-c", statement], capture_output=True, check=False)
    return done.returncode == 0


def python_with_packages(version: str, folder: Path) -> str:
    """Return a Python of ``version`` with what is needed, installed into ``folder`` where it has to be; else skip."""
    imports = f"import {', '.join(NEEDED)}"
    right = f"import sys; sys.exit(sys.version_info[:2] != ({version.replace('.', ', ')}))"
    found = [python for python in interpreters(version) if works(python, right)]
    if not found:
        pytest.skip(f"there is no Python {version} here (JOULELOOP_PYTHON_{version.replace('.', '_')} may name one)")
    ready = next((python for python in found if works(python, imports)), None)
    if ready:
        return ready
    if os.environ.get("JOULELOOP_NO_INSTALL"):
        pytest.skip(f"{found[0]} lacks packages, and JOULELOOP_NO_INSTALL forbids to install them")
    packages = [f"{name}=={installed(name)}" for name in (*NEEDED[:-1], "pyyaml")]
    python = str(folder / "bin/python")
    for step in (
        [found[0], "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *packages],
    ):
        done = subprocess.run(step, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            pytest.skip(f"Python {version}: its packages are not to be had: {done.stderr.strip()[-300:]}")
    return python


@pytest.fixture(scope="module")
def swept(study: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Return what sweeps with a given Python and returns the folder of the results."""
    project = study(tmp_path_factory.mktemp("versions") / "s")
    (project.folder / "layers/several.yaml").write_text(SWEEP)

    def sweep(python: str, name: str) -> Path:
        arguments = ("sweep", "several", "--arch", "eyeriss", "--arch", "simba", "--output", f"results/{name}")
        done = subprocess.run(
            [python, "-m", "jouleloop", *arguments],
            cwd=project.folder,
            env=project.variables(),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return Path(project.results / name)

    return sweep


@pytest.fixture(scope="module")
def own(swept: Callable[[str, str], Path]) -> Path:
    return swept(sys.executable, "own")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_tables(version: str, swept: Callable[[str, str], Path], own: Path, tmp_path: Path) -> None:
    python = python_with_packages(version, tmp_path / "venv")
    other = swept(python, version)
    assert (other / "energies.csv").read_bytes() == (own / "energies.csv").read_bytes()
    assert (other / "energy_sources.csv").read_bytes() == (own / "energy_sources.csv").read_bytes()
    mine, theirs = (pq.read_table(folder / "energies.parquet") for folder in (own, other))
    assert theirs.replace_schema_metadata().equals(mine.replace_schema_metadata())
    assert len(mine) == 16
