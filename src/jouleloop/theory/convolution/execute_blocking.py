"""Blocked and naive convolutions executed element by element in a fast memory of M words (001 §3.2 and eq. (1))."""

import itertools
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from jouleloop.errors import Fault, InputError
from jouleloop.theory.convolution.blocking import Blocking, check_blocking
from jouleloop.theory.convolution.layer import ARRAYS, FILTER, INPUT, OUTPUT, Precisions, input_elements, memory_words
from jouleloop.theory.counting import FastMemory, random_operands
from jouleloop.theory.layers import ConvLayer

Index = tuple[int, ...]
Numbers = NDArray[np.int64]
MAX_UPDATES = 5_000_000
_LOOPS = {
    INPUT: ("n", "c", "x", "y", "qw", "rw", "qh", "rh"),
    FILTER: ("c", "k", "qw", "rw", "qh", "rh"),
    OUTPUT: ("n", "k", "x", "y"),
}


@dataclass(frozen=True)
class BlockStep:
    """One block of an executed schedule: elements loaded and stored by array when it became current, and updates."""

    loaded: Mapping[str, int]
    stored: Mapping[str, int]
    updates: int


@dataclass(frozen=True)
class ConvExecution:
    """What an executed schedule moved and computed."""

    memory: FastMemory
    """Fast memory afterwards, with all that it counted."""
    updates: int
    """Multiply-accumulates done."""
    output: Numbers
    """The result, of shape (N, c_O, w_O, h_O)."""
    steps: tuple[BlockStep, ...] = ()
    """What every block moved, in order, and a last step that stores what is left; empty for the naive nest."""


def require_runnable(layer: ConvLayer) -> None:
    """Raise `InputError` where the layer has more than `MAX_UPDATES` updates or input elements."""
    most = max(layer.macs, input_elements(layer))
    if most > MAX_UPDATES:
        raise InputError(Fault("layer too large to run element by element", None, "updates", most, f"<= {MAX_UPDATES}"))


def sample_operands(layer: ConvLayer, seed: int = 0) -> tuple[Numbers, Numbers]:
    """Return a random input (N, c_I, columns, rows) and filter (c_I, c_O, w_F, h_F) of small integers."""
    shapes = (
        (layer.batch, layer.in_channels, layer.reach("width"), layer.reach("height")),
        (layer.in_channels, layer.out_channels, layer.filter_width, layer.filter_height),
    )
    inputs, filters = random_operands(shapes, seed, largest=9)
    return inputs, filters


def direct_convolution(layer: ConvLayer, inputs: Numbers, filters: Numbers) -> Numbers:
    """Return the convolution of 001 eq. (1) by NumPy slices, the witness of every executed schedule."""
    result = np.zeros((layer.batch, layer.out_channels, layer.out_width, layer.out_height), dtype=np.int64)
    width = (layer.out_width - 1) * layer.stride_width + 1
    height = (layer.out_height - 1) * layer.stride_height + 1
    for i6, i7 in itertools.product(range(layer.filter_width), range(layer.filter_height)):
        window = inputs[:, :, i6 : i6 + width : layer.stride_width, i7 : i7 + height : layer.stride_height]
        result += np.einsum("nixy,io->noxy", window, filters[:, :, i6, i7])
    return result


def execute_blocking(
    layer: ConvLayer,
    precisions: Precisions,
    blocking: Blocking,
    memory: float | Fraction | str,
    *,
    kept: str = OUTPUT,
    operands: tuple[Numbers, Numbers] | None = None,
) -> ConvExecution:
    """Run the convolution block by block; blocks that the next step uses again stay in fast memory.

    Raises `AssumptionError` where the block does not fit in M words; `InputError` where a side is out of range or the
    layer is too large to run element by element.

    ``kept`` is the array that does not depend on the innermost loops over blocks; ``operands``, input and filter, are
    those of `sample_operands` where not given.
    """
    check_blocking(layer, blocking)
    if kept not in ARRAYS:
        raise InputError(Fault("not an array", None, "kept", kept, ", ".join(ARRAYS)))
    fast = _memory(layer, precisions, memory, operands)
    seen: set[Index] = set()
    current: dict[str, tuple[range, ...]] = {}
    steps: list[BlockStep] = []
    done = 0
    for block in _blocks(layer, blocking, kept):
        updates = list(_updates(layer, block))
        if not updates:
            continue
        loaded, stored = fast.loaded.copy(), fast.stored.copy()
        place = {array: tuple(block[loop] for loop in _LOOPS[array]) for array in ARRAYS}
        changed = [array for array in ARRAYS if current.get(array) != place[array]]
        # Room first: what this block does not use leaves before anything enters.
        for array in changed:
            (fast.store if array == OUTPUT else fast.drop)(array, fast.holds(array))
        for array in changed:
            touched = {update[ARRAYS.index(array)] for update in updates}
            if array == OUTPUT:
                fast.create(array, sorted(touched - seen))
                fast.load(array, sorted(touched & seen))
                seen |= touched
            else:
                fast.load(array, sorted(touched))
        current = place
        done += _compute(fast, updates)
        steps.append(BlockStep(fast.loaded - loaded, fast.stored - stored, len(updates)))
    left = fast.holds(OUTPUT)
    fast.store(OUTPUT, left)
    steps.append(BlockStep({}, {OUTPUT: len(left)}, 0))
    return ConvExecution(fast, done, _output(layer, fast), tuple(steps))


def execute_naive(
    layer: ConvLayer,
    precisions: Precisions,
    memory: float | Fraction | str,
    *,
    operands: tuple[Numbers, Numbers] | None = None,
) -> ConvExecution:
    """Run loop nest (1) as written: each update fetches its operands, an output stays for the loops over the filter."""
    fast = _memory(layer, precisions, memory, operands)
    done = 0
    for n, c, k, x, y in itertools.product(
        *map(range, (layer.batch, layer.in_channels, layer.out_channels, layer.out_width, layer.out_height))
    ):
        output = (n, k, x, y)
        (fast.load if c else fast.create)(OUTPUT, [output])
        for i6, i7 in itertools.product(range(layer.filter_width), range(layer.filter_height)):
            source = (n, c, layer.stride_width * x + i6, layer.stride_height * y + i7)
            tap = (c, k, i6, i7)
            fast.load(INPUT, [source])
            fast.load(FILTER, [tap])
            done += _compute(fast, [(source, tap, output)])
            fast.drop(INPUT, [source])
            fast.drop(FILTER, [tap])
        fast.store(OUTPUT, [output])
    return ConvExecution(fast, done, _output(layer, fast))


def _memory(
    layer: ConvLayer,
    precisions: Precisions,
    memory: float | Fraction | str,
    operands: tuple[Numbers, Numbers] | None,
) -> FastMemory:
    require_runnable(layer)
    inputs, filters = operands or sample_operands(layer)
    slow: dict[str, dict[Hashable, complex]] = {
        INPUT: {index: int(value) for index, value in np.ndenumerate(inputs)},
        FILTER: {index: int(value) for index, value in np.ndenumerate(filters)},
        OUTPUT: {},
    }
    return FastMemory(memory_words(memory), {array: precisions.of(array) for array in ARRAYS}, slow)


def _blocks(layer: ConvLayer, blocking: Blocking, kept: str) -> Iterator[dict[str, range]]:
    """Yield the ranges of every block, the loops that ``kept`` does not depend on innermost."""
    groups = {
        FILTER: {
            "n": _cut(layer.batch, blocking.batch),
            "x": _cut(layer.out_width, blocking.out_width),
            "y": _cut(layer.out_height, blocking.out_height),
        },
        INPUT: {"k": _cut(layer.out_channels, blocking.out_channels)},
        OUTPUT: {
            "c": _cut(layer.in_channels, blocking.in_channels),
            "qw": _cut(-(-layer.filter_width // layer.stride_width), blocking.width_quotients),
            "rw": _cut(min(layer.stride_width, layer.filter_width), blocking.width_residues),
            "qh": _cut(-(-layer.filter_height // layer.stride_height), blocking.height_quotients),
            "rh": _cut(min(layer.stride_height, layer.filter_height), blocking.height_residues),
        },
    }
    order = [array for array in ARRAYS if array != kept] + [kept]
    loops = {name: ranges for array in order for name, ranges in groups[array].items()}
    for choice in itertools.product(*loops.values()):
        yield dict(zip(loops, choice, strict=True))


def _cut(length: int, side: int) -> list[range]:
    return [range(first, min(first + side, length)) for first in range(0, length, side)]


def _updates(layer: ConvLayer, block: Mapping[str, range]) -> Iterator[tuple[Index, Index, Index]]:
    """Yield (input, filter, output) index of every update in a block."""
    taps_w = [w for q in block["qw"] for r in block["rw"] if (w := q * layer.stride_width + r) < layer.filter_width]
    taps_h = [h for q in block["qh"] for r in block["rh"] if (h := q * layer.stride_height + r) < layer.filter_height]
    for n, c, k, x, y, i6, i7 in itertools.product(
        block["n"], block["c"], block["k"], block["x"], block["y"], taps_w, taps_h
    ):
        source = (n, c, layer.stride_width * x + i6, layer.stride_height * y + i7)
        yield source, (c, k, i6, i7), (n, k, x, y)


def _compute(fast: FastMemory, updates: list[tuple[Index, Index, Index]]) -> int:
    inputs, filters, outputs = fast.fast[INPUT], fast.fast[FILTER], fast.fast[OUTPUT]
    for source, tap, target in updates:
        outputs[target] += inputs[source] * filters[tap]
    return len(updates)


def _output(layer: ConvLayer, fast: FastMemory) -> Numbers:
    output = np.zeros((layer.batch, layer.out_channels, layer.out_width, layer.out_height), dtype=np.int64)
    for index in np.ndindex(*output.shape):
        output[index] = fast.slow[OUTPUT][index]
    return output
