"""The two dataflows of the convolutional energy-complexity model, executed word by word with a counting Buffer."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.convolution.energy import ConvShape

Volume = NDArray[Any]
Dataflow = Literal["write-once-outputs", "read-once-inputs"]
MAX_WORDS = 3_000_000
"""Executions go word by word; larger layers are refused."""


@dataclass
class Buffer:
    """The upper memory: how many words it holds, the most it ever held, and what crossed its edge."""

    words: int = 0
    peak_words: int = 0
    weights_read: int = 0
    inputs_read: int = 0
    outputs_read: int = 0
    outputs_written: int = 0
    macs: int = 0

    def hold(self, words: int) -> None:
        """Take room for ``words``; a negative number gives room back."""
        self.words += words
        self.peak_words = max(self.peak_words, self.words)

    @property
    def total_words(self) -> int:
        """Words moved between DRAM and Buffer."""
        return self.weights_read + self.inputs_read + self.outputs_read + self.outputs_written


@dataclass(frozen=True)
class ConvEnergyRun:
    """The computed outputs, shape (M, P, Q), and the Buffer after the execution; ``macs`` leaves out padding zeros."""

    outputs: Volume
    buffer: Buffer


def random_layer(shape: ConvShape, seed: int = 0) -> tuple[Volume, Volume, Volume]:
    """Return inputs (C, H, W), weights (M, C, R, S) and biases (M,) of small whole numbers; no bias is zero."""
    draw = np.random.default_rng(seed)
    inputs = draw.integers(-8, 9, (shape.channels, shape.input_size("height"), shape.input_size("width")))
    weights = draw.integers(-8, 9, (shape.outputs, shape.channels, shape.kernel_height, shape.kernel_width))
    biases = draw.integers(-8, 9, shape.outputs) * int(shape.bias)
    return inputs, weights, biases


def run_write_once_outputs(
    shape: ConvShape, inputs: Volume, weights: Volume, biases: Volume, *, maps: int = 1
) -> ConvEnergyRun:
    """Execute the dataflow that keeps ``maps`` output maps in Buffer until they are finished.

    For every group of output maps: biases are read into the accumulators; for every channel its kernels are read, then
    every input word once, alone, and used at once for all outputs of the group that it reaches.
    """
    _check(shape.outputs * shape.channels * shape.input_map_words, maps, shape.outputs)
    buffer = Buffer()
    outputs = np.zeros((shape.outputs, shape.output_height, shape.output_width), dtype=np.int64)
    for begin in range(0, shape.outputs, maps):
        group = slice(begin, min(begin + maps, shape.outputs))
        size = group.stop - group.start
        buffer.hold(size * shape.output_map_words)
        buffer.weights_read += size * shape.bias
        sums = np.repeat(biases[group], shape.output_map_words).reshape(size, *outputs.shape[1:])
        for channel in range(shape.channels):
            kernels = weights[group, channel]
            buffer.weights_read += kernels.size
            buffer.hold(kernels.size)
            for (row, column), value in np.ndenumerate(inputs[channel]):
                buffer.inputs_read += 1
                buffer.hold(1)
                for p, r in _meetings(shape, "height", row):
                    for q, s in _meetings(shape, "width", column):
                        sums[:, p, q] += value * kernels[:, r, s]
                        buffer.macs += size
                buffer.hold(-1)
            buffer.hold(-kernels.size)
        outputs[group] = sums
        buffer.outputs_written += sums.size
        buffer.hold(-sums.size)
    return ConvEnergyRun(outputs, buffer)


def run_read_once_inputs(
    shape: ConvShape, inputs: Volume, weights: Volume, biases: Volume, *, maps: int = 1
) -> ConvEnergyRun:
    """Execute the dataflow that keeps ``maps`` input maps in Buffer until all outputs have used them.

    For every group of channels and every output map: the kernels are read, then every output word is read back (or
    begun from its bias in the first group), gains the group's products, and is written.
    """
    _check(shape.outputs * shape.channels * shape.output_map_words * shape.kernel_words, maps, shape.channels)
    buffer = Buffer()
    outputs = np.zeros((shape.outputs, shape.output_height, shape.output_width), dtype=np.int64)
    before = shape.padding_before("height"), shape.padding_before("width")
    for begin in range(0, shape.channels, maps):
        resident = inputs[begin : begin + maps]
        buffer.inputs_read += resident.size
        buffer.hold(resident.size)
        for output in range(shape.outputs):
            kernels = weights[output, begin : begin + maps]
            starting_bias = begin == 0 and shape.bias
            buffer.weights_read += kernels.size + starting_bias
            buffer.hold(kernels.size + starting_bias)
            for p in range(shape.output_height):
                for q in range(shape.output_width):
                    buffer.hold(1)
                    buffer.outputs_read += begin > 0
                    total = outputs[output, p, q] if begin else biases[output]
                    top, left = p * shape.stride - before[0], q * shape.stride - before[1]
                    rows = slice(max(0, -top), shape.kernel_height), slice(max(0, -left), shape.kernel_width)
                    window = resident[
                        :, max(0, top) : top + shape.kernel_height, max(0, left) : left + shape.kernel_width
                    ]
                    taps = kernels[:, rows[0], rows[1]][:, : window.shape[1], : window.shape[2]]
                    buffer.macs += window.size
                    outputs[output, p, q] = total + (window * taps).sum()
                    buffer.outputs_written += 1
                    buffer.hold(-1)
            buffer.hold(-kernels.size - starting_bias)
        buffer.hold(-resident.size)
    return ConvEnergyRun(outputs, buffer)


def run_dataflow(
    dataflow: Dataflow, shape: ConvShape, inputs: Volume, weights: Volume, biases: Volume, *, maps: int = 1
) -> ConvEnergyRun:
    """Execute the dataflow of that name."""
    run = run_write_once_outputs if dataflow == "write-once-outputs" else run_read_once_inputs
    return run(shape, inputs, weights, biases, maps=maps)


def _meetings(shape: ConvShape, axis: str, place: int) -> list[tuple[int, int]]:
    """Return the (output place, kernel place) pairs in which the input word at ``place`` is used along one axis."""
    reached = place + shape.padding_before(axis)
    kernel: int = getattr(shape, f"kernel_{axis}")
    outputs: int = getattr(shape, f"output_{axis}")
    first = max(0, -(-(reached - kernel + 1) // shape.stride))
    last = min(outputs - 1, reached // shape.stride)
    return [(output, reached - output * shape.stride) for output in range(first, last + 1)]


def _check(words: int, maps: int, most: int) -> None:
    if not 1 <= maps <= most:
        fault = Fault("Buffer keeps between one and all maps", field="maps", value=maps, allowed=f"1 to {most}")
        raise AssumptionError(fault)
    if words > MAX_WORDS:
        allowed = f"at most {MAX_WORDS} words"
        raise InputError(Fault("too large to execute word by word", "layer", value=words, allowed=allowed))
