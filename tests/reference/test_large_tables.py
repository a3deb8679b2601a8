"""Of the authors' 9,116 layers these two are proven by the larger tables of a search that takes long alone."""

import pytest

import jouleloop as jl
from paths import ROOT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "least_pj", "published_pj"),
    [
        ("conv:C325xM143xP360xQ360xR9xS9", 7322841946163.67, 7712220084328.08),
        ("conv:C295xM185xP360xQ360xR9xS9", 8761752816299.52, 9355771662101.07),
    ],
)
def test_layers_whose_tables_are_large_are_proven(layer: str, least_pj: float, published_pj: float) -> None:
    energy = [ROOT / "arch/energy/simba-45nm-accelergy03.yaml", "interpolated"]
    simba = jl.Architecture.read("simba", constraints="arch-only", energy=energy, semantics="timeloop-2023-04")
    found = jl.search(simba, layer)
    assert found.optimal
    assert found.energy_pj == pytest.approx(least_pj, rel=1e-12)
    assert found.energy_pj < published_pj
