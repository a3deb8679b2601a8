"""Run any Manticore algorithm of paper 003 on random whole numbers and check it against a direct computation."""

from dataclasses import dataclass

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.counting import random_operands
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute_conv import direct_conv, run_conv
from jouleloop.theory.manticore.execute_fc import direct_fc, run_fc
from jouleloop.theory.manticore.layer import check_algorithm, check_stack, is_convolution
from jouleloop.theory.manticore.machine import AS_LISTED, ManticoreRun, Options, Volume

MAX_MACS = 4_000_000_000
"""Larger layers are refused: an execution really computes them."""


@dataclass(frozen=True)
class CheckedRun:
    """An execution beside whether its result equals the direct computation."""

    run: ManticoreRun
    result_is_right: bool


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
) -> CheckedRun:
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
    return CheckedRun(run, bool(np.array_equal(run.outputs, expected)))
