"""Run any Manticore algorithm of paper 003 on random whole numbers and check it; Algorithms 4-5 themselves."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.counting import random_operands
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute_conv import direct_conv, run_conv
from jouleloop.theory.manticore.layer import Machine, check_algorithm, check_stack, is_convolution
from jouleloop.theory.manticore.machine import AS_LISTED, Chip, ManticoreRun, Options, Process, Volume, Wait

MAX_MACS = 4_000_000_000
"""Larger layers are refused: an execution really computes them."""


def random_volumes(layer: ConvLayer, seed: int = 0) -> tuple[Volume, Volume]:
    """Return input and filter volumes of small whole numbers, so that every sum is exact in any order.

    Shapes (D_I, W_I, W_I) and (D_O, D_I, F, F), or (B, D_I, W_I, W_I) and (D_O, D_I, W_I, W_I).
    """
    plane = (layer.in_channels, layer.in_width, layer.in_width)
    if is_convolution(layer):
        shapes = [plane, (layer.out_channels, layer.in_channels, layer.filter_width, layer.filter_width)]
    else:
        shapes = [(layer.batch, *plane), (layer.out_channels, *plane)]
    inputs, filters = random_operands(shapes, seed, largest=8)
    return inputs, filters


def run_checked(
    layer: ConvLayer, algorithm: int, stack: int, *, options: Options = AS_LISTED, seed: int = 0
) -> ManticoreRun:
    """Execute an algorithm on random data, drawn by ``seed``, and compare the result with the direct computation.

    Raises `InputError` if the layer has more MACs than `MAX_MACS`; `AssumptionError` if the stack is outside 1…D_O, or
    the schedule deadlocks.
    """
    check_algorithm(algorithm, layer)
    if algorithm != 3 and options.variant != "blocked":
        text = "only Algorithm 3 has variants"
        raise AssumptionError(Fault(text, field="variant", value=options.variant, allowed="blocked"))
    if layer.macs > MAX_MACS:
        raise InputError(Fault("too many MACs to execute", "layer", value=layer.macs, allowed=f"at most {MAX_MACS}"))
    check_stack(stack, algorithm, layer)
    inputs, filters = random_volumes(layer, seed)
    if is_convolution(layer):
        run = run_conv(layer, algorithm, inputs, filters, stack=stack, options=options)
        expected = direct_conv(layer, inputs, filters)
    else:
        run = run_fc(layer, inputs, filters, stack, options)
        expected = direct_fc(layer, inputs, filters)
    return replace(run, result_is_right=bool(np.array_equal(run.outputs, expected)))


def run_fc(layer: ConvLayer, inputs: Volume, filters: Volume, stack: int, options: Options = AS_LISTED) -> ManticoreRun:
    """Execute Algorithm 5 with stacks of Δ_O outputs, or 4 with all of D_O in one, and count what it moves.

    Inputs have the shape (B, D_I, W_I, W_I), filters (D_O, D_I, W_I, W_I), outputs (D_O, B).
    """
    chip = Chip(options)
    outputs = np.zeros((layer.out_channels, layer.batch), dtype=np.result_type(inputs, filters))
    for begin in range(0, layer.out_channels, stack):
        end = min(begin + stack, layer.out_channels)
        name = f"O[{begin}:{end}]"
        for memory in chip.memories:
            memory.put(name, np.zeros_like(outputs[begin:end]))
        chip.deal(layer.in_channels, partial(_task, chip, bounds=(begin, end), inputs=inputs, filters=filters))
        reduce_to_first(chip, name)
        chip.store(0, name, outputs[begin:end])
    return chip.finish(outputs)


def _task(chip: Chip, cluster: int, depth: int, bounds: tuple[int, int], inputs: Volume, filters: Volume) -> Process:
    """Multiply one input depth slice of the whole batch with the filters of one stack (the parallel loop's body)."""
    memory, (begin, end) = chip.memories[cluster], bounds
    ahead = chip.options.fetch_ahead
    slice_name = f"I[{depth}]"
    private = memory[f"O[{begin}:{end}]"]

    def load_filter(depth_out: int) -> None:
        chip.load(cluster, f"F[{depth},{depth_out}]", filters[depth_out, depth])

    chip.load(cluster, slice_name, inputs[:, depth])
    if ahead:
        load_filter(begin)
    yield Wait(slice_name, lambda: slice_name in memory)
    for depth_out in range(begin, end):
        if not ahead:
            load_filter(depth_out)
        elif depth_out + 1 < end:
            load_filter(depth_out + 1)
        name = f"F[{depth},{depth_out}]"
        private[depth_out - begin] += np.einsum("bxy,xy->b", memory[slice_name], memory[name])
        memory.free(name)
    chip.compute(cluster, slice_name, memory[slice_name].size * (end - begin))
    memory.free(slice_name)


def reduction_tree(machine: Machine) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the steps of the tree reduction: a network and its simultaneous (reader, source) pairs (003 section 3.1.3).

    In each network pairs of leaders are joined, then pairs of pairs, until one leader is left; it goes up one network.
    An odd one out is joined in a later step. The readers stream, so no second volume is held.
    """
    span = 1
    for network, fan_in in machine.networks:
        step = 1
        while step < fan_in:
            readers = [
                first + place * span
                for first in range(0, machine.clusters, span * fan_in)
                for place in range(0, fan_in - step, 2 * step)
            ]
            yield network, [(reader, reader + step * span) for reader in readers]
            step *= 2
        span *= fan_in


def reduce_to_first(chip: Chip, name: str) -> None:
    """Sum the private volumes ``name`` of all clusters into cluster 0 along the tree, freeing each that was read."""
    for network, pairs in reduction_tree(chip.machine):
        chip.counts.rounds += 1
        for reader, source in pairs:
            array = chip.memories[source][name]
            chip.memories[reader][name][...] += array
            chip.exchange(network, array.size)
            chip.note(reader, "reduce", name, array.size, source)
            chip.memories[source].free(name)


def direct_fc(layer: ConvLayer, inputs: Volume, filters: Volume) -> Volume:
    """Compute the layer directly as one matrix product: the witness of the executed algorithms, shape (D_O, B)."""
    reach = layer.in_channels * layer.in_width**2
    product: Volume = filters.reshape(layer.out_channels, reach) @ inputs.reshape(layer.batch, reach).T
    return product
