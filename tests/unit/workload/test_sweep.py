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
    "a symbol that cannot be shown": ({"symbol": "n\x07", "layers": ["fc:1x1"]}, r"symbol: the character U\+0007"),
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


def test_points_that_are_none_are_no_progress(tmp_path: Path) -> None:
    path = write(tmp_path, {"kind": "fc", "fixed": {"M": -1}, "ranges": {"C": [4, 8]}, "variable": "C"})
    told: list[tuple[int, int]] = []
    with pytest.raises(InputError):
        load_sweep(path, progress=lambda made, total: told.append((made, total)))
    assert told == []


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


def test_the_authors_layers_compute_what_their_published_compute_energy_says() -> None:
    """Every multiply-accumulate was published at 0.5608 pJ, so sizes read wrongly would be seen in any row."""
    layers = {}
    for name in ("grid", "random", "networks"):
        points = load_sweep(ROOT / f"layers/authors_{name}.yaml").points
        layers[name] = len(points)
        for point in points:
            given = dict(point.given)
            assert given["published_compute_pj"] == pytest.approx(0.5608 * point.layer.macs, abs=0.01, rel=1e-9)
            assert given["published_pj"] == pytest.approx(
                given["published_compute_pj"] + given["published_data_pj"], rel=1e-9
            )
    assert layers == {"grid": 3276, "random": 1000, "networks": 4840}


TABLE = {"kind": "conv", "variable": "C", "expected": "linear", "fixed": {"kernel": 3, "stride": 2}}


def test_a_table_of_layers_counts_an_incomplete_step_and_leaves_out_empty_fields(tmp_path: Path) -> None:
    (tmp_path / "layers.csv").write_text("8;4;5.5\n9;4;6.5\n10;4;\n")
    table = {"file": "layers.csv", "columns": ["input", "C", "published_pj"]}
    found = load_sweep(
        write(tmp_path, TABLE | {"fixed": TABLE["fixed"] | {"M": 1}, "table": table, "rounding": "ceil"})
    )
    assert [(p.input_size, p.layer.sizes["P"], p.given) for p in found.points] == [
        (8, 4, (("published_pj", 5.5),)),
        (9, 4, (("published_pj", 6.5),)),
    ]


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("8;4", ["input", "D"], "unknown column"),
        ("8;4", ["input", "input"], "given twice"),
        ("8;4", ["input", "stride"], "both fixed and in the table"),
        ("8;4;7", ["input", "C"], "another number of fields"),
        ("8;four", ["input", "C"], "whole numbers"),
        ("8;4.5", ["input", "C"], "whole numbers"),
        ("8;4;-1", ["input", "C", "published_pj"], "above zero"),
        ("8;4;nan", ["input", "C", "published_pj"], "above zero"),
        ("2;4", ["input", "C"], "larger than the padded input"),
        ("8;0", ["input", "C"], "positive integer"),
        ("8;4\n" * 30 + "x;4\n" * 30, ["input", "C"], "more faults"),
        ("\n", ["input", "C"], "no layers"),
    ],
)
def test_faults_of_a_table_of_layers(tmp_path: Path, text: str, columns: list[str], words: str) -> None:
    (tmp_path / "layers.csv").write_text(text)
    data = TABLE | {"fixed": TABLE["fixed"] | {"M": 1}, "table": {"file": "layers.csv", "columns": columns}}
    with pytest.raises(InputError, match=words):
        load_sweep(write(tmp_path, data))


def test_a_table_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.csv"):
        load_sweep(write(tmp_path, TABLE | {"table": {"file": "missing.csv", "columns": ["input"]}}))


def test_layers_of_the_sweep_of_buffers_that_eq_28_bounds() -> None:
    """The count that docs/findings.md states: on two architectures, both sides at least the buffer."""
    points = load_sweep(ROOT / "layers/fc_buffers.yaml").points
    buffers = [dict(point.variant)["variables.buffer_words"] for point in points]
    sizes = [(point.layer.sizes["C"], point.layer.sizes["M"]) for point in points]
    bounded = sum(min(size) >= buffer for size, buffer in zip(sizes, buffers, strict=True))
    text = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    assert f"the {2 * bounded} of {2 * len(points):,} optima with n, m >= β" in text
