"""Kinds of layers as data: what is provided, a shape of one's own, and every way in which its file can be wrong."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from jouleloop.errors import InputError
from jouleloop.study.chunks import chunk_digest, read_layers, write_layers
from jouleloop.study.keys import result_key
from jouleloop.tables.energies import layer_batches
from jouleloop.tables.layouts import ENERGIES
from jouleloop.workload.kinds import kind_named, kinds
from jouleloop.workload.layer import CONV, GROUPED_CONV, Layer
from jouleloop.workload.shape_file import RESERVED
from jouleloop.workload.sizes import layer_from_sizes, parse_layer
from jouleloop.workload.sweep import load_network, load_sweep

TEXTS = {
    "fc:1024x128/batch8": (1024 * 128 * 8, "conv_layer"),
    "conv:C3xM4xP5xQ6xR3xS2/stride2x1/dilation3/groups5": (3 * 4 * 5 * 6 * 3 * 2 * 5, "grouped_conv_layer"),
    "conv1d:C4xM5xP9xR3/dilation2": (4 * 5 * 9 * 3, "conv_layer"),
    "conv3d:C4xM5xP9xQ8xO3xR3xS2xT4/stride1x2x3": (4 * 5 * 9 * 8 * 3 * 3 * 2 * 4, "conv3d_layer"),
    "conv_transpose:C4xM5xP9xQ8xR2xS2/stride2": (4 * 5 * 9 * 8 * 2 * 2, "conv_transpose_layer"),
    "depthwise:G32xP112xQ112xR3xS3/stride2": (32 * 112 * 112 * 9, "grouped_conv_layer"),
    "matmul:M512xN64xK256": (512 * 64 * 256, "matmul"),
    "matmul:M512xN64xK256/batch12": (512 * 64 * 256 * 12, "batched_matmul"),
    "batched_matmul:H12xM512xN64xK256": (512 * 64 * 256 * 12, "batched_matmul"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_every_kind_has_a_text_form(text: str, tmp_path: Path) -> None:
    layer = parse_layer(text)
    assert layer.spec() == text
    assert (layer.macs, layer.problem().shape.name) == TEXTS[text]
    assert layer.problem().macs == layer.macs
    write_layers(tmp_path / "chunk.txt", [layer])
    assert read_layers(tmp_path / "chunk.txt") == [layer]


def test_every_kind_that_is_provided_says_what_its_tensors_are() -> None:
    for kind in kinds():
        assert set(dict(kind.roles)) == {"weights", "inputs", "outputs"}
        assert kind.description
        assert all(ENERGIES.column(name) is not None for name, _ in kind.fields)
        assert parse_layer(Layer(kind, kind.defaults).spec()) == Layer(kind, kind.defaults)


def test_the_tensors_of_a_transposed_convolution_are_bounding_boxes() -> None:
    """Inputs of 3, spread by 2, under a filter of 3 with dilation 2: outputs reach 2 * 2 + 2 * 2 + 1."""
    problem = parse_layer("conv_transpose:C1xM1xP3xQ1xR3xS1/stride2/dilation2").problem()
    assert [problem.tensor_words(space) for space in ("Weights", "Inputs", "Outputs")] == [3, 3, 9]
    problem = parse_layer("conv:C1xM1xP3xQ1xR3xS1/stride2/dilation2").problem()
    assert [problem.tensor_words(space) for space in ("Weights", "Inputs", "Outputs")] == [3, 9, 3]


def test_one_problem_of_two_kinds_is_one_result() -> None:
    pairs = [
        ("fc:3x4", "conv:C3xM4xP1xQ1xR1xS1"),
        ("depthwise:G6xP4xQ4xR3xS3", "conv:C1xM1xP4xQ4xR3xS3/groups6"),
        ("matmul:M3xN4xK5/batch2", "batched_matmul:H2xM3xN4xK5"),
        ("conv1d:C2xM3xP4xR3", "conv:C2xM3xP4xQ1xR3xS1"),
    ]
    for one, other in pairs:
        first, second = parse_layer(one), parse_layer(other)
        assert first.identity == second.identity
        assert result_key(first.problem(), "") == result_key(second.problem(), "")
    assert (CONV.name, GROUPED_CONV.name) == ("conv_layer", "grouped_conv_layer")
    assert parse_layer("conv:C3xM4xP5xQ5").identity != parse_layer("conv_transpose:C3xM4xP5xQ5").identity


def test_a_dilated_window_reaches_further() -> None:
    layer, stated = layer_from_sizes("conv", {"C": 3, "M": 4, "kernel": 3, "dilation": 4, "input": 32, "padding": 4})
    assert (layer.sizes["P"], layer.sizes["Q"], stated, layer.input_size) == (32, 32, 32, 40)


SHAPE: dict[str, Any] = {
    "shape": {
        "name": "mttkrp",
        "dimensions": ["I", "J", "K", "L"],
        "coefficients": [{"name": "step", "default": 1}],
        "data_spaces": [
            {"name": "A", "projection": [[["I"]], [["J"]]], "read_write": True},
            {"name": "B", "projection": [[["I", "step"], ["K"]], [["L"]]]},
            {"name": "C", "projection": [[["K"]], [["J"]]]},
            {"name": "D", "projection": [[["L"]], [["J"]]]},
        ],
    },
    "roles": {"outputs": "A", "inputs": "B"},
}


def test_a_shape_of_ones_own_in_a_sweep_and_a_network(tmp_path: Path) -> None:
    (tmp_path / "shape.yaml").write_text(yaml.safe_dump(SHAPE))
    sweep = {"kind": "problem", "shape": "shape.yaml", "fixed": {"I": 4, "J": 2, "K": 3}, "ranges": {"L": [2, 5]}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(sweep | {"variable": "L", "expected": "linear"}))
    found = load_sweep(tmp_path / "s.yaml")
    layers = [point.layer for point in found.points]
    assert [layer.label for layer in layers] == ["mttkrp:I4xJ2xK3xL2xstep1", "mttkrp:I4xJ2xK3xL5xstep1"]
    assert [layer.macs for layer in layers] == [48, 120]
    write_layers(tmp_path / "chunk.txt", layers)
    again = read_layers(tmp_path / "chunk.txt")
    assert chunk_digest(again) == chunk_digest([layer.renamed("") for layer in layers])
    assert [layer.problem().shape for layer in again] == [layer.problem().shape for layer in layers]
    table = pd.concat(layer_batches(found))
    assert list(table.columns) == ["sweep", "layer", "kind", "I", "J", "K", "L", "step", "macs", "count"]
    network = {
        "layers": [
            {"name": "own", "kind": "problem", "shape": "shape.yaml", "sizes": {"I": 4, "J": 2, "K": 1, "L": 2}},
            {"name": "next", "kind": "fc", "sizes": {"C": 8, "M": 3}, "after": "own"},
        ]
    }
    (tmp_path / "n.yaml").write_text(yaml.safe_dump(network))
    mixed = pd.concat(layer_batches(load_network(tmp_path / "n.yaml")))
    assert mixed["L"].tolist()[0] == 2
    assert mixed["L"].isna().tolist() == [False, True]
    assert mixed["C"].isna().tolist() == [True, False]


def test_a_problem_file_is_a_shape_with_presets(tmp_path: Path) -> None:
    problem = {"problem": {"shape": SHAPE["shape"], "instance": {"I": 4, "J": 2, "K": 3, "step": 2}}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(problem))
    sweep = {"kind": "problem", "shape": "p.yaml", "ranges": {"L": [2, 5]}, "variable": "L", "expected": "linear"}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(sweep))
    assert [point.layer.values for point in load_sweep(tmp_path / "s.yaml").points] == [
        (4, 2, 3, 2, 2),
        (4, 2, 3, 5, 2),
    ]


def without_use(shape: dict[str, Any]) -> None:
    shape["shape"]["dimensions"].append("U")


def rank(shape: dict[str, Any], term: list[str]) -> None:
    shape["shape"]["data_spaces"][1]["projection"].append([term])


BAD_SHAPES = {
    "unused dimension": (without_use, "shape.dimensions: no data space has the dimension.*'U'"),
    "unknown dimension": (lambda s: rank(s, ["X"]), r"projection: unknown dimension or coefficient .*'X'"),
    "unknown coefficient": (
        lambda s: rank(s, ["I", "stp"]),
        r"projection: unknown dimension or coefficient .*'stp'.*did you mean 'step'",
    ),
    "two outputs": (
        lambda s: s["shape"]["data_spaces"][1].update(read_write=True),
        "several data spaces are read-write.*one output",
    ),
    "no output": (lambda s: s["shape"]["data_spaces"][0].update(read_write=False), "nothing is computed"),
    "a read-write input": (lambda s: s["roles"].update(inputs="A"), "roles.inputs: is read-write"),
    "an output that is not written": (lambda s: s["roles"].update(outputs="B"), "roles.outputs: is not read-write"),
    "an unknown tensor": (lambda s: s["roles"].update(inputs="X"), "roles.inputs: unknown data space.*'X'"),
    "an unknown role": (lambda s: s["roles"].update(weight="C"), "unknown role.*did you mean 'weights'"),
    "a coefficient that is not whole": (
        lambda s: s["shape"]["coefficients"][0].update(default=1.5),
        r"coefficients\[0\]: needs a name and a whole default",
    ),
    "a coefficient of 0": (lambda s: s["shape"]["coefficients"][0].update(default=0), "positive whole number"),
    "a size that is a column": (
        lambda s: s.update(sizes=["I", "J", "K", {"layer": "L"}, "step"]),
        "sizes: is a column of the tables.*'layer'",
    ),
    "a size of nothing": (lambda s: s.update(sizes=["I", "J", "K", "L", "step", "Z"]), "unknown dimension.*'Z'"),
    "a dimension without a size": (
        lambda s: s.update(sizes=["I", "J", "K", "step"]),
        "no size that stands for it.*'L'",
    ),
    "a shorthand for nothing": (lambda s: s.update(shorthands={"all": ["I", "Z"]}), "shorthands.all: unknown size"),
    "a name that Timeloop does not read": (
        lambda s: s["shape"].update(dimensions=["I1", "J", "K", "L"]),
        "unknown dimension or coefficient",
    ),
    "neither shape nor likeness": (lambda s: s.pop("shape"), "needs either a shape or a kind that it is like"),
    "an unknown key": (lambda s: s.update(role={}), "unknown key.*did you mean 'roles'"),
}


@pytest.mark.parametrize("case", BAD_SHAPES)
def test_bad_shapes(case: str, tmp_path: Path) -> None:
    change, message = BAD_SHAPES[case]
    shape = yaml.safe_load(yaml.safe_dump(SHAPE))
    change(shape)
    (tmp_path / "shape.yaml").write_text(yaml.safe_dump(shape))
    sweep = {"kind": "problem", "shape": "shape.yaml", "fixed": dict.fromkeys("IJKL", 2), "variable": "L"}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(sweep | {"expected": "linear"}))
    with pytest.raises(InputError, match=f"(?s)s.yaml: shape: .*shape.yaml.*{message}"):
        load_sweep(tmp_path / "s.yaml")


BAD_CHAINS = {
    "too few": ({"C": 7, "M": 3}, "one", "layers.1.after: writes 8 elements, and this layer reads 7"),
    "unknown": ({"C": 8, "M": 3}, "on", "unknown layer before this one.*did you mean 'one'"),
    "itself": ({"C": 8, "M": 3}, "two", "unknown layer before this one"),
}


@pytest.mark.parametrize("case", BAD_CHAINS)
def test_layers_that_do_not_chain(case: str, tmp_path: Path) -> None:
    sizes, after, message = BAD_CHAINS[case]
    layers = [
        {"name": "one", "kind": "fc", "sizes": {"C": 3, "M": 8}},
        {"name": "two", "kind": "fc", "sizes": sizes, "after": after},
    ]
    (tmp_path / "n.yaml").write_text(yaml.safe_dump({"layers": layers}))
    with pytest.raises(InputError, match=message):
        load_network(tmp_path / "n.yaml")


def test_padding_is_no_part_of_what_a_layer_reads(tmp_path: Path) -> None:
    layers = [
        {"name": "one", "kind": "conv", "sizes": {"C": 3, "M": 8, "kernel": 3, "output": 10}},
        {
            "name": "two",
            "kind": "conv",
            "sizes": {"C": 8, "M": 3, "kernel": 3, "input": 10, "padding": 1},
            "after": "one",
        },
        {
            "name": "three",
            "kind": "conv_transpose",
            "sizes": {"C": 3, "M": 1, "kernel": 2, "input": 10},
            "after": "two",
        },
    ]
    (tmp_path / "n.yaml").write_text(yaml.safe_dump({"layers": layers}))
    found = load_network(tmp_path / "n.yaml").points
    assert len(found) == 3
    layers[1] = {"name": "two", "layer": "conv:C8xM3xR3xS3/input10/padding1", "after": "one"}
    (tmp_path / "n.yaml").write_text(yaml.safe_dump({"layers": layers}))
    assert load_network(tmp_path / "n.yaml").points == found


def test_sizes_of_columns_and_tables_do_not_meet() -> None:
    names = {name for kind in kinds() for name, _ in kind.sizes}
    assert not names & RESERVED
    assert kind_named("conv").columns[-1] == "groups"
