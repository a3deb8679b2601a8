"""The convolutional energy-complexity formulas equal the executed dataflows, and the lower bound is below both."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.signal import correlate2d

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.convolution.energy import (
    DATAFLOWS,
    MapSizes,
    buffer_words_needed,
    compulsory_words,
    conv_energy_bounds,
    lower_bound_words,
    maps_in_buffer,
    read_once_inputs,
    used_along,
    write_once_outputs,
)
from jouleloop.theory.convolution.execute_energy import random_layer, run_read_once_inputs, run_write_once_outputs
from jouleloop.theory.layers import MAC_ENERGY_PJ, ConvLayer

CLOSED = {"write-once-outputs": write_once_outputs, "read-once-inputs": read_once_inputs}
EXECUTED = {"write-once-outputs": run_write_once_outputs, "read-once-inputs": run_read_once_inputs}


@st.composite
def shapes(draw: st.DrawFn) -> ConvLayer:
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    output = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride = draw(st.integers(1, 5))
    reach = [(p - 1) * stride + r for p, r in zip(output, kernel, strict=True)]
    sizes = [draw(st.integers(max(1, a - 2 * (r - 1)), a + 2)) for a, r in zip(reach, kernel, strict=True)]
    maps = (draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    heights, widths = zip(kernel, output, strict=True)
    return MapSizes(*maps, *heights, *widths, stride, *sizes, draw(st.booleans())).made()


@given(shapes(), st.sampled_from(DATAFLOWS), st.integers(1, 5))
@settings(max_examples=250, deadline=None)
def test_executed_words_and_capacity_equal_the_closed_forms(shape, dataflow, maps):
    assume(maps <= (shape.out_channels if dataflow == "write-once-outputs" else shape.in_channels))
    inputs, weights, biases = random_layer(shape)
    run = EXECUTED[dataflow](shape, inputs, weights, biases, maps=maps)
    needed = buffer_words_needed(shape, dataflow, maps)
    assert maps_in_buffer(shape, dataflow, needed) == maps
    closed = CLOSED[dataflow](shape, needed)
    assert run.buffer.loaded["weights"] == closed.weights_read
    assert run.buffer.loaded["inputs"] == closed.inputs_read
    assert run.buffer.loaded["outputs"] == closed.outputs_read
    assert run.buffer.stored["outputs"] == closed.outputs_written
    assert run.buffer.total_words == closed.total
    assert run.buffer.peak_words == needed
    assert run.buffer.words == 0
    used = used_along(shape, "height")[1] * used_along(shape, "width")[1]
    assert run.macs == shape.in_channels * shape.out_channels * used <= shape.macs
    assert np.array_equal(run.outputs, direct(shape, inputs, weights, biases))
    assert compulsory_words(shape) <= lower_bound_words(shape, max(3, needed)) <= closed.total


def direct(shape: ConvLayer, inputs: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    pads = []
    for axis in ("height", "width"):
        before = shape.padding_before(axis)
        pads.append((before, max(0, shape.reach(axis) - getattr(shape, f"in_{axis}")) - before))
    padded = np.pad(inputs, ((0, 0), *pads))[:, : shape.reach("height"), : shape.reach("width")]
    full = [
        sum(correlate2d(padded[c], weights[m, c], mode="valid") for c in range(shape.in_channels)) + biases[m]
        for m in range(shape.out_channels)
    ]
    return np.array(full)[:, :: shape.stride, :: shape.stride]


@given(shapes(), st.integers(3, 400))
@settings(max_examples=100, deadline=None)
def test_more_buffer_never_costs_more(shape, buffer_words):
    for dataflow in DATAFLOWS:
        if buffer_words >= buffer_words_needed(shape, dataflow):
            closed = CLOSED[dataflow]
            assert closed(shape, buffer_words + 1).total <= closed(shape, buffer_words).total
            assert lower_bound_words(shape, buffer_words) <= closed(shape, buffer_words).total
    assert lower_bound_words(shape, buffer_words + 1) <= lower_bound_words(shape, buffer_words)


def test_everything_in_buffer_moves_every_word_once():
    shape = MapSizes(4, 6, 3, 5).made()
    for dataflow, maps in zip(DATAFLOWS, (6, 4), strict=True):
        assert CLOSED[dataflow](shape, buffer_words_needed(shape, dataflow, maps)).total == compulsory_words(shape)


def test_a_stride_beyond_the_kernel_skips_words():
    # Three windows of one word every third word: 3 of 7 rows and columns are used.
    shape = MapSizes(1, 1, 1, 3, stride=3, bias=False).made()
    assert shape.input_map_elements == 49
    assert compulsory_words(shape) == 1 + 9 + 9


def test_bounds_tell_what_does_not_fit():
    shape = MapSizes(3, 64, 11, 55, stride=4).made()
    rows = {bound.name: bound for bound in conv_energy_bounds(shape, bits=16, buffer_words=4000)}
    assert rows["write_once_outputs_total"].value == 64 * 364 + 64 * 3 * 227**2 + 64 * 3025
    assert rows["read_once_inputs_total"].value is None
    assert not rows["read_once_inputs_total"].assumptions_hold
    assert float(rows["computation_energy"].value) == pytest.approx(2.2 * 70276800)


def test_the_base_layer_of_the_published_sweeps():
    """64·364 weights, 64·3·224² inputs, 64·55² outputs."""
    shape = MapSizes(3, 64, 11, 55, stride=4, input_height=224).made()
    assert write_once_outputs(shape).total == 9850688
    assert read_once_inputs(shape).total == 64 * 364 + 3 * 224**2 + 5 * 64 * 55**2
    assert float(MAC_ENERGY_PJ[8] * shape.macs) == pytest.approx(0.56 * 70276800)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: MapSizes(0, 1, 1, 1).made(), "positive integer"),
        (lambda: MapSizes(1, 1, 3, 2, input_height=1).made(), None),
        (lambda: MapSizes(1, 1, 2, 9, input_height=7).made(), "every window must see"),
        (lambda: MapSizes(1, 1, 1, 1, stride=0).made(), "stride"),
        (lambda: conv_energy_bounds(MapSizes(1, 1, 1, 1).made(), bits=0), "b >= 1"),
        (lambda: lower_bound_words(MapSizes(1, 1, 1, 1).made(), 2), "β >= 3"),
        (lambda: write_once_outputs(MapSizes(1, 1, 3, 2).made(), 13), "Buffer must hold"),
    ],
)
def test_errors_name_the_assumption(make, named):
    if named is None:
        assert make().padding_before("height") == 1
        return
    with pytest.raises(InputError, match=named) as caught:
        make()
    assert issubclass(caught.type, AssumptionError) or named in ("positive integer", "stride")
