"""Problem files in Timeloop's format, v0.3 and v0.4."""

from pathlib import Path
from typing import Any

import pytest

from jouleloop.errors import InputError
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.timeloop_problem import problem_from, problem_tree, read_problem
from problem_files import problem_file

CONV = parse_layer("conv:C3xM64xP55xQ55xR11xS11/stride4").problem()


@pytest.mark.parametrize("version", ["0.3", "0.4"])
@pytest.mark.parametrize(
    "layer", ["fc:10x20", "conv:C3xM64xP55xQ55xR11xS11/stride4x2", "conv:C1xM1xP4xQ4xR3xS3/groups8"]
)
def test_round_trip(layer: str, version: str, tmp_path: Path) -> None:
    problem = parse_layer(layer).problem()
    file = tmp_path / "p.yaml"
    file.write_text(problem_file(problem, version))
    read = read_problem(file)
    assert (read.shape, read.bounds, read.coefficients) == (problem.shape, problem.bounds, problem.coefficients)


def test_any_shape() -> None:
    data = {
        "problem": {
            "shape": {
                "name": "gemm",
                "dimensions": ["A", "B", "Z"],
                "data-spaces": [
                    {"name": "L", "projection": [[["A"]], [["B"]]]},
                    {"name": "R", "projection": [["B"], ["Z"]]},
                    {"name": "O", "projection": ["A", "Z"], "read-write": True},
                ],
            },
            "A": 4,
            "B": 5,
            "Z": 6,
        }
    }
    problem = problem_from(data)
    assert problem.macs == 120
    assert [problem.tensor_words(space) for space in problem.data_spaces] == [20, 30, 24]


@pytest.mark.parametrize("shape", [{}, {"shape": "cnn-layer"}, {"shape": "cnn_layer.yaml"}])
def test_a_shape_that_timeloop_knows_by_name(shape: dict[str, str]) -> None:
    sizes = {"R": 3, "S": 1, "P": 8, "Q": 4, "C": 5, "K": 7, "N": 2, "Wstride": 2}
    problem = problem_from({"problem": {**shape, **sizes}})
    assert problem.shape.dimensions == tuple("RSPQCKN")
    assert [space.name for space in problem.data_spaces] == ["Weights", "Inputs", "Outputs"]
    assert [problem.tensor_words(space) for space in problem.data_spaces] == [105, 2 * 5 * 17 * 4, 2 * 7 * 8 * 4]


def test_other_names_of_shapes_are_refused() -> None:
    assert problem_from({"problem": {"shape": "gemm-ABZ", "M": 2, "N": 3, "K": 4}}).macs == 24
    with pytest.raises(InputError, match="unknown shape; write it out"):
        problem_from({"problem": {"shape": "cnn-layer-depthwise", "M": 2}})


DEPTHWISE = """
shape:
  name: depthwise
  dimensions: [R, P, C]
  data-spaces:
  - {name: Weights, projection: [[[R]], [[C]]]}
  - {name: Inputs, projection: [[[R], [P]], [[C]]]}
  - {name: Outputs, projection: [[[P]], [[C]]], read-write: True}
"""


@pytest.mark.parametrize("variable", ["TIMELOOP_PROBLEM_SHAPE_DIR", "TIMELOOP_PROBLEM_SHAPE_DIRS"])
@pytest.mark.parametrize("name", ["own-shape", "own-shape.yaml"])
def test_a_shape_is_found_where_timeloop_looks(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own-shape.yaml").write_text(DEPTHWISE)
    elsewhere = f"{tmp_path / 'nowhere'}:" if variable.endswith("S") else ""
    monkeypatch.setenv(variable, f"{elsewhere}{tmp_path}")
    problem = problem_from({"problem": {"shape": name, "R": 3, "P": 4, "C": 5}})
    assert [problem.tensor_words(space) for space in problem.data_spaces] == [15, 30, 20]
    assert problem_from({"problem": {"shape": "gemm-ABZ", "M": 2, "N": 3, "K": 4}}).macs == 24


@pytest.mark.parametrize("text", ["shape: own-shape\n", "dimensions: [R]\n", "shape: {", "[]"])
def test_a_file_that_holds_no_shape_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own-shape.yaml").write_text(text)
    monkeypatch.setenv("TIMELOOP_PROBLEM_SHAPE_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"own-shape\.yaml"):
        problem_from({"problem": {"shape": "own-shape", "R": 3}})


def changed(**instance: Any) -> dict[str, Any]:
    data = {"problem": problem_tree(CONV)}
    data["problem"]["instance"].update(instance)
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"layer": 1}, "is no problem file"),
        (changed(C=2**32), "too large"),
        (changed(C=2**31, M=2**31), "too many operations"),
        (changed(densities={"Inputs": {"distribution": "fixed-structured", "density": 0.5}}), "sparse tensors"),
        (changed(densities={"Inputs": 0.5}), "sparse tensors"),
        (changed(C=0), "positive whole number"),
        (changed(Wdilation=0), "instance.Wdilation: must be a positive whole number"),
    ],
)
def test_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem_from(data)


def test_dense_densities_and_derived_sizes_are_fine() -> None:
    assert problem_from(changed(H=227, W=227, Hpad=0, densities={"Inputs": 1.0})).bounds == CONV.bounds
    assert problem_from(changed(Wdilation=2)).coefficient["Wdilation"] == 2


def test_a_coefficient_of_one_index_may_be_0() -> None:
    """So CoSA writes 1 x 1 kernels; with R = 1, R's only index is 0."""
    assert problem_from(changed(Wdilation=0, R=1)) == problem_from(changed(R=1))


@pytest.mark.parametrize(
    "sizes",
    [
        {"H": 227, "W": 227},
        {"H": 224, "W": 224, "Hpad": 2, "Wpad": 2},  # 228 - 11 is not divisible by 4: the last step is left out
        {"H": 223, "W": 223, "Hpad": 4, "Wpad": 4},  # of both sides together
        {"W": 224},  # with a padding that is not stated
        {},
        {"W": 1, "H": 1},  # what the exercises' base problem states for all layers
        {"W": 1, "H": 1, "Wpad": 0, "Hpad": 0},
    ],
)
def test_input_sizes_that_agree(sizes: dict[str, int]) -> None:
    assert problem_from(changed(**sizes)).bounds == CONV.bounds


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        # Windows of 11 every 4 words: at least (100 - 11) // 4 + 1 outputs, with ten zeros a side (120 - 11) // 4 + 1.
        ({"W": 100}, r"instance\.P: contradicts the stated input size W = 100 \(got 55\); allowed: 23 to 28"),
        ({"H": 227, "Hpad": 6}, r"instance\.Q: contradicts the stated input size H = 227 .*; allowed: 56 or 58"),
        ({"W": 5, "Wpad": 1}, r"instance\.R: larger than the padded input of 7 \(got 11\)"),
        ({"W": 0}, r"instance\.W: must be a whole number"),
        ({"W": 227, "Wpad": -1}, r"instance\.Wpad: must be a whole number"),
        ({"W": "wide"}, r"instance\.W: must be a whole number"),
    ],
)
def test_input_sizes_that_contradict(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        problem_from(changed(**sizes))


def test_missing_bounds_and_unknown_dimensions() -> None:
    data = {"problem": problem_tree(CONV)}
    del data["problem"]["instance"]["P"]
    with pytest.raises(InputError, match="has no bound"):
        problem_from(data)
    data = {"problem": problem_tree(CONV)}
    data["problem"]["shape"]["data-spaces"][0]["projection"][0] = [["K"]]
    with pytest.raises(InputError, match="unknown dimension"):
        problem_from(data)
