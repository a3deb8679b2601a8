"""Blocked and naive convolutions executed in M words of fast memory (001 §3.2, eq. (1)), beside their closed forms."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from jouleloop.errors import Fault, InputError
from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.blocking import Blocking, best_order, largest_blocking
from jouleloop.theory.convolution.blocking_search import best_blocking, solve_blocking_lp
from jouleloop.theory.convolution.bounds import find_bound, single_processor_bounds
from jouleloop.theory.convolution.layer import ARRAYS, FILTER, INPUT, OUTPUT, Precisions, input_elements, memory_words
from jouleloop.theory.convolution.volumes import naive_volume
from jouleloop.theory.counting import BlockMemory, Ints, Moved, blocks, random_operands
from jouleloop.theory.layers import ConvLayer

MAX_UPDATES = 5_000_000
DRAWN_STEPS = 60
_NAMES = ("n", "c", "k", "x", "y", "qw", "qh", "rw", "rh")
"""The nine loops, in the order of `Blocking.sides`."""
_LOOPS = {
    INPUT: ("n", "c", "x", "y", "qw", "rw", "qh", "rh"),
    FILTER: ("c", "k", "qw", "rw", "qh", "rh"),
    OUTPUT: ("n", "k", "x", "y"),
}
_FREE = {INPUT: ("k",), FILTER: ("n", "x", "y"), OUTPUT: ("c", "qw", "rw", "qh", "rh")}
"""The loops that an array depends on, and the others."""


@dataclass(frozen=True)
class ConvExecution:
    """What an executed schedule moved and computed."""

    memory: BlockMemory
    """Fast memory afterwards, with all that it counted."""
    updates: int
    output: Ints
    """The result, of shape (N, c_O, w_O, h_O)."""
    steps: tuple[Moved, ...] = ()
    """What every block moved, in order, and a last step that stores what is left; empty for the naive nest."""


def require_runnable(layer: ConvLayer) -> None:
    """Raise `InputError` where the layer has more than `MAX_UPDATES` updates or input elements."""
    most = max(layer.macs, input_elements(layer))
    if most > MAX_UPDATES:
        raise InputError(Fault("layer too large to run element by element", None, "updates", most, f"<= {MAX_UPDATES}"))


def sample_operands(layer: ConvLayer, seed: int = 0) -> tuple[Ints, Ints]:
    """Return a random input (N, c_I, columns, rows) and filter (c_I, c_O, w_F, h_F) of small integers."""
    shapes = (
        (layer.batch, layer.in_channels, layer.reach("width"), layer.reach("height")),
        (layer.in_channels, layer.out_channels, layer.filter_width, layer.filter_height),
    )
    inputs, filters = random_operands(shapes, seed, largest=9)
    return inputs, filters


def direct_convolution(layer: ConvLayer, inputs: Ints, filters: Ints) -> Ints:
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
    operands: tuple[Ints, Ints] | None = None,
) -> ConvExecution:
    """Run the convolution block by block; blocks that the next step uses again stay in fast memory.

    Raises `AssumptionError` where the block does not fit in M words; `InputError` where the layer is too large to run
    element by element.

    ``kept`` is the array that does not depend on the innermost loops over blocks; ``operands``, input and filter, are
    those of `sample_operands` where not given.
    """
    order = [loop for array in ARRAYS if array != kept for loop in _FREE[array]]
    steps: list[Moved] = []
    fast = _memory(layer, precisions, memory, operands)
    updates = sum(_run(layer, fast, block, ARRAYS, steps) for block in _blocks(layer, blocking, (*order, *_FREE[kept])))
    steps.append(Moved(Counter(), Counter({OUTPUT: fast.leave(OUTPUT)})))
    return ConvExecution(fast, updates, fast.slow[OUTPUT], tuple(steps))


def execute_naive(
    layer: ConvLayer,
    precisions: Precisions,
    memory: float | Fraction | str,
    *,
    operands: tuple[Ints, Ints] | None = None,
) -> ConvExecution:
    """Run loop nest (1) as written: each update fetches its operands, an output stays for the loops over the filter."""
    fast = _memory(layer, precisions, memory, operands)
    order = ("n", "c", "k", "x", "y", "qw", "rw", "qh", "rh")
    updates = sum(_run(layer, fast, block, (OUTPUT,), []) for block in _blocks(layer, Blocking(), order))
    fast.leave(OUTPUT)
    return ConvExecution(fast, updates, fast.slow[OUTPUT])


def _memory(
    layer: ConvLayer,
    precisions: Precisions,
    memory: float | Fraction | str,
    operands: tuple[Ints, Ints] | None,
) -> BlockMemory:
    require_runnable(layer)
    inputs, filters = operands or sample_operands(layer)
    output = np.zeros((layer.batch, layer.out_channels, layer.out_width, layer.out_height), dtype=np.int64)
    return BlockMemory(
        {INPUT: inputs, FILTER: filters, OUTPUT: output},
        {OUTPUT},
        capacity_words=memory_words(memory),
        words_per_element={array: precisions.of(array) for array in ARRAYS},
        cells=lambda array, place: _cells(layer, array, dict(zip(_LOOPS[array], place, strict=True))),
    )


def _blocks(layer: ConvLayer, blocking: Blocking, order: Sequence[str]) -> Iterator[Mapping[str, range]]:
    limits, sides = (dict(zip(_NAMES, one.sides(), strict=True)) for one in (largest_blocking(layer), blocking))
    return blocks(limits, sides, order)


def _axes(layer: ConvLayer, block: Mapping[str, range]) -> Iterator[tuple[list[int], list[int], Ints]]:
    """Yield what `_along` says of a block for the width and the height; without outputs it reaches no input."""
    for axis, place in (("width", "x"), ("height", "y")):
        _, taps, stride = layer.along(axis)
        yield _along(taps, stride, block.get(place, range(0)), block[f"q{axis[0]}"], block[f"r{axis[0]}"])


@lru_cache(maxsize=10_000)
def _along(
    taps: int, stride: int, outputs: range, quotients: range, residues: range
) -> tuple[list[int], list[int], Ints]:
    """Return taps and input cells of a block along an axis, and which of the cells each output and tap meet in."""
    own = [tap for q in quotients for r in residues if (tap := q * stride + r) < taps]
    met = np.add.outer(np.array(outputs, dtype=np.intp) * stride, np.array(own, dtype=np.intp))
    cells, at = np.unique(met, return_inverse=True)
    return own, cells.tolist(), at.reshape(met.shape)


def _cells(layer: ConvLayer, array: str, block: Mapping[str, range]) -> tuple[Sequence[int], ...]:
    """Return the indices of a block of an array along its four axes."""
    if array == OUTPUT:
        return tuple(block.values())
    first, second = (block[loop] for loop in _LOOPS[array][:2])
    return first, second, *(cells if array == INPUT else taps for taps, cells, _ in _axes(layer, block))


def _run(
    layer: ConvLayer, fast: BlockMemory, block: Mapping[str, range], stay: Sequence[str], steps: list[Moved]
) -> int:
    """Do the updates of a block in fast memory and return how many they are; add what it moved to ``steps``."""
    (columns, _, at_x), (rows, _, at_y) = _axes(layer, block)
    if not columns or not rows:
        return 0
    steps.append(fast.enter({array: tuple(block[loop] for loop in _LOOPS[array]) for array in ARRAYS}, stay))
    inputs, filters, output = (fast.blocks[array] for array in ARRAYS)
    windows = inputs[:, :, at_x[:, None, :, None], at_y[None, :, None, :]]
    output += np.einsum("ncxywh,ckwh->nkxy", windows, filters)
    return int(output.size) * len(block["c"]) * len(columns) * len(rows)


ConvSchedule = Literal["best-blocking", "rounded-lp", "naive"]


def run_schedule(
    layer: ConvLayer, precisions: Precisions, memory: str, schedule: ConvSchedule, seed: int = 0
) -> tuple[tuple[Bound, ...], str]:
    """Run ``schedule`` on random operands; return its counts beside theory, and its picture.

    Raises `AssumptionError` where the schedule does not fit in ``memory`` words or the bound's assumptions fail;
    `InputError` where the layer is too large to run element by element.
    """
    bound = find_bound(single_processor_bounds(layer, precisions, memory), "single_processor_lower_bound")
    require_runnable(layer)
    operands = sample_operands(layer, seed)
    if schedule == "naive":
        run = execute_naive(layer, precisions, memory, operands=operands)
        expected, source, note = naive_volume(layer, precisions).words, "001 eq. (1)", "three elements of fast memory"
    else:
        if schedule == "best-blocking":
            volume = best_blocking(layer, precisions, memory)
        else:
            volume = best_order(layer, precisions, solve_blocking_lp(layer, precisions, memory))
        run = execute_blocking(layer, precisions, volume.blocking, memory, kept=volume.kept, operands=operands)
        expected, source, note = volume.words, "001 §3.2", volume.describe()
    right = bool(np.array_equal(run.output, direct_convolution(layer, *operands)))
    records = [
        Bound("executed_words", source, run.memory.words_moved, "words", (), note),
        Bound("closed_form_words", source, expected, "words"),
        bound,
        Bound("peak_words", source, Fraction(run.memory.peak_words), "words"),
        Bound("updates", "001 §2.1", run.updates, "updates"),
        Bound("result_equals_direct_convolution", "001 eq. (1)", int(right), "1"),
    ]
    records += [Bound(f"{array}_loaded", source, run.memory.loaded[array], "elements") for array in ARRAYS]
    records.append(Bound(f"{OUTPUT}_stored", source, run.memory.stored[OUTPUT], "elements"))
    return tuple(records), draw_steps(run)


def draw_steps(run: ConvExecution, columns: int = DRAWN_STEPS) -> str:
    """Return a row per array and a column per block: ``#`` loaded, ``+`` started at zero, ``·`` kept.

    The last row shows ``S`` where the outputs of the block before were stored.
    """
    shown = run.steps[:columns]
    if not shown:
        return ""
    more = " …" if len(run.steps) > columns else ""
    lines = [f"{array:<8}{''.join('#' if step.loaded.get(array) else '·' for step in shown)}{more}" for array in ARRAYS]
    # An output block that is new but not loaded starts at zero: it follows a store, or is the first.
    stored = [bool(step.stored.get(OUTPUT)) for step in shown]
    last = len(run.steps) - 1
    row = [
        "#" if step.loaded.get(OUTPUT) else "+" if (stored[i] or i == 0) and i != last else "·"
        for i, step in enumerate(shown)
    ]
    lines[-1] = f"{OUTPUT:<8}{''.join(row)}{more}"
    lines.append(f"{'':<8}{''.join('S' if flag else ' ' for flag in stored)}".rstrip())
    return "\n".join(lines)
