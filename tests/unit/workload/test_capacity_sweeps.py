"""Sweeps of a capacity: what their files may hold, and all that is wrong with one at once."""

from pathlib import Path

import pytest

from jouleloop.config.load import load_all, load_study
from jouleloop.curves.staircase import CURVE_OBJECTIVES
from jouleloop.errors import InputError
from jouleloop.workload.sweep import load_sweeps
from jouleloop.workload.sweep_schema import CapacitySweep
from paths import ROOT

ENTRY = {
    "arch": "arch/two_levels.yaml",
    "energy": ["arch/energy/two_levels.yaml"],
    "constraints": "mappings/orojenesis.yaml",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load_sweeps(written(folder, text))
    return "\n".join(map(str, caught.value.faults))


def test_objectives_are_those_of_curves() -> None:
    allowed = CapacitySweep.model_json_schema()["properties"]["objective"]["enum"]
    assert sorted(allowed) == sorted(CURVE_OBJECTIVES)


def test_every_layer_once(tmp_path: Path) -> None:
    (sweep,) = load_sweeps(written(tmp_path, "kind: capacity\nlayers: [fc:8x4, matmul:M2xN3xK4, fc:8x4]\n"))
    assert [point.layer.label for point in sweep.points] == ["fc:8x4", "matmul:M2xN3xK4"]
    assert sweep.name == "own"
    assert sweep.curves is not None
    assert not sweep.attributes


def test_a_network_with_how_often_it_runs_its_layers() -> None:
    (sweep,) = load_sweeps(ROOT / "layers" / "bert_buffer.yaml")
    assert sum(point.count for point in sweep.points) > len(sweep.points)
    assert sweep.levels == {"eyeriss": "shared_glb"}


def test_shipped_sweeps_are_read() -> None:
    names = sorted(path.stem for path in (ROOT / "layers").glob("orojenesis_*.yaml"))
    assert names == [f"orojenesis_{number}" for number in (1, 10, 11, 12, 13, 14)]
    assert all(load_sweeps(ROOT / "layers" / f"{name}.yaml")[0].points for name in names)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("layers: []", "layers or a network, one of both"),
        ("layers: [fc:8x4]\nnetwork: bert_base", "layers or a network, one of both"),
        ("network: bert_base\nobjective: edp", "add up over no network"),
        ("network: ../bret_base.yaml", "unknown network"),
        ("layers: [fc:8x4]\nleast_words: 9\nmost_words: 8", "most_words 8 is below least_words 9"),
        ("layers: [fc:8x4]\nmost_words: -1", "greater than or equal to 0"),
        ("layers: [fc:8x4]\nmost_words: 99999999999999999999999999", "most_words"),
        ("layers: [fc:8x4]\nobjective: power", "objective"),
        ("layers: [fc:8x4]\nexpected: linear", "expected"),
        (f"network: {'x' * 5000}", "unknown network"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    assert told in faults(tmp_path, f"kind: capacity\n{text}\n")


def test_all_layers_that_are_none_are_told(tmp_path: Path) -> None:
    told = faults(tmp_path, "kind: capacity\nlayers: [fc:8, cnv:C1xM1, fc:8x4]\n")
    assert "layers.0" in told
    assert "layers.1" in told


def test_names_of_architectures_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "kind: capacity\nlayers: [fc:8x4]\narchitectures: [two]\nlevels: {twi_levels: Buffer}\n")
    with pytest.raises(InputError) as caught:
        load_study({"architectures": {"two_levels": ENTRY}, "sweeps": [str(path)]}, ROOT)
    told = "\n".join(map(str, caught.value.faults))
    assert "architectures" in told
    assert "levels" in told
    assert "two_levels" in told


def test_what_has_no_energies_of_layers_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "kind: capacity\nlayers: [fc:8x4]\n")
    with pytest.raises(InputError, match="sweep of a capacity"):
        load_all(path)
