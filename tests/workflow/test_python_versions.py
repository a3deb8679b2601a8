"""The same inputs under every supported Python, set of packages and processor: the same tables, byte for byte."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import pytest

from jouleloop.parquet import read_sealed
from waiting import LIMIT_S

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

VERSIONS = ("3.11", "3.12", "3.13")
#: What `jouleloop sweep` and the statistics import.
NEEDED = ("jinja2", "numba", "numpy", "pandas", "pyarrow", "pydantic", "rich", "scipy", "statsmodels", "typer", "yaml")
SWEEP = """\
kind: conv
fixed: {kernel: 3, output: 6}
ranges: {C: {start: 4, stop: 16, step: 4}, M: [8, 12]}
combine: product
variable: macs
expected: linear
"""
#: The tables of the statistics, made of those of the sweep.
STATISTICS = """\
import sys
from pathlib import Path
from jouleloop.columns import read_table
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse, write_analysis
from jouleloop.tables.layouts import ENERGIES
from jouleloop.workload.sweep import load_sweep
folder = Path(sys.argv[1])
energies, provenance = read_table(folder / "energies.parquet", ENERGIES)
sweep = load_sweep(Path("layers/several.yaml"))
write_analysis(analyse(energies, [sweep], StatisticsOptions()), folder, provenance)
"""
TABLES = ("energies", "energy_sources", "fits", "verdicts", "residuals", "left_out")


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
def swept(study: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what sweeps and tests with a given Python and returns the folder of the results."""
    project = study(tmp_path_factory.mktemp("versions") / "s")
    (project.folder / "layers/several.yaml").write_text(SWEEP)

    def sweep(python: str, name: str, more: dict[str, str] | None = None) -> Path:
        output = f"results/{name}"
        arguments = ("sweep", "several", "--arch", "eyeriss", "--arch", "simba", "--output", output)
        for command in (("-m", "jouleloop", *arguments), ("-c", STATISTICS, output)):
            done = subprocess.run(
                [python, *command],
                cwd=project.folder,
                env=project.variables(more),
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        return Path(project.results / name)

    return sweep


@pytest.fixture(scope="module")
def own(swept: Callable[..., Path]) -> Path:
    return swept(sys.executable, "own")


def csvs(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.csv").read_bytes() for name in TABLES}


def parquets(folder: Path) -> dict[str, bytes]:
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES if name != "energy_sources"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_tables(version: str, swept: Callable[..., Path], own: Path, tmp_path: Path) -> None:
    other = swept(python_with_packages(version, tmp_path / "venv"), version)
    assert csvs(other) == csvs(own)
    assert parquets(other) == parquets(own)
    assert len(read_sealed(own / "energies.parquet")) == 16


@pytest.mark.skipif("JOULELOOP_PYTHON_LOWEST" not in os.environ, reason="`make test-lowest` makes the environment")
def test_the_lowest_versions(swept: Callable[..., Path], own: Path) -> None:
    other = swept(os.environ["JOULELOOP_PYTHON_LOWEST"], "lowest", {"PYTHONWARNINGS": "ignore"})
    assert csvs(other) == csvs(own)
    for name in parquets(own):
        mine, theirs = (read_sealed(folder / f"{name}.parquet") for folder in (own, other))
        assert theirs.to_pydict() == mine.to_pydict()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the processors are those of x86-64")
def test_an_older_processor(swept: Callable[..., Path], own: Path, tmp_path: Path) -> None:
    from numpy._core import _multiarray_umath

    more = {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_multiarray_umath.__cpu_dispatch__),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    other = swept(sys.executable, "older", more)
    assert csvs(other) == csvs(own)
    assert parquets(other) == parquets(own)
