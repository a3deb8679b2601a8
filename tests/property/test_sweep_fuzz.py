"""Whatever a sweep file, a configuration or a layer's text holds: a result or an `InputError`, never anything else."""

import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jouleloop.config.load import load_study
from jouleloop.errors import InputError
from jouleloop.names import safe_cell, safe_name
from jouleloop.study.chunks import cut, distinct_layers
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import load_network, load_sweep, sweep_points
from jouleloop.workload.sweep_schema import Range, SweepFile

KEYS = [
    *SweepFile.model_fields,
    "start",
    "stop",
    "step",
    "C",
    "M",
    "kernel",
    "input",
    "padding",
    "count",
    "seed",
    "<x>",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["fc", "conv", "fc:4x4", "conv:C1xM1xP1xQ1", "linear", "C", "product", "zip"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
FILES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8).map(
    lambda data: {"kind": "fc", "variable": "C", "expected": "linear", **data}
)


@given(FILES | VALUES)
@settings(max_examples=300, deadline=None)
def test_any_sweep_file(data: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.yaml")
        path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
        for load in (load_sweep, load_network):
            try:
                points = load(path).points
            except InputError as error:
                assert error.faults  # noqa: PT017
                assert all(fault.source for fault in error.faults)  # noqa: PT017
            else:
                assert points


@given(st.binary(max_size=60) | st.text("{}[]&*!:-\n ab<|>%@`'\"#", max_size=40).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.yaml")
        path.write_bytes(data)
        try:
            load_sweep(path)
        except InputError as error:
            assert error.faults  # noqa: PT017


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_any_configuration(data: Any) -> None:
    try:
        load_study(data if isinstance(data, dict) else {"sweeps": data}, Path("none"))
    except InputError as error:
        assert error.faults  # noqa: PT017


@given(
    st.text(max_size=40) | st.from_regex(r"(fc|conv):[CMRSNPQx0-9]{1,20}(/(stride|groups|input|batch)[0-9x]{1,5}){0,2}")
)
@settings(max_examples=400)
def test_any_layer_text(text: str) -> None:
    try:
        layer = parse_layer(text)
    except InputError:
        return
    assert parse_layer(layer.spec()) == layer


@given(st.integers(1, 50), st.integers(0, 60), st.integers(1, 9), st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_product_of_ranges(start: int, extent: int, step: int, outputs: list[int]) -> None:
    spec = SweepFile(
        kind="fc",
        ranges={"C": Range(start=start, stop=start + extent, step=step), "M": outputs},
        variable="C",
        expected="linear",
    )
    found = [(point.layer.sizes["C"], point.layer.sizes["M"]) for point in sweep_points(spec)]
    wanted = {(c, m) for c in range(start, start + extent + 1, step) for m in outputs}
    assert len(found) == len(wanted)
    assert set(found) == wanted


@given(
    st.integers(1, 40), st.integers(1, 9), st.integers(1, 5), st.integers(0, 4), st.sampled_from(["exact", "floor"])
)  # fmt: skip
def test_output_size_is_what_a_loop_counts(size: int, kernel: int, stride: int, padding: int, rounding: Any) -> None:
    fixed = {"C": 1, "M": 1, "kernel": kernel, "stride": stride, "input": size, "padding": padding}
    spec = SweepFile(kind="conv", fixed=fixed, rounding=rounding, variable="C", expected="linear")
    padded = size + 2 * padding
    positions = [p for p in range(0, padded, stride) if p + kernel <= padded]
    rest = bool(positions) and positions[-1] + kernel != padded
    try:
        (point,) = sweep_points(spec)
    except InputError:
        assert not positions or (rest and rounding == "exact")
        return
    assert point.layer.sizes["P"] == point.layer.sizes["Q"] == len(positions)
    assert point.input_size == size


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(1, 200)), min_size=1, max_size=30), st.integers(1, 12))
def test_chunks_hold_every_layer_once(sizes: list[tuple[int, int]], count: int) -> None:
    layers = [parse_layer(f"fc:{c}x{m}") for c, m in set(sizes)]
    chunks = cut(layers, min(count, len(layers)))
    assert sorted(x.identity for chunk in chunks for x in chunk) == sorted(x.identity for x in layers)
    assert cut(list(reversed(layers)), len(chunks)) == chunks


@given(st.text(max_size=200))
def test_names_stay_inside_the_folder(text: str) -> None:
    name = safe_name(text)
    assert Path("results", name).resolve().parent == Path("results").resolve()
    assert name.isascii()
    assert len(name) < 128
    cell = safe_cell(text)
    assert isinstance(cell, str)
    assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n", "|")


def test_sizes_of_a_layer_are_its_identity() -> None:
    assert len(distinct_layers([])) == 0
    layer = parse_layer("fc:1x1")
    assert len(layer.identity) == 1 + len(layer.kind.fields)
