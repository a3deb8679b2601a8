"""Energy reference tables: against the tables that Accelergy wrote, and what has no entry."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.energy.tables import read_table
from jouleloop.errors import EnergyTableError
from paths import REFERENCE, ROOT

RUNS = REFERENCE / "timeloop_runs"


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
def test_costs_are_the_largest_entries_of_accelergys_table(name: str) -> None:
    tables = yaml.safe_load((RUNS / f"fc_{name}_1024x128.ERT.yaml").read_text())["ERT"]["tables"]
    largest: dict[str, dict[str, float]] = {}
    for component in tables:
        short = component["name"].rsplit("[", 1)[0] if component["name"].endswith("]") else component["name"]
        actions = largest.setdefault(short.split(".")[-1], {})
        for action in component["actions"]:
            actions[action["name"]] = max(actions.get(action["name"], 0.0), action["energy"])
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    costs = costs_of(arch, sources_of(ROOT / "arch" / "energy" / f"{name}-45nm-accelergy03.yaml"))
    for level in costs.levels:
        if level.level != "PEWeightRegs":
            assert level.read_pj == largest[level.level]["read"]
            assert level.write_pj == largest[level.level]["write"]
    unit = largest[arch.compute.name]
    assert costs.compute_pj == unit.get("mac_random", unit.get("compute"))


def test_weight_registers_cost_what_timeloop_charges() -> None:
    # Timeloop's technology model: 1.0 at 0.5 KB and 6.0 at 100 KB for 16 bits, linear, over 64 registers of 8 bits.
    kilobytes = 8 * 64 / 8 / 1024
    expected = (1 + 5 / 99.5 * (kilobytes - 0.5)) * (8 * 64 / 16) / 64
    arch = read_architecture(ROOT / "arch" / "simba.yaml")
    costs = costs_of(arch, sources_of(ROOT / "arch" / "energy" / "simba-45nm-accelergy03.yaml"))
    assert costs.levels[-1].read_pj == pytest.approx(expected, rel=1e-14)
    assert "built-in technology model" in costs.levels[-1].source
    # The stored run: 2 * 512 accesses of 4 clusters.
    assert round(2 * 512 * 4 * costs.levels[-1].read_pj, 6) == 2002.974874


def test_missing_entries_are_all_listed_with_the_nearest() -> None:
    arch = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    glb = replace(arch.level("shared_glb"), attributes={**arch.level("shared_glb").attributes, "memory_depth": 8192})
    spad = replace(arch.level("psum_spad"), attributes={**arch.level("psum_spad").attributes, "memory_depth": 24})
    levels = tuple({"shared_glb": glb, "psum_spad": spad}.get(level.name, level) for level in arch.levels)
    with pytest.raises(EnergyTableError) as caught:
        costs_of(replace(arch, levels=levels), sources_of(ROOT / "arch" / "energy" / "eyeriss-45nm-accelergy03.yaml"))
    assert [fault.field for fault in caught.value.faults] == ["shared_glb", "psum_spad"]
    assert "memory_depth 8192, not 16384" in str(caught.value)
    assert "memory_depth 24, not 16" in str(caught.value)


def test_stated_access_energy_wins() -> None:
    arch = read_architecture(ROOT / "arch" / "eyeriss.yaml")
    dram = replace(arch.levels[0], attributes={"vector-access-energy": 7.5})
    costs = costs_of(
        replace(arch, levels=(dram, *arch.levels[1:])),
        sources_of(ROOT / "arch" / "energy" / "eyeriss-45nm-accelergy03.yaml"),
    )
    assert costs.levels[0].read_pj == costs.levels[0].write_pj == 7.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "is no energy table"),
        ("energy_table: {version: 1, units: nJ, charge: largest, components: [{class: a, actions: {read: 1}}]}", "pJ"),
        ("energy_table: {version: 1, units: pJ, charge: largest, components: []}", "list of components"),
        ("energy_table: {version: 1, units: pJ, charge: largest, components: [{class: a, actions: {read: -1}}]}", "pJ"),
        ("energy_table: {version: 1, units: pJ, charge: largest, components: [{clas: a, actions: {}}]}", "'class'"),
    ],
)
def test_bad_tables(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "table.yaml").write_text(text)
    with pytest.raises(EnergyTableError, match=message):
        read_table(tmp_path / "table.yaml")
