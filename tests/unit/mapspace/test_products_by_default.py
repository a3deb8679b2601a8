"""Constraints of a convolution without a rule for matrix products: read by Eyeriss' own rule, or one error."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import jouleloop as jl
from jouleloop.arch.read import read_architecture
from jouleloop.files import read_yaml
from jouleloop.mapspace.read import read_constraints
from jouleloop.workload.sizes import parse_layer
from paths import ROOT

EYERISS = read_architecture(ROOT / "arch" / "eyeriss.yaml")
OWN = ROOT / "mappings" / "eyeriss.yaml"


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Return Eyeriss' constraints as another's file has them: without a word on other shapes."""
    path = tmp_path / "cnn.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in read_yaml(OWN).items() if key != "shapes"}))
    return path


@pytest.mark.parametrize("layer", ["matmul:M64xN32xK64", "matmul:M64xN32xK64/batch12"])
def test_products_are_read_as_the_shipped_file_states_it(
    others: Path, layer: str, caplog: pytest.LogCaptureFixture
) -> None:
    shape = parse_layer(layer).problem().shape
    with caplog.at_level(logging.WARNING, "jouleloop"):
        found = read_constraints(others, EYERISS, shape=shape)
    assert found.levels == read_constraints(OWN, EYERISS, shape=shape).levels
    assert "read for " + shape.name in caplog.text  # not in silence
    assert "K: C, N: [P, Q]" in caplog.text


def test_what_no_default_is_clear_for_is_one_error_with_lines_to_paste(others: Path) -> None:
    with pytest.raises(jl.InputError) as raised:
        read_constraints(others, EYERISS, shape=replace(parse_layer("matmul:M8xN8xK8").problem().shape, name="mine"))
    (fault,) = raised.value.faults
    assert "docs/constraints.md" in str(fault)
    assert "shapes: {mine: {dimensions: {" in str(fault)


def test_the_lines_to_paste_serve(others: Path) -> None:
    targets = [{"target": "shared_glb", "type": "temporal", "factors": "R=1 K=4"}]  # no shape has both
    others.write_text(yaml.safe_dump({"architecture_constraints": {"targets": targets}}))
    shape = parse_layer("matmul:M8xN8xK8").problem().shape
    with pytest.raises(jl.InputError) as raised:
        read_constraints(others, EYERISS, shape=shape)
    (fault,) = raised.value.faults
    lines = yaml.safe_load(str(fault.allowed).split("`")[1])
    targets[0]["factors"] = "R=1 C=4"
    others.write_text(yaml.safe_dump({"architecture_constraints": {"targets": targets}} | lines))
    factors = read_constraints(others, EYERISS, shape=shape).level("shared_glb").temporal.factors
    assert factors == {"K": 4}
