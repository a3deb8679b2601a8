"""The bridge from theory to hardware: β of the architectures, words by direction, no point below its bound."""

from dataclasses import replace

import pandas as pd
import pytest

from jouleloop.arch.read import read_architecture
from jouleloop.energy.choice import costs_of, sources_of
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import Target
from jouleloop.mapspace.constraints import LevelConstraints
from jouleloop.mapspace.read import read_constraints
from jouleloop.tables.growth import with_theory
from jouleloop.tables.theory_ratio import BOUND_COLUMN, fc_hardware_table, on_chip_words
from jouleloop.workload.sizes import parse_layer
from paths import ROOT


def target(name: str) -> Target:
    arch = read_architecture(ROOT / "arch" / f"{name}.yaml")
    costs = costs_of(arch, sources_of(ROOT / "arch" / "energy" / f"{name}-45nm-accelergy03.yaml"))
    return Target(arch, costs, read_constraints(ROOT / "mappings" / f"{name}.yaml", arch, "full"))


def test_the_buffer_counts_every_instance_down_to_the_level_that_keeps_both() -> None:
    assert on_chip_words(target("eyeriss")) == 65536
    assert on_chip_words(target("simba")) == 65536
    free = target("eyeriss")
    levels = {**free.constraints.levels, "shared_glb": LevelConstraints(keep=frozenset({"Inputs"}))}
    free = replace(free, constraints=replace(free.constraints, levels=levels))
    assert on_chip_words(free) == 65536 + 168 * (12 + 16)


@pytest.mark.parametrize("name", ["eyeriss", "simba"])
@pytest.mark.parametrize("spec", ["fc:1024x128", "fc:128x1024", "fc:64x4096"])
def test_directions_are_those_of_the_evaluation_and_no_point_is_below_its_bound(name: str, spec: str) -> None:
    layer, hardware = parse_layer(spec), target(name)
    evaluation = NativeEngine().search(layer.problem(), hardware).evaluation
    assert evaluation is not None
    dram = evaluation.levels[0].data
    moved = {space: stats.reads + stats.updates for space, stats in dram.items()}
    row = {
        "architecture": name,
        "sweep": "s",
        "layer": spec,
        **{key: layer.sizes[key] for key in ("C", "M", "N", "R", "S", "P", "Q", "groups")},
        "status": "ok",
        "total_pj": evaluation.energy_pj,
        "data_pj": evaluation.energy_pj,
        "dram_words_weights": moved["Weights"],
        "dram_words_inputs": moved["Inputs"],
        "dram_words_outputs": moved["Outputs"],
    }
    found = fc_hardware_table(pd.DataFrame([row]), {(name, ""): hardware}).iloc[0]
    assert found["measured_words"] == sum(moved.values())
    read, written = dram["Outputs"].reads, dram["Outputs"].updates
    assert found["dram_words_outputs"] == max(read, written) + written
    assert found["measured_words_with_biases"] >= found[BOUND_COLUMN]
    assert found["ratio_to_lower"] == found["measured_words_with_biases"] / found[BOUND_COLUMN]


def test_other_shapes_are_no_fully_connected_layers() -> None:
    row = {"architecture": "eyeriss", "sweep": "s", "layer": "l", "status": "ok", "total_pj": 1.0}
    product = pd.DataFrame([row | {"kind": "matmul", "M": 8, "N": 1, "K": 4}])
    spread = pd.DataFrame([row | {"kind": "conv_transpose"} | dict.fromkeys(("N", "R", "S", "P", "Q", "groups"), 1)])
    for table in (product, spread):
        assert fc_hardware_table(table, {}).empty


def test_bounds_join_the_energies_by_point_and_leave_convolutions_empty() -> None:
    hardware = target("eyeriss")
    rows = []
    for spec in ("fc:1024x128", "conv:C3xM16xP7xQ7xR3xS3"):
        layer = parse_layer(spec)
        row = {
            "architecture": "eyeriss",
            "sweep": "s",
            "layer": spec,
            **{key: layer.sizes[key] for key in ("C", "M", "N", "R", "S", "P", "Q", "groups")},
            "status": "ok",
            "total_pj": 1.0,
            "data_pj": 1.0,
            "dram_words_weights": layer.sizes["C"] * layer.sizes["M"],
            "dram_words_inputs": layer.sizes["C"],
            "dram_words_outputs": layer.sizes["M"],
        }
        rows.append(row)
    energies = pd.DataFrame(rows)
    energies.attrs["table_version"] = 1
    theory = fc_hardware_table(energies, {("eyeriss", ""): hardware})
    assert list(theory["layer"]) == ["fc:1024x128"]
    # Every word once and a bias for every output: mn + n + 2m; the bound in pJ leaves the biases out (512 pJ, 4 words).
    words = 1024 * 128 + 1024 + 2 * 128
    assert theory.loc[0, "theory_measured_dram_words"] == words == theory.loc[0, BOUND_COLUMN]
    assert theory.loc[0, "theory_lower_data_pj"] == (words - 128) * 128
    joined = with_theory(energies, theory)
    assert joined.attrs["table_version"] == 1
    assert list(joined[BOUND_COLUMN].isna()) == [False, True]
    assert not len(fc_hardware_table(energies.iloc[1:], {("eyeriss", ""): hardware}))
    assert with_theory(energies, theory.iloc[:0])[BOUND_COLUMN].isna().all()
