"""The two dataflows of the convolutional energy-complexity model, executed word by word with a counting Buffer."""

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.theory.counting import CountingMemory, Numbers, random_operands
from jouleloop.theory.layers import ConvLayer

EnergyDataflow = Literal["write-once-outputs", "read-once-inputs"]
MAX_WORDS = 3_000_000
"""Executions go word by word; larger layers are refused."""


@dataclass(frozen=True)
class ConvEnergyRun:
    """The computed outputs, shape (M, P, Q), the Buffer after the execution, and MACs without padding zeros."""

    outputs: Numbers
    buffer: CountingMemory
    macs: int


def random_layer(layer: ConvLayer, seed: int = 0) -> tuple[Numbers, Numbers, Numbers]:
    """Return inputs (C, H, W), weights (M, C, R, S) and biases (M,) of small whole numbers; no bias is zero."""
    shapes = (
        (layer.in_channels, layer.in_height, layer.in_width),
        (layer.out_channels, layer.in_channels, layer.filter_height, layer.filter_width),
        (layer.out_channels,),
    )
    inputs, weights, biases = random_operands(shapes, seed, largest=8)
    return inputs, weights, biases * int(layer.bias)


def run_write_once_outputs(
    layer: ConvLayer, inputs: Numbers, weights: Numbers, biases: Numbers, *, maps: int = 1
) -> ConvEnergyRun:
    """Execute the dataflow that keeps ``maps`` output maps in Buffer until they are finished.

    For every group of output maps: biases are read into the accumulators; for every channel its kernels are read, then
    every input word once, alone, and used at once for all outputs of the group that it reaches.
    """
    _check(layer.out_channels * layer.in_channels * layer.input_map_elements)
    buffer, macs = CountingMemory(), 0
    outputs = np.zeros((layer.out_channels, layer.out_height, layer.out_width), dtype=np.int64)
    for begin in range(0, layer.out_channels, maps):
        group = slice(begin, min(begin + maps, layer.out_channels))
        size = group.stop - group.start
        buffer.hold(size * layer.output_map_elements)
        buffer.loaded["weights"] += size * layer.bias
        sums = np.repeat(biases[group], layer.output_map_elements).reshape(size, *outputs.shape[1:])
        for channel in range(layer.in_channels):
            kernels = weights[group, channel]
            buffer.loaded["weights"] += kernels.size
            buffer.hold(kernels.size)
            for (row, column), value in np.ndenumerate(inputs[channel]):
                buffer.loaded["inputs"] += 1
                buffer.hold(1)
                meetings = itertools.product(_meetings(layer, "height", row), _meetings(layer, "width", column))
                for (p, r), (q, s) in meetings:
                    sums[:, p, q] += value * kernels[:, r, s]
                    macs += size
                buffer.hold(-1)
            buffer.hold(-kernels.size)
        outputs[group] = sums
        buffer.stored["outputs"] += sums.size
        buffer.hold(-sums.size)
    return ConvEnergyRun(outputs, buffer, macs)


def run_read_once_inputs(
    layer: ConvLayer, inputs: Numbers, weights: Numbers, biases: Numbers, *, maps: int = 1
) -> ConvEnergyRun:
    """Execute the dataflow that keeps ``maps`` input maps in Buffer until all outputs have used them.

    For every group of channels and every output map: the kernels are read, then every output word is read back (or
    begun from its bias in the first group), gains the group's products, and is written.
    """
    _check(layer.filter_elements * layer.output_map_elements)
    buffer, macs = CountingMemory(), 0
    outputs = np.zeros((layer.out_channels, layer.out_height, layer.out_width), dtype=np.int64)
    before = layer.padding_before("height"), layer.padding_before("width")
    for begin in range(0, layer.in_channels, maps):
        resident = inputs[begin : begin + maps]
        buffer.loaded["inputs"] += resident.size
        buffer.hold(resident.size)
        for output in range(layer.out_channels):
            kernels = weights[output, begin : begin + maps]
            starting_bias = begin == 0 and layer.bias
            buffer.loaded["weights"] += kernels.size + starting_bias
            buffer.hold(kernels.size + starting_bias)
            for p, q in np.ndindex(layer.out_height, layer.out_width):
                buffer.hold(1)
                buffer.loaded["outputs"] += begin > 0
                total = outputs[output, p, q] if begin else biases[output]
                top, left = p * layer.stride - before[0], q * layer.stride - before[1]
                rows = slice(max(0, -top), layer.filter_height), slice(max(0, -left), layer.filter_width)
                window = resident[:, max(0, top) : top + layer.filter_height, max(0, left) : left + layer.filter_width]
                taps = kernels[:, rows[0], rows[1]][:, : window.shape[1], : window.shape[2]]
                macs += window.size
                outputs[output, p, q] = total + (window * taps).sum()
                buffer.stored["outputs"] += 1
                buffer.hold(-1)
            buffer.hold(-kernels.size - starting_bias)
        buffer.hold(-resident.size)
    return ConvEnergyRun(outputs, buffer, macs)


EXECUTIONS = {"write-once-outputs": run_write_once_outputs, "read-once-inputs": run_read_once_inputs}


def _meetings(layer: ConvLayer, axis: str, place: int) -> list[tuple[int, int]]:
    """Return the (output place, kernel place) pairs in which the input word at ``place`` is used along one axis."""
    reached = place + layer.padding_before(axis)
    outputs, kernel, stride = layer.along(axis)
    first = max(0, -(-(reached - kernel + 1) // stride))
    last = min(outputs - 1, reached // stride)
    return [(output, reached - output * stride) for output in range(first, last + 1)]


def _check(words: int) -> None:
    if words > MAX_WORDS:
        allowed = f"at most {MAX_WORDS} words"
        raise InputError(Fault("too large to execute word by word", "layer", value=words, allowed=allowed))
