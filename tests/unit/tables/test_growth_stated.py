"""Only what theory states of a sweep is tested."""

from pathlib import Path

import pytest
import yaml

from jouleloop.errors import InputError
from jouleloop.tables.growth import describe
from jouleloop.tables.layers import check_sweeps
from jouleloop.workload.sweep import load_sweep
from paths import ROOT

BASE = {"kind": "fc", "variable": "C", "expected": "linear"}


def stated(folder: Path, **keys: object) -> dict[str, str]:
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(BASE | keys))
    sweep = load_sweep(path)
    check_sweeps([sweep])
    return dict(describe(sweep).response_growth)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("fc_inputs", {"": "linear", "_weights": "linear", "_inputs": "linear", "_outputs": "constant"}),
        ("fc_outputs", {"": "linear", "_weights": "linear", "_inputs": "constant", "_outputs": "linear"}),
        ("fc_weights", {"_weights": "linear"}),
        ("conv_depth", {}),
    ],
)
def test_words_of_fully_connected_layers_follow_from_theory(sweep: str, expected: dict[str, str]) -> None:
    found = describe(load_sweep(ROOT / f"layers/{sweep}.yaml")).response_growth
    assert found == {f"dram_words{space}": growth for space, growth in expected.items()}


def test_a_sweep_may_state_more(tmp_path: Path) -> None:
    found = stated(tmp_path, ranges={"C": [4, 8, 16]}, fixed={"M": 8}, response_growth={"DRAM_pj": "linear"})
    assert found["DRAM_pj"] == "linear"
    assert found["dram_words_outputs"] == "constant"


def test_a_batch_that_grows_leaves_nothing_to_derive(tmp_path: Path) -> None:
    assert stated(tmp_path, ranges={"C": [4, 8], "N": [1, 2]}, combine="zip", fixed={"M": 8}) == {}


def test_an_unknown_growth_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="linaer"):
        stated(tmp_path, ranges={"C": [4, 8]}, fixed={"M": 8}, response_growth={"DRAM_pj": "linaer"})


def test_variable_and_growth_are_told_at_once(tmp_path: Path) -> None:
    sizes = {"ranges": {"C": [4, 8, 16]}, "fixed": {"M": 8}}
    with pytest.raises(InputError) as told:
        stated(tmp_path, **sizes, variable="D", expected="lienar", response_growth={"DRAM_pj": "quadatic"})
    said = str(told.value)
    assert "'D'" in said
    assert "expected: unknown growth (got 'lienar')" in said
    assert "response_growth.DRAM_pj: unknown growth (got 'quadatic')" in said
