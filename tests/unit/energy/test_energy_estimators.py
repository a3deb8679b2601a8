"""Estimators from attributes: Accelergy's own tables reproduced, interpolation, compound components, refusals."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from held_out import held_out_errors
from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.arch.read import read_architecture
from jouleloop.energy.built_in import BuiltInEstimator
from jouleloop.energy.cacti import CactiGrid, OutsideGrid
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.counts import CountsEstimator
from jouleloop.energy.ert import built_in_energy_pj, read_ert, to_ert
from jouleloop.energy.estimator import Estimate, Refusal, TableEstimator, estimate_costs
from jouleloop.energy.interpolated import InterpolatedEstimator
from jouleloop.errors import EnergyTableError
from paths import REFERENCE, ROOT

ENERGY = ROOT / "arch" / "energy"
RUNS = REFERENCE / "timeloop_runs"


@pytest.fixture(scope="module")
def interpolated() -> InterpolatedEstimator:
    return InterpolatedEstimator.read(ENERGY)


def sram(**attributes: object) -> StorageLevel:
    given = {"technology": "45nm", "width": 64, "depth": 1024, "n_banks": 1, "n_rdwr_ports": 1, **attributes}
    return StorageLevel("buffer", "system.buffer", "SRAM", 1024, 16, attributes=given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_accelergys_tables_follow_from_the_attributes(name: str, interpolated: InterpolatedEstimator) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    published = read_ert(RUNS / f"fc_{name}_1024x128.ERT.yaml")
    nodes: list[StorageLevel | ComputeLevel] = [*arch.levels, arch.compute]
    for node in nodes:
        estimate = interpolated.estimate(node)
        assert isinstance(estimate, Estimate)
        wanted = published[node.name]
        assert set(estimate.energy_pj) == set(wanted)
        for action, energy in wanted.items():
            assert estimate.energy_pj[action] == pytest.approx(energy, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_three_ways_to_the_same_costs(name: str, interpolated: InterpolatedEstimator) -> None:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    table = ENERGY / f"{name}-45nm-accelergy03.yaml"
    from_table = costs_of(arch, sources_of(table))
    from_ert = costs_of(arch, sources_of(RUNS / f"fc_{name}_1024x128.ERT.yaml"))
    from_estimators = [estimate_costs(arch, [TableEstimator.read(table)]), estimate_costs(arch, [interpolated])]
    for costs in (from_ert, *from_estimators):
        assert costs.as_dict()["levels"] == from_table.as_dict()["levels"]
        assert costs.compute_pj == from_table.compute_pj


def test_written_ert_reads_back(tmp_path: Path) -> None:
    arch = read_architecture(ROOT / "arch" / "simba.yaml")
    costs = costs_of(arch, sources_of(ENERGY / "simba-45nm-accelergy03.yaml"))
    (tmp_path / "ERT.yaml").write_text(yaml.safe_dump(to_ert(arch, costs)))
    again = costs_of(arch, sources_of(tmp_path / "ERT.yaml"))
    assert again.as_dict()["levels"] == costs.as_dict()["levels"]
    assert again.compute_pj == costs.compute_pj


def test_built_in_model_by_hand() -> None:
    # 2048 rows of 64 bits = 16 KB: (1 + 5 / 99.5 * 15.5) * 4; DRAM: 200 pJ for 16 bits.
    buffer = StorageLevel("b", "b", "SRAM", 8192, 16, 4)
    assert built_in_energy_pj(buffer) == pytest.approx((1 + 5 / 99.5 * 15.5) * 4, rel=1e-14)
    assert built_in_energy_pj(StorageLevel("d", "d", "DRAM", None, 16, 4)) == 800


def test_grid_points_are_exact_and_between_is_monotone(interpolated: InterpolatedEstimator) -> None:
    grid = interpolated.primitives.grid
    plane = grid.points[45, 1, 1]
    assert len(grid.points) == 4 * 6 * 2
    for (depth, width), energies in plane.items():
        found = grid.energy(depth, width, 1, 1, 45)
        assert (found.read_pj, found.write_pj, found.idle_pj, found.area_um2) == energies
        assert found.exact
    low, middle, high = (grid.energy(d, 64, 1, 1, 45).read_pj for d in (1024, 1448, 2048))
    # 1448 is next to the geometric mean of its neighbours.
    assert middle == pytest.approx(math.sqrt(low * high), rel=1e-3)
    inside = grid.energy(3000, 48, 2, 2, 32)
    corners = [grid.energy(d, w, 2, 2, 32).read_pj for d in (2048, 4096) for w in (32, 64)]
    assert min(corners) < inside.read_pj < max(corners)
    assert not inside.exact


def test_held_out_errors_are_what_the_documentation_says(interpolated: InterpolatedEstimator) -> None:
    errors = np.abs(held_out_errors(interpolated.primitives.grid))
    assert len(errors) > 10_000
    assert np.median(errors) < 0.06
    assert np.quantile(errors, 0.95) < 0.18
    assert errors.max() < 0.6


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"depth": 32, "width": 512}, "depth 32, the grid has 64 to"),
        ({"depth": 2**20}, "depth 1048576"),
        ({"width": 8, "depth": 1024}, "width 8"),
        ({"technology": "90nm"}, "technology 90 nm, the grid has 22, 32, 45, 65 nm"),
        ({"technology": "fast"}, "technology fast"),
        ({"n_banks": 64}, "64 banks, the grid has 1 to 32"),
        ({"n_rdwr_ports": 4}, "number of ports 4, the grid has 1, 2"),
        ({"depth": "many"}, "attribute depth is 'many'"),
        ({"technology": "6nm"}, "technology 6 nm, known are 7 to 65 nm"),
    ],
)
def test_no_extrapolation(attributes: dict[str, object], message: str, interpolated: InterpolatedEstimator) -> None:
    answer = interpolated.estimate(sram(**attributes))
    assert isinstance(answer, Refusal)
    assert message in answer.reason


def test_banks_are_rounded_up(interpolated: InterpolatedEstimator) -> None:
    grid = interpolated.primitives.grid
    assert grid.energy(4096, 64, 3, 1, 45) == grid.energy(4096, 64, 4, 1, 45)
    with pytest.raises(OutsideGrid):
        grid.energy(4096, 64, 33, 1, 45)


def test_small_sram_counts_as_register_file(interpolated: InterpolatedEstimator) -> None:
    small = interpolated.estimate(sram(depth=16, width=16))
    assert isinstance(small, Estimate)
    assert small.energy_pj["read"] == 0.20203  # the register file of the same size in Accelergy's table


def unit(klass: str, **attributes: object) -> ComputeLevel:
    return ComputeLevel("mac", "mac", klass, 16, attributes={"technology": "45nm", **attributes})  # type: ignore[arg-type]


def test_arithmetic_scales_with_bits(interpolated: InterpolatedEstimator) -> None:
    def energy(klass: str, action: str, **attributes: object) -> float:
        answer = interpolated.estimate(unit(klass, **attributes))
        assert isinstance(answer, Estimate)
        return answer.energy_pj[action]

    assert energy("intmac", "mac_random", datawidth=32) == pytest.approx(0.0857 + 8.63)
    assert energy("intmac", "mac_random", datawidth=8) == pytest.approx(0.0857 / 4 + 8.63 / 16, abs=1e-5)
    assert energy("intmac", "mac_reused", datawidth=32) == pytest.approx(0.0857 + 0.85 * 8.63, abs=1e-5)
    assert energy("fpmac", "mac_random") == pytest.approx(7.928 + 24.4)
    assert energy("intmac", "mac_random", datawidth=32, latency="1ns") == pytest.approx(0.21 + 12.68)
    refused = interpolated.estimate(unit("intmac", technology="180nm"))
    assert isinstance(refused, Refusal)
    assert "known are 7 to 130 nm" in refused.reason


#: What ``get_tech_node_energy_scale`` of Accelergy's library plug-in (commit ba4e9da) makes of 1 pJ at 45 nm.
LOGIC = {65: 1.240657, 32: 0.65934, 16: 0.173548, 14: 0.138844, 10: 0.117766, 7: 0.094309}


@pytest.mark.parametrize(("nm", "factor"), LOGIC.items())
def test_units_at_other_nodes(nm: int, factor: float, interpolated: InterpolatedEstimator) -> None:
    for klass, action in (("intmac", "mac_random"), ("regfile", "read"), ("aladdin_adder", "add")):
        given = [unit(klass, technology=node, depth=64, width=32) for node in (f"{nm}nm", "45nm")]
        here, there = map(interpolated.estimate, given)
        assert isinstance(here, Estimate)
        assert isinstance(there, Estimate)
        assert here.energy_pj[action] == pytest.approx(factor * there.energy_pj[action], rel=1e-3)


def test_sram_at_other_nodes(interpolated: InterpolatedEstimator) -> None:
    def read_pj(nm: int) -> float:
        answer = interpolated.estimate(sram(technology=f"{nm}nm"))
        assert isinstance(answer, Estimate)
        return answer.energy_pj["read"]

    assert read_pj(28) == pytest.approx(0.4 * read_pj(22) + 0.6 * read_pj(32), abs=1e-5)
    assert read_pj(40) == pytest.approx((5 * read_pj(32) + 8 * read_pj(45)) / 13, abs=1e-5)
    assert read_pj(7) == pytest.approx(math.sqrt(7 / 22) * read_pj(22), abs=1e-5)
    # Published with the exercises (Accelergy 0.4, 40 nm): a buffer between grid points and between nodes.
    found = interpolated.estimate(sram(technology="40nm", depth=32768, width=64))
    assert isinstance(found, Estimate)
    assert found.energy_pj["read"] == pytest.approx(43.353054, rel=0.15)
    assert found.energy_pj["write"] == pytest.approx(30.878292, rel=0.05)


def test_words_instead_of_energies() -> None:
    arch = read_architecture(ROOT / "arch" / "simba.yaml")
    costs = estimate_costs(arch, [CountsEstimator()])
    assert costs.unit == "words"
    assert [level.read_pj for level in costs.levels] == [level.block_words for level in arch.levels]
    assert costs.compute_pj == 0
    with pytest.raises(EnergyTableError, match="counts alone"):
        estimate_costs(arch, [CountsEstimator(), BuiltInEstimator()])


@pytest.mark.parametrize(
    ("kind", "per_bit"), [("LPDDR4", 8), ("LPDDR", 40), ("DDR3", 70), ("GDDR5", 14), ("HBM2", 3.9)]
)
def test_dram_by_type(kind: str, per_bit: float, interpolated: InterpolatedEstimator) -> None:
    dram = StorageLevel("DRAM", "DRAM", "DRAM", None, 16, 4, attributes={"type": kind, "width": 64})
    answer = interpolated.estimate(dram)
    assert isinstance(answer, Estimate)
    assert answer.energy_pj == {"read": 64 * per_bit, "write": 64 * per_bit, "idle": 0.0}


def test_own_compound_components(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("""
compound_components:
  version: 0.4
  classes:
  - name: banked_buffer
    attributes: {depth: must_specify, width: 32, banks: 2, bank_depth: depth / banks}
    subcomponents:
    - {name: "bank[1..banks]", class: SRAM, attributes: {depth: bank_depth, width: width}}
    - {name: control, class: smartbuffer_RF, attributes: {memory_depth: 12, memory_width: 16}}
    actions:
    - name: read
      subcomponents:
      - {name: bank, actions: [{name: read, energy_scale: 0.5}]}
      - {name: control, actions: [{name: read}]}
    - name: write
      subcomponents: [{name: "bank[1..banks]", actions: [{name: write}]}]
""")
    estimator = InterpolatedEstimator.read(ENERGY, [tmp_path / "mine.yaml"])
    level = StorageLevel("b", "b", "banked_buffer", 2048, 32, attributes={"technology": "45nm", "depth": 2048})
    answer = estimator.estimate(level)
    assert isinstance(answer, Estimate)
    bank = estimator.primitives.grid.energy(1024, 32, 1, 1, 45)
    assert answer.energy_pj["read"] == pytest.approx(0.5 * bank.read_pj + 0.23632, abs=2e-5)
    assert answer.energy_pj["write"] == pytest.approx(2 * bank.write_pj, abs=2e-5)
    refused = estimator.estimate(replace(level, attributes={"technology": "45nm"}))
    assert isinstance(refused, Refusal)
    assert refused.reason == "class banked_buffer needs the attribute depth"


def test_every_estimator_that_was_asked_is_named(interpolated: InterpolatedEstimator) -> None:
    arch = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    strange = replace(arch.levels[1], klass="smartbuffer_MRAM")
    table = TableEstimator.read(ENERGY / "eyeriss-45nm-accelergy03.yaml")
    with pytest.raises(EnergyTableError) as caught:
        estimate_costs(replace(arch, levels=(arch.levels[0], strange, *arch.levels[2:])), [table, interpolated])
    assert len(caught.value.faults) == 1
    assert "eyeriss-45nm-accelergy03: no entry" in str(caught.value)
    assert "interpolated: class smartbuffer_MRAM is neither" in str(caught.value)
    found = estimate_costs(arch, [interpolated, table]).levels[1]
    assert (found.estimator, found.source) == ("interpolated", "interpolated: smartbuffer_SRAM (CACTI grid point)")


def test_a_changed_buffer_gets_energies(interpolated: InterpolatedEstimator) -> None:
    arch = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    costs = []
    for depth in (8192, 12000, 16384):
        glb = replace(arch.levels[1], attributes={**arch.levels[1].attributes, "depth": depth, "memory_depth": depth})
        costs.append(estimate_costs(replace(arch, levels=(arch.levels[0], glb, *arch.levels[2:])), [interpolated]))
    reads = [cost.levels[1].read_pj for cost in costs]
    assert reads == sorted(reads)
    assert reads[-1] == 74.1442


def test_grid_files_are_checked(tmp_path: Path) -> None:
    with pytest.raises(EnergyTableError, match="no CACTI grid"):
        CactiGrid.read(tmp_path)
    (tmp_path / "sram_45.csv").write_text("depth,width\n1,2\n")
    with pytest.raises(EnergyTableError, match="lacks columns"):
        CactiGrid.read(tmp_path)
