"""Closed forms of paper 003 equal what the executed algorithms count, for any divisibility and any interleaving."""

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.signal import correlate2d

from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute import direct_fc, random_volumes, reduction_tree, run_fc
from jouleloop.theory.manticore.execute_conv import direct_conv, run_conv
from jouleloop.theory.manticore.formulas import Traffic, compute_to_communication, printed_traffic, tasks, traffic
from jouleloop.theory.manticore.layer import Machine, conv_layer, fc_layer, minimum_local_words, prefetching_local_words
from jouleloop.theory.manticore.machine import Counts, Options

MACHINES = st.builds(Machine, st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2))


@st.composite
def conv_layers(draw: st.DrawFn) -> ConvLayer:
    filter_width, stride, padding = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    output_width = draw(st.integers(1, 5))
    input_width = (output_width - 1) * stride + filter_width - 2 * padding
    assume(input_width >= 1)
    return conv_layer(input_width, draw(st.integers(1, 11)), draw(st.integers(1, 40)), filter_width, stride, padding)


@st.composite
def conv_cases(draw: st.DrawFn) -> tuple[ConvLayer, int, int]:
    layer, algorithm = draw(conv_layers()), draw(st.sampled_from((1, 2, 3)))
    return layer, algorithm, 1 if algorithm == 1 else draw(st.integers(1, min(layer.out_channels, 7)))


def assert_same_words(counts: Counts, expected: Traffic) -> None:
    assert counts.input_words_loaded == expected.input_words_loaded
    assert counts.filter_words_loaded == expected.filter_words_loaded
    assert counts.output_words_stored == expected.output_words_stored
    assert counts.words_exchanged == expected.words_exchanged
    assert counts.macs == expected.macs


@given(conv_cases(), MACHINES, st.booleans(), st.none() | st.integers(0, 999))
@settings(max_examples=250, deadline=None)
def test_convolution_counts_equal_the_closed_forms(case, machine, fetch_ahead, order_seed):
    layer, algorithm, stack = case
    inputs, filters = random_volumes(layer)
    options = Options(machine, fetch_ahead, order_seed=order_seed)
    run = run_conv(layer, algorithm, inputs, filters, stack=stack, options=options)
    expected, counts = traffic(layer, algorithm, stack, machine), run.counts
    assert np.array_equal(run.outputs, direct_conv(layer, inputs, filters))
    assert_same_words(counts, expected)
    ccr = Fraction(counts.macs, counts.words_loaded + counts.output_words_stored)
    assert ccr == compute_to_communication(layer, expected)
    if algorithm < 3 or tasks(layer, stack) % machine.clusters_per_l2 == 0:
        assert counts.words_loaded == printed_traffic(layer, algorithm, stack, machine).words_loaded
        assert counts.words_exchanged == printed_traffic(layer, algorithm, stack, machine).words_exchanged
    if layer.out_width == layer.in_width:
        assert counts.macs == printed_traffic(layer, algorithm, stack, machine).macs
    space = prefetching_local_words if fetch_ahead else minimum_local_words
    if algorithm < 3:
        assert counts.peak_local_words == space(layer, algorithm, stack)
    else:
        # The lending buffer fills only where a slice waits for its borrower.
        lent = layer.in_width**2
        assert space(layer, algorithm, stack) - lent <= counts.peak_local_words <= space(layer, algorithm, stack)


@given(
    st.builds(fc_layer, st.integers(1, 4), st.integers(1, 20), st.integers(1, 12), st.integers(1, 5)),
    st.sampled_from((4, 5)),
    st.integers(1, 12),
    MACHINES,
    st.booleans(),
    st.none() | st.integers(0, 999),
)
@settings(max_examples=200, deadline=None)
def test_fully_connected_counts_equal_the_closed_forms(layer, algorithm, stack, machine, fetch_ahead, order_seed):
    size = layer.out_channels if algorithm == 4 else min(stack, layer.out_channels)
    inputs, filters = random_volumes(layer)
    run = run_fc(layer, inputs, filters, size, Options(machine, fetch_ahead, order_seed=order_seed))
    expected, counts = traffic(layer, algorithm, size, machine), run.counts
    assert np.array_equal(run.outputs, direct_fc(layer, inputs, filters))
    assert_same_words(counts, expected)
    ccr = Fraction(counts.macs, counts.words_loaded)
    printed = printed_traffic(layer, algorithm, size, machine)
    assert ccr == compute_to_communication(layer, expected) == compute_to_communication(layer, printed)
    space = prefetching_local_words if fetch_ahead else minimum_local_words
    assert counts.peak_local_words == space(layer, algorithm, size)


@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_a_fully_connected_layer_is_a_convolution_with_a_filter_as_wide_as_the_input(width, depth_in, depth_out):
    conv, fc = conv_layer(width, depth_in, depth_out, width), fc_layer(width, depth_in, depth_out)
    inputs, filters = random_volumes(conv)
    by_conv, by_fc = run_conv(conv, 1, inputs, filters), run_fc(fc, inputs[np.newaxis], filters, depth_out)
    assert np.array_equal(by_conv.outputs[:, 0, 0], by_fc.outputs[:, 0])
    assert by_conv.counts.macs == by_fc.counts.macs
    assert by_conv.counts.filter_words_loaded == by_fc.counts.filter_words_loaded


@given(conv_layers())
@settings(max_examples=60, deadline=None)
def test_direct_convolution_agrees_with_scipy(layer):
    inputs, filters = random_volumes(layer)
    outputs = direct_conv(layer, inputs, filters)
    padded = np.pad(inputs, ((0, 0), *(2 * [(layer.padding, layer.padding)])))
    for depth_out in (0, layer.out_channels - 1):
        full = sum(correlate2d(padded[d], filters[depth_out, d], mode="valid") for d in range(layer.in_channels))
        assert np.array_equal(outputs[depth_out], full[:: layer.stride, :: layer.stride])


@given(st.builds(Machine, *(4 * [st.integers(1, 5)])))
@settings(max_examples=60, deadline=None)
def test_reduction_tree_joins_every_cluster_once(machine):
    pairs = [pair for _, step in reduction_tree(machine) for pair in step]
    sources = [source for _, source in pairs]
    assert sorted(sources) == list(range(1, machine.clusters))
    read = set()
    for reader, source in pairs:
        assert reader not in read
        assert source not in read
        read.add(source)


def test_one_reduction_on_the_full_chiplet_reads_127_volumes_in_seven_steps():
    layer = fc_layer(1, 3, 2, 3)
    inputs, filters = random_volumes(layer)
    counts = run_fc(layer, inputs, filters, 2).counts
    # 003 section 3.1.3: three reads in each of 32 L1, 8 L2 and 2 L3 quadrants, one between the two L3 quadrants.
    assert counts.words_by_network == {"L1": 96 * 6, "L2": 24 * 6, "L3": 6 * 6, "chiplet": 6}
    assert counts.words_exchanged == 127 * 6
    assert len(list(reduction_tree(Machine()))) == 7
