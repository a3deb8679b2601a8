"""Energies from the attributes of published designs, by their own components, against their published tables."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jouleloop.arch.architecture import Architecture
from jouleloop.arch.read import architecture_from, component_classes
from jouleloop.cli.app import app
from jouleloop.documents.load import load_document
from jouleloop.energy.choice import EnergySource, costs_of, sources_of
from jouleloop.energy.costs import EnergyCosts
from jouleloop.energy.estimator import Refusal
from jouleloop.energy.interpolated import InterpolatedEstimator
from jouleloop.energy.scaling import logic_scale
from jouleloop.errors import EnergyTableError
from paths import ROOT

HERE = Path(__file__).parent / "exercises"
ENERGY = ROOT / "arch" / "energy"

#: 192 words are no point of the CACTI grid.
BETWEEN = {"pe_spad"}


def read(name: str) -> tuple[Architecture, EnergyCosts]:
    """Return a design with the compound components of the exercises' top file, and its published energies."""
    classes = [
        item for path in sorted((HERE / "components").glob("*.yaml")) for item in component_classes(load_document(path))
    ]
    data = {
        **load_document(HERE / name / "arch.yaml"),
        "components": {"version": 0.4, "classes": classes},
        "variables": {"version": 0.4, "technology": "SET ME", "global_cycle_seconds": 1e-9},
    }
    arch = architecture_from(data, name=name)
    return arch, costs_of(arch, sources_of(HERE / name / "ERT.yaml"))


@pytest.mark.parametrize("name", ["simba_like", "simple_output_stationary", "simple_weight_stationary"])
def test_the_published_table_follows_from_the_attributes(name: str) -> None:
    arch, published = read(name)
    estimator = InterpolatedEstimator.read(ENERGY, (), arch.components)
    compared = set()
    for level, energies in zip(arch.levels, published.levels, strict=True):
        if level.name.startswith("inter_"):
            continue
        found = estimator.estimate(level)
        assert not isinstance(found, Refusal)
        if level.name in BETWEEN:
            assert "between CACTI grid points" in found.source
            continue
        # Accelergy 0.4 prints six decimals, ours are rounded to five.
        assert found.energy_pj["read"] == pytest.approx(energies.read_pj, abs=2e-5, rel=1e-6)
        assert found.energy_pj["write"] == pytest.approx(energies.write_pj, abs=2e-5, rel=1e-6)
        compared.add(level.klass)
    assert {"DRAM", "smartbuffer_SRAM"} < compared
    # Half an adder of 32 bits, a sixteenth of a multiplier of 32 x 32; the published table has 1.5 such adders instead.
    unit = estimator.estimate(arch.compute)
    assert not isinstance(unit, Refusal)
    assert unit.energy_pj["compute"] == pytest.approx(0.21 / 2 + 12.68 / 16, rel=1e-9)
    assert published.compute_pj == pytest.approx(1.5 * 0.21)


def test_the_design_s_own_components_count() -> None:
    arch, _ = read("simba_like")
    source = EnergySource("interpolated", data=ENERGY)
    costs = costs_of(arch, [source])
    assert costs.compute_pj == pytest.approx(0.8975)
    own = InterpolatedEstimator.read(ENERGY)
    assert InterpolatedEstimator.read(ENERGY, (), arch.components).digest() != own.digest()
    # Without its definition the unit is Aladdin's at 5 ns, of the widths that the design states.
    plain = own.estimate(arch.compute)
    assert not isinstance(plain, Refusal)
    assert plain.energy_pj["mac_random"] == pytest.approx(0.0857 / 2 + 8.63 / 16, abs=1e-5)


def at_node(arch: Architecture, technology: str) -> Architecture:
    levels = [replace(one, attributes={**one.attributes, "technology": technology}) for one in arch.levels]
    units = replace(arch.compute, attributes={**arch.compute.attributes, "technology": technology})
    return replace(arch, levels=tuple(levels), compute=units)


def test_a_table_at_another_node_follows_from_the_attributes() -> None:
    """The published run of the Eyeriss-like design was made at 32 nm; its file says 65 today."""
    arch, published = read("eyeriss_like")
    source = EnergySource("interpolated", data=ENERGY)
    found = costs_of(at_node(arch, "32nm"), [source])
    for ours, theirs in zip(found.levels, published.levels, strict=True):
        assert ours.read_pj == pytest.approx(theirs.read_pj, rel=0.055), ours.level
        assert ours.write_pj == pytest.approx(theirs.write_pj, rel=0.055), ours.level
    # Its multiplier is one and a half adders, as in the designs at 45 nm: the ratio is that of the nodes.
    _, at_45 = read("simba_like")
    ratio = published.compute_pj / at_45.compute_pj
    assert logic_scale(45, 32) == pytest.approx(ratio, rel=1e-4)
    assert costs_of(arch, [source]).compute_pj == pytest.approx(
        found.compute_pj * logic_scale(45, 65) / logic_scale(45, 32), abs=1e-4
    )


def test_a_technology_without_numbers_is_refused_by_name() -> None:
    arch, _ = read("eyeriss_like")
    with pytest.raises(EnergyTableError) as error:
        costs_of(at_node(arch, "180nm"), [EnergySource("interpolated", data=ENERGY)])
    text = str(error.value)
    for part in ("shared_glb", "ifmap_spad", "mac", "180nm", "aladdin_register", "aladdin_adder"):
        assert part in text


def test_the_command_line_states_the_published_total_with_leakage() -> None:
    design = HERE / "simba_like"
    options = ["--arch", design / "arch.yaml", "--layer", HERE / "problem.yaml", "--mapping", design / "map.yaml"]
    result = CliRunner().invoke(app, ["evaluate", *map(str, options), "--energy", str(design / "ERT.yaml")])
    assert result.exit_code == 0
    # Timeloop printed 239.15 uJ in 225,792 cycles.
    printed = next(line for line in result.stdout.splitlines() if line.startswith("leakage"))
    total = float(printed.rpartition("with it ")[2].replace(",", "").removesuffix(" pJ"))
    assert round(total / 1e6, 2) == 239.15
    assert "225,792" in result.stdout
