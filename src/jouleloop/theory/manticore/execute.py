"""Run any Manticore algorithm of paper 003 on random whole numbers and check it against a direct computation."""

from dataclasses import dataclass

import numpy as np

from jouleloop.errors import AssumptionError, Fault, InputError
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute_conv import Variant, direct_conv, run_conv
from jouleloop.theory.manticore.execute_fc import direct_fc, run_fc
from jouleloop.theory.manticore.layer import MANTICORE, Machine, check_algorithm, is_convolution
from jouleloop.theory.manticore.machine import ManticoreRun, Volume

MAX_MACS = 4_000_000_000
"""Larger layers are refused: an execution really computes them."""


@dataclass(frozen=True)
class CheckedRun:
    """An execution beside whether its result equals the direct computation, and whether it fits the local memory."""

    run: ManticoreRun
    result_is_right: bool
    peak_local_bytes: int
    fits_local_memory: bool


def random_volumes(layer: ConvLayer, seed: int = 0) -> tuple[Volume, Volume]:
    """Return input and filter volumes of small whole numbers, so that every sum is exact in any order.

    Shapes (D_I, W_I, W_I) and (D_O, D_I, F, F), or (B, D_I, W_I, W_I) and (D_O, D_I, W_I, W_I).
    """
    draw = np.random.default_rng(seed)
    plane = (layer.in_channels, layer.in_width, layer.in_width)
    if is_convolution(layer):
        shapes = plane, (layer.out_channels, layer.in_channels, layer.filter_width, layer.filter_width)
        return draw.integers(-8, 9, shapes[0]), draw.integers(-8, 9, shapes[1])
    return draw.integers(-8, 9, (layer.batch, *plane)), draw.integers(-8, 9, (layer.out_channels, *plane))


def run_checked(
    layer: ConvLayer,
    algorithm: int,
    *,
    stack: int | None = None,
    word_bytes: int = 4,
    machine: Machine = MANTICORE,
    fetch_ahead: bool = True,
    variant: Variant = "blocked",
    seed: int = 0,
    record: bool = False,
) -> CheckedRun:
    """Execute an algorithm on random data and compare the result with the direct computation.

    Parameters are those of `run_conv` and `run_fc`; ``stack`` of None means 1 (Algorithms 1-3) or D_O (4-5), and
    ``seed`` draws the data.

    Raises `InputError` if the layer has more MACs than `MAX_MACS`; `AssumptionError` as `run_conv` and `run_fc`.
    """
    check_algorithm(algorithm, layer)
    if algorithm != 3 and variant != "blocked":
        raise AssumptionError(Fault("only Algorithm 3 has variants", field="variant", value=variant, allowed="blocked"))
    if layer.macs > MAX_MACS:
        raise InputError(Fault("too many MACs to execute", "layer", value=layer.macs, allowed=f"at most {MAX_MACS}"))
    inputs, filters = random_volumes(layer, seed)
    if is_convolution(layer):
        run = run_conv(
            layer,
            algorithm,
            inputs,
            filters,
            stack=1 if stack is None else stack,
            machine=machine,
            fetch_ahead=fetch_ahead,
            variant=variant,
            record=record,
        )
        expected = direct_conv(layer, inputs, filters)
    else:
        run = run_fc(
            layer, algorithm, inputs, filters, stack=stack, machine=machine, fetch_ahead=fetch_ahead, record=record
        )
        expected = direct_fc(layer, inputs, filters)
    peak_bytes = run.counts.peak_local_words * word_bytes
    return CheckedRun(
        run, bool(np.array_equal(run.outputs, expected)), peak_bytes, peak_bytes <= machine.local_memory_bytes
    )
