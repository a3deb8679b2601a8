"""Sweeps and networks from YAML: the layers they hold, and every fault of theirs at once."""

from pathlib import Path

import pytest
import yaml

from jouleloop.errors import InputError
from jouleloop.workload.sweep import load_network, load_sweep
from paths import ROOT

BASE = {"kind": "fc", "variable": "C", "expected": "linear"}


def write(folder: Path, data: object, name: str = "sweep.yaml") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data))
    return path


def layers_of(folder: Path, data: dict[str, object]) -> list[str]:
    return [point.layer.spec() for point in load_sweep(write(folder, BASE | data)).points]


def test_paper_sweeps() -> None:
    sizes = list(range(128, 4097, 128))
    inputs, outputs, weights = (
        load_sweep(ROOT / f"layers/fc_{name}.yaml") for name in ("inputs", "outputs", "weights")
    )
    assert [(p.layer.sizes["C"], p.layer.sizes["M"]) for p in inputs.points] == [(n, 1024) for n in sizes]
    assert [(p.layer.sizes["C"], p.layer.sizes["M"]) for p in outputs.points] == [(1024, m) for m in sizes]
    assert {(p.layer.sizes["C"], p.layer.sizes["M"]) for p in weights.points} == {(n, m) for n in sizes for m in sizes}


def test_published_convolutions() -> None:
    """Sizes as the published data state them, point by point."""
    depth = load_sweep(ROOT / "layers/conv_depth.yaml").points
    assert [
        (p.layer.sizes["M"], p.layer.sizes["P"], p.layer.sizes["Q"], p.layer.sizes["R"], p.layer.sizes["w_stride"])
        for p in depth
    ] == [(m, 55, 55, 11, 4) for m in range(8, 513, 8)]
    inputs = load_sweep(ROOT / "layers/conv_inputs.yaml").points
    assert [(p.input_size, p.layer.sizes["P"], p.layer.sizes["Q"]) for p in inputs] == [
        (56 + 8 * k, 13 + 2 * k, 13 + 2 * k) for k in range(50)
    ]
    kernel = load_sweep(ROOT / "layers/conv_kernel.yaml").points
    assert [(p.layer.sizes["R"], p.layer.sizes["S"], p.layer.sizes["P"]) for p in kernel] == [
        (3, 3, 57), (5, 5, 56), (7, 7, 56), (9, 9, 55), (11, 11, 55)
    ]  # fmt: skip
    stride = load_sweep(ROOT / "layers/conv_stride.yaml").points
    assert [(p.layer.sizes["w_stride"], p.layer.sizes["h_stride"], p.layer.sizes["P"]) for p in stride] == [
        (1, 1, 214), (2, 2, 108), (3, 3, 72), (4, 4, 55), (5, 5, 44)
    ]  # fmt: skip


def test_random_layers_are_those_of_the_seed() -> None:
    points = load_sweep(ROOT / "layers/conv_random.yaml").points
    assert len({p.layer.spec() + str(p.input_size) for p in points}) == 500
    assert points == load_sweep(ROOT / "layers/conv_random.yaml").points


@pytest.mark.parametrize(
    ("name", "layers", "runs", "gmacs"),
    # Operations as published: 0.72 G (two groups), 15.5 G, 4.1 G.
    [("alexnet", 8, 8, 0.72), ("vgg16", 12, 16, 15.47), ("resnet50", 24, 54, 4.09)],
)
def test_networks(name: str, layers: int, runs: int, gmacs: float) -> None:
    network = load_network(ROOT / f"layers/networks/{name}.yaml")
    assert len(network.points) == layers
    assert sum(point.count for point in network.points) == runs
    assert sum(point.count * point.layer.macs for point in network.points) / 1e9 == pytest.approx(gmacs, abs=0.006)


def test_combinations(tmp_path: Path) -> None:
    ranges = {"C": [1, 2], "M": [3, 4]}
    assert layers_of(tmp_path, {"ranges": ranges}) == ["fc:1x3", "fc:1x4", "fc:2x3", "fc:2x4"]
    assert layers_of(tmp_path, {"ranges": ranges, "combine": "zip"}) == ["fc:1x3", "fc:2x4"]
    union = {"ranges": ranges, "combine": "union", "fixed": {"C": 9, "M": 8}}
    assert layers_of(tmp_path, union) == ["fc:1x8", "fc:2x8", "fc:9x3", "fc:9x4"]


def test_union_of_parts_and_explicit_layers(tmp_path: Path) -> None:
    parts = [{"ranges": {"C": [1, 2]}}, {"fixed": {"M": 5}, "ranges": {"C": {"start": 2, "stop": 5, "step": 2}}}]
    found = layers_of(tmp_path, {"fixed": {"M": 3}, "parts": parts, "layers": ["fc:1x3", {"C": 7}, "fc:8x8"]})
    assert found == ["fc:1x3", "fc:2x3", "fc:2x5", "fc:4x5", "fc:7x3", "fc:8x8"]


def test_stated_input_gives_the_output(tmp_path: Path) -> None:
    conv = {"kind": "conv", "fixed": {"C": 4, "M": 8, "kernel": 3, "stride": 2, "padding": 1}, "ranges": {"input": [9]}}
    assert layers_of(tmp_path, conv) == ["conv:C4xM8xP5xQ5xR3xS3/stride2"]
    conv["ranges"] = {"input": [10]}
    with pytest.raises(InputError, match="no integer"):
        layers_of(tmp_path, conv)
    assert layers_of(tmp_path, conv | {"rounding": "floor"}) == ["conv:C4xM8xP5xQ5xR3xS3/stride2"]


CONV = {"kind": "conv", "fixed": {"C": 3, "M": 8, "kernel": 3}}
BAD = {
    "unknown key": ({"rangs": {"C": [1]}}, "rangs: unknown key.*did you mean 'ranges'"),
    "misspelt nested key": ({"ranges": {"C": {"start": 1, "stop": 2, "stp": 1}}}, "ranges.C.stp: unknown key.*start, step, stop"),  # noqa: E501
    "wrong type": ({"fixed": {"M": "ten"}, "ranges": {"C": [1]}}, "fixed.M: must be a whole number.*'ten'"),
    "fraction": ({"fixed": {"M": 1.5}, "ranges": {"C": [1]}}, "fixed.M: must be a whole number"),
    "truth value": ({"fixed": {"M": True}, "ranges": {"C": [1]}}, "fixed.M: must be a whole number"),
    "negative": ({"fixed": {"M": -4}, "ranges": {"C": [1]}}, "M: must be a positive integer.*-4"),
    "zero": ({"fixed": {"M": 4}, "ranges": {"C": [0]}}, "C: must be a positive integer.*0"),
    "huge": ({"fixed": {"M": 4}, "ranges": {"C": [10**10]}}, "too large"),
    "empty range": ({"fixed": {"M": 4}, "ranges": {"C": {"start": 9, "stop": 3}}}, "empty range"),
    "empty list": ({"fixed": {"M": 4}, "ranges": {"C": []}}, "at least 1"),
    "step of zero": ({"fixed": {"M": 4}, "ranges": {"C": {"start": 1, "stop": 3, "step": 0}}}, "step must be a positive"),  # noqa: E501
    "unknown size": ({"fixed": {"M": 4, "X": 2}, "ranges": {"C": [1]}}, "fixed.X: unknown size"),
    "no layers": ({}, "no layers"),
    "missing size": ({"ranges": {"C": [1]}}, "M: is missing"),
    "both fixed and varied": ({"fixed": {"M": 4, "C": 1}, "ranges": {"C": [1]}}, "both fixed and varied"),
    "zip of unequal": ({"ranges": {"C": [1], "M": [1, 2]}, "combine": "zip"}, "differ in length"),
    "too many": (
        {"ranges": {"C": {"start": 1, "stop": 5000}, "M": {"start": 1, "stop": 5000}}},
        "has 25,000,000 points; allowed: at most 100000; the key most_points allows more",
    ),
    "step forgotten": ({"ranges": {"C": {"start": 1024, "stop": 128000}}, "fixed": {"M": 64}}, "has 126,977 points"),
    "too large": ({"ranges": {"C": {"start": 1, "stop": 10**30}}, "fixed": {"M": 64}}, r"below 2\^53"),
    "too many drawn": ({"random": {"count": 200000, "seed": 1, "ranges": {"C": [1, 2]}}}, "has 200,000 points"),
    "too many variants": (
        {"expected": "", "fixed": {"C": 1, "M": 1}, "architecture": {"a.b": {"start": 1, "stop": 1000000}}},
        "has 1,000,000 points",
    ),
    "kind": ({"kind": "convv", "layers": ["fc:1x1"]}, "kind: unknown choice.*'conv'"),
    "bad layer": ({"layers": ["fc:1x"]}, "layers.0.*not INPUTSxOUTPUTS"),
    "layer of another kind": ({"layers": ["conv:C1xM1xP1xQ1xR1xS1"]}, "not of the sweep's kind"),
    "kernel too large": (CONV | {"ranges": {"input": [2]}}, "larger than the padded input of 2"),
    "stride of zero": (CONV | {"ranges": {"stride": [0], "output": [4]}}, "stride: must be a positive integer"),
    "output contradicts": (CONV | {"ranges": {"P": [9], "input": [8]}}, "contradicts the stated input size"),
    "dilated too far": (CONV | {"ranges": {"input": [4], "dilation": [2]}}, "larger than the padded input of 4"),
    "an unknown kind": ({"kind": "matmull", "layers": []}, "unknown choice .*did you mean 'matmul'"),
    "a shape for a kind that has one": ({"shape": "x.yaml", "layers": ["fc:1x1"]}, "shape: goes with the kind problem"),
    "no shape": ({"kind": "problem", "fixed": {"M": 1}}, "shape: is missing"),
    "no such shape": ({"kind": "problem", "shape": "none.yaml", "fixed": {"M": 1}}, "shape: .*no such file"),
    "name with a path": ({"name": "../up", "layers": ["fc:1x1"]}, "name"),
    "same name twice": (
        {"layers": [{"C": 1, "M": 2, "name": "a"}, {"C": 2, "M": 2, "name": "a"}]}, "two different layers have one name"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_sweeps(tmp_path: Path, case: str) -> None:
    data, message = BAD[case]
    path = write(tmp_path, BASE | data)
    with pytest.raises(InputError, match=f"(?s)sweep.yaml.*{message}"):
        load_sweep(path)


def test_all_faults_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, {"kind": "fx", "rangs": {}, "fixed": {"M": "x"}, "variable": "C"})
    with pytest.raises(InputError) as caught:
        load_sweep(path)
    assert {fault.field for fault in caught.value.faults} == {"kind", "rangs", "fixed.M", "expected"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b\n",
        "{",
        "kind: [",
        "\x00",
        "a: &a [*a]",
        "!!python/object/apply:os.system ['true']",
        "kind: fc\nkind: fc",
    ],
)
def test_not_a_sweep(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        load_sweep(write(tmp_path, text))


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, BASE, "fc_inputs.yaml")
    with pytest.raises(InputError, match=r"fc_inputs\.yaml"):
        load_sweep(tmp_path / "fc_input.yaml")


def test_a_large_sweep_that_is_meant_is_read_and_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    ranges = {"C": {"start": 1, "stop": 30000}}
    data = BASE | {"fixed": {"M": 2}, "ranges": ranges, "most_points": 30000}
    sweep = load_sweep(write(tmp_path, data), lambda made, total: told.append((made, total)))
    assert len(sweep.points) == 30000
    assert told == [(10000, 30000), (20000, 30000), (30000, 30000)]
    with pytest.raises(InputError, match="has 30,000 points"):
        load_sweep(write(tmp_path, data | {"most_points": 29999}))
