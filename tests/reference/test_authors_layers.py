"""What docs/convolutions.md states of the authors' layers follows from the optima that are stored."""

import sys

import pandas as pd
import pytest

import jouleloop as jl
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import authors_layers

OPTIMA = ROOT / "docs/data/authors_optima.csv.xz"
SWEEPS = [ROOT / f"layers/{name}.yaml" for name in ("authors_grid", "authors_networks", "authors_random")]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """The published layers beside the stored optima, as a run of config/authors_networks.yaml has them."""
    found = []
    for path in SWEEPS:
        for point in load_sweep(path).points:
            sizes = {d: point.layer.sizes[d] for d in ("C", "M", "R", "w_stride")}
            given = {key: value for key, value in point.given if key.startswith("published_")}
            given |= {"layer": point.layer.name, "macs": point.layer.macs, "input_size": point.input_size}
            found.append({"sweep": path.stem} | sizes | given)
    table = pd.DataFrame(found).merge(pd.read_csv(OPTIMA), on="layer", validate="many_to_one")
    return authors_layers.prepared(table.assign(optimal=True))


@pytest.fixture(scope="module")
def simba() -> jl.Architecture:
    """Simba as config/authors_networks.yaml has it."""
    energy = [ROOT / "arch/energy/simba-45nm-accelergy03.yaml", "interpolated"]
    return jl.Architecture.read("simba", constraints="arch-only", energy=energy, semantics="timeloop-2023-04")


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs/convolutions.md").read_text(encoding="utf-8")


def test_tables_and_statements_are_those_of_the_optima(rows: pd.DataFrame, page: str) -> None:
    lines = list(authors_layers.gaps(rows))
    assert len(rows) == 9116
    assert len(lines) == 8
    assert [line for line in lines if line not in page] == []
    words = " ".join(page.split())
    assert [line for line in authors_layers.misses(rows) if line not in words] == []


def test_envelopes_are_those_of_the_optima(rows: pd.DataFrame, page: str) -> None:
    """But for the p-values among shuffles, which take longer."""
    shown = [line.split(" | ") for line in page.splitlines() if line.startswith(("| grid and random", "| networks |"))]
    found = [line.split(" | ") for line in authors_layers.envelopes(rows, shuffles=0)][2:]
    shuffled = 7
    assert [cells[:shuffled] + cells[shuffled + 1 :] for cells in found] == [
        cells[:shuffled] + cells[shuffled + 1 :] for cells in shown
    ]


def test_stored_optima_are_those_of_a_search(rows: pd.DataFrame, simba: jl.Architecture) -> None:
    layers = {point.layer.name: point.layer for name in SWEEPS for point in load_sweep(name).points}
    for _, row in rows.sort_values("mapspace_size", kind="stable").drop_duplicates("layer").iloc[:3000:300].iterrows():
        found = jl.search(simba, layers[str(row["layer"])])
        assert found.optimal
        assert found.energy_pj == pytest.approx(row["total_pj"], rel=1e-11)
