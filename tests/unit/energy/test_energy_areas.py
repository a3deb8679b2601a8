"""Areas from tables and from attributes: of one instance, and of a whole design."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import jouleloop as jl
from held_out import held_out_errors
from jouleloop.arch.read import architecture_from, read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.ert import read_areas
from jouleloop.energy.interpolated import InterpolatedEstimator
from jouleloop.energy.primitives import AREA, NoEstimate
from jouleloop.energy.tables import read_table
from jouleloop.errors import EnergyTableError
from paths import ROOT

ENERGY = ROOT / "arch" / "energy"
DESIGN = {
    "architecture": {
        "version": 0.3,
        "subtree": [
            {
                "name": "s",
                "local": [{"name": "DRAM", "class": "DRAM", "attributes": {"word-bits": 16}}],
                "subtree": [
                    {
                        "name": "PE[0..7]",
                        "local": [
                            {"name": "buf", "class": "SRAM", "attributes": {"entries": 2, "meshX": 8}},
                            {"name": "mac[0..2]", "class": "mac", "attributes": {"meshX": 8, "meshY": 3}},
                        ],
                    }
                ],
            }
        ],
    }
}
NAMES = ("system.DRAM", "system.PE[0..7].buf", "system.PE[1..8].mac[1..3]")
AREAS = (1000, 70000, 20000)


@pytest.fixture(scope="module")
def interpolated() -> InterpolatedEstimator:
    return InterpolatedEstimator.read(ENERGY)


def write(folder: Path, name: str, section: str, tables: list[dict[str, object]]) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({section: {"version": 0.3, "tables": tables}}))
    return path


def table(folder: Path) -> Path:
    actions = [{"name": name, "energy": 1} for name in ("read", "write", "mac")]
    return write(folder, "run.ERT.yaml", "ERT", [{"name": name, "actions": actions} for name in NAMES])


def test_areas_stand_beside_the_energies(tmp_path: Path) -> None:
    """Timeloop 3.0.3 prints 1000, 70000 and 480000 um2 for these three, the last of all units."""
    arch, ert = architecture_from(DESIGN, name="x"), table(tmp_path)
    assert costs_of(arch, sources_of(ert)).area_um2 is None
    write(tmp_path, "run.ART.yaml", "ART", [{"name": n, "area": a} for n, a in zip(NAMES, AREAS, strict=True)])
    assert read_areas(ert) == {"DRAM": 1000, "buf": 70000, "mac": 20000}
    assert costs_of(arch, sources_of(ert)).area_um2 == 1000 + 8 * 70000 + 480000


def test_one_area_that_is_not_known_leaves_the_whole_unknown(tmp_path: Path) -> None:
    arch, ert = architecture_from(DESIGN, name="x"), table(tmp_path)
    write(tmp_path, "run.ART.yaml", "ART", [{"name": NAMES[0], "area": 1}, {"name": NAMES[1], "area": 2}])
    costs = costs_of(arch, sources_of(ert))
    assert [level.area_um2 for level in costs.levels] == [1, 2]
    assert costs.area_um2 is None
    assert [row["component"] for row in costs.areas(arch)] == ["DRAM", "buf"]


def test_what_is_no_area_is_refused(tmp_path: Path) -> None:
    ert = table(tmp_path)
    write(tmp_path, "run.ART.yaml", "ART", [{"name": NAMES[0], "area": "large"}])
    with pytest.raises(EnergyTableError, match="no area"):
        read_areas(ert)


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_areas_of_the_projects_designs(name: str) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    costs = costs_of(arch, sources_of(ENERGY / f"{name}-45nm-accelergy03.yaml"))
    assert costs.area_um2 is not None
    parts = sum((one.area_um2 or 0) * node.instances for one, node in zip(costs.levels, arch.levels, strict=True))
    assert costs.area_um2 > parts > 0
    rows = costs.areas(arch)
    assert [row["component"] for row in rows] == [*(level.name for level in arch.levels), arch.compute.name]
    assert sum(row["all_um2"] for row in rows) == pytest.approx(costs.area_um2, rel=1e-12)
    assert replace(costs, area_um2=None).as_dict() == costs.as_dict()


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_published_areas_follow_from_attributes(name: str, interpolated: InterpolatedEstimator) -> None:
    entries = read_table(ENERGY / f"{name}-45nm-accelergy03.yaml").entries
    assert len(entries) == 7
    for entry in entries:
        found = interpolated.library.energy(interpolated.primitives, entry.klass, entry.attributes, AREA)
        assert found == pytest.approx(entry.area_um2, abs=1e-9), entry


def test_a_sweep_over_a_size_has_an_area_at_every_size() -> None:
    sizes = [1024, 4096, 16384, 65536]
    areas = [
        jl.Architecture.read("eyeriss", changes={"shared_glb.depth": size}).targets.costs.area_um2 for size in sizes
    ]
    assert all(area is not None for area in areas)
    assert areas == sorted(areas)


def test_areas_shrink_with_the_node_and_are_not_guessed(interpolated: InterpolatedEstimator) -> None:
    def area(klass: str, **attributes: object) -> float:
        return interpolated.library.energy(interpolated.primitives, klass, attributes, AREA)

    unit = {"datawidth": 16}
    assert area("intmac", technology="40nm", **unit) == area("intmac", technology="45nm", **unit) == 1239.5
    assert area("intmac", technology="16nm", **unit) == pytest.approx(0.19 * 1239.5)
    assert area("aladdin_multiplier", technology="45nm", width_a=16, width_b=8) == pytest.approx(6350 / 8)
    memory = {"depth": 4096, "width": 64}
    nodes = [area("SRAM", technology=f"{nm}nm", **memory) for nm in (14, 22, 28, 32, 45, 65)]
    assert nodes == sorted(nodes)
    assert nodes[0] == pytest.approx(14 / 22 * nodes[1])
    assert area("SRAM", technology="45nm", n_banks=3, **memory) == pytest.approx(
        0.75 * area("SRAM", technology="45nm", n_banks=4, **memory)
    )
    with pytest.raises(NoEstimate):
        area("SRAM", technology="130nm", **memory)


def test_errors_of_areas_are_what_the_documentation_says(interpolated: InterpolatedEstimator) -> None:
    errors = np.abs(held_out_errors(interpolated.primitives.grid, (3,)))
    assert len(errors) == 5192
    assert np.median(errors) < 0.048
    assert np.quantile(errors, 0.95) < 0.161
    assert errors.max() < 0.48
