"""The same inputs under every supported Python, set of packages and processor: the same tables, byte for byte."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from environments import allowed, environment, lowest_allowed, running
from jouleloop.parquet import read_sealed
from paths import ROOT
from waiting import LIMIT_S

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

#: Of an environment: the Pythons that it may have, the first that is here; what is installed, in words for people;
#: whether its versions are those that run here, so that Parquet's footers are the same, too.
ENVIRONMENTS: dict[str, tuple[tuple[str, ...], Callable[[], list[str]], bool]] = {
    "lowest": (("3.11",), lowest_allowed, False),
    "same": (("3.12",), running, True),
    "newest": (("3.13",), allowed, False),
    "latest": (("3.14",), running, True),
}
SWEEP = """\
kind: conv
fixed: {kernel: 3, output: 6}
ranges: {C: {start: 4, stop: 16, step: 4}, M: [8, 12]}
combine: product
variable: macs
expected: linear
"""
#: Sizes that few loops divide: imperfect factors differ from perfect ones.
ODD = """\
kind: conv
fixed: {kernel: 3, output: 5}
ranges: {C: [6, 7], M: [7, 10]}
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
IMPERFECT = ("energies", "energy_sources")
SWEEPS = {"perfect": ("several",), "imperfect": ("odd", "--factors", "imperfect")}
#: What searches and evaluates, but for the layers that are compiled with.
LATER = """
import jouleloop as jl

for arch, layer, factors in (
    ("eyeriss", "conv:C4xM8xP7xQ7xR3xS3/stride2", "perfect"),
    ("manticore", "fc:64x48", "perfect"),
    ("simba", "fc:10x14", "imperfect"),
    ("eyeriss", "conv:C4xM8xP7xQ7xR3xS3", "imperfect"),
):
    hardware = jl.Architecture.read(arch, factors=factors)
    found = jl.search(hardware, layer)
    jl.evaluate(hardware, layer, found.mapping)
    if (arch, factors) == ("eyeriss", "imperfect"):  # the others hand words on to neighbours
        jl.evaluate(hardware, layer, found.mapping, residuals="exact")
"""
#: What the workflow makes with Snakemake, its profile and its logger plugin.
WORKFLOW = ("-m", "snakemake", "--cores", "2", "results/energies.parquet")


@pytest.fixture(scope="module")
def swept(study: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what sweeps, tests and runs the workflow with a given Python and returns the folder of the results."""

    def sweep(python: str, name: str, more: dict[str, str] | None = None) -> Path:
        project = study(tmp_path_factory.mktemp("versions") / name)
        (project.folder / "layers/several.yaml").write_text(SWEEP)
        (project.folder / "layers/odd.yaml").write_text(ODD)
        first = f"{Path(python).parent}:{os.environ['PATH']}"  # what the workflow's jobs find
        designs = ("--arch", "eyeriss", "--arch", "simba")
        commands = [
            *(
                ("-m", "jouleloop", "sweep", *asked, *designs, "--output", f"results/{factors}")
                for factors, asked in SWEEPS.items()
            ),
            ("-c", STATISTICS, "results/perfect"),
            WORKFLOW,
        ]
        for command in commands:
            done = subprocess.run(
                [python, *command],
                cwd=project.folder,
                env=project.variables({"PATH": first} | (more or {})),
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        return Path(project.results)

    return sweep


@pytest.fixture(scope="module")
def own(swept: Callable[..., Path]) -> Path:
    return swept(sys.executable, "own")


def tables(folder: Path, suffix: str) -> dict[str, Path]:
    """Return the tables in a folder of results by name."""
    names = [*(f"perfect/{name}" for name in TABLES), *(f"imperfect/{name}" for name in IMPERFECT), "energies"]
    paths = {name: (folder / name).with_suffix(suffix) for name in names}
    return {name: path for name, path in paths.items() if path.exists()}


def csvs(folder: Path) -> dict[str, bytes]:
    found = {name: path.read_bytes() for name, path in tables(folder, ".csv").items()}
    assert len(found) == len(TABLES) + len(IMPERFECT) + 1
    return found


def parquets(folder: Path) -> dict[str, bytes]:
    found = {name: path.read_bytes() for name, path in tables(folder, ".parquet").items()}
    assert len(found) == len(TABLES) + len(IMPERFECT) + 1 - len(SWEEPS)  # the sources of energies are a CSV alone
    return found


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_same_tables(name: str, swept: Callable[..., Path], own: Path, tmp_path: Path) -> None:
    pythons, packages, same = ENVIRONMENTS[name]
    python = environment(name, pythons, packages(), tmp_path / "venv")
    # What versions of others warn of is not ours.
    other = swept(python, name, {"PYTHONWARNINGS": "ignore"})
    assert csvs(other) == csvs(own)
    if same:
        assert parquets(other) == parquets(own)
    for table, path in tables(own, ".parquet").items():
        assert read_sealed(other / f"{table}.parquet").to_pydict() == read_sealed(path).to_pydict()
    sizes = [len(read_sealed(own / folder / "energies.parquet")) for folder in ("perfect", "imperfect", ".")]
    assert sizes == [16, 8, 24]


@pytest.fixture(scope="module")
def generic(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables for kernels of any processor, in a folder of their own."""
    return {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("kernels"))}


def compiled(generic: dict[str, str], *arguments: str) -> set[str]:
    """Return the names of all kernels that are compiled after a Python has run."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=os.environ | generic, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = Path(generic["NUMBA_CACHE_DIR"]).glob("kernels-*/*")
    return {path.name for path in found if not path.name.startswith(".")}


def test_nothing_is_left_to_compile(generic: dict[str, str]) -> None:
    """What is compiled in advance is all that searches and evaluations ask for."""
    perfect = compiled(generic, "-m", "jouleloop.api.warm", "perfect")
    assert any(name.startswith("optimum.solve.run_parts") for name in perfect)
    both = compiled(generic, "-m", "jouleloop.api.warm", "imperfect")
    assert both > perfect
    assert compiled(generic, "-c", LATER) == both


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the processors are those of x86-64")
def test_an_older_processor(swept: Callable[..., Path], own: Path, generic: dict[str, str]) -> None:
    """The kernels are those that the test before has compiled, or its own."""
    from numpy._core import _multiarray_umath

    more = {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(_multiarray_umath.__cpu_dispatch__),
    }
    other = swept(sys.executable, "older", generic | more)
    assert csvs(other) == csvs(own)
    assert parquets(other) == parquets(own)
