"""An executed convolution as records beside its closed form and the lower bound, and as a picture in text."""

from enum import StrEnum
from fractions import Fraction

import numpy as np

from jouleloop.theory.bound import Bound
from jouleloop.theory.convolution.blocking import BlockedVolume, best_order
from jouleloop.theory.convolution.blocking_search import best_blocking, solve_blocking_lp
from jouleloop.theory.convolution.bounds import find_bound, single_processor_bounds
from jouleloop.theory.convolution.execute_blocking import (
    ConvExecution,
    direct_convolution,
    execute_blocking,
    execute_naive,
    require_runnable,
    sample_operands,
)
from jouleloop.theory.convolution.layer import ARRAYS, OUTPUT, Precisions
from jouleloop.theory.convolution.volumes import naive_volume
from jouleloop.theory.layers import ConvLayer

DRAWN_STEPS = 60


class ConvSchedule(StrEnum):
    """Which convolution schedule to run."""

    BEST = "best-blocking"
    ROUNDED_LP = "rounded-lp"
    NAIVE = "naive"


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
    if schedule is ConvSchedule.NAIVE:
        run = execute_naive(layer, precisions, memory, operands=operands)
        expected, source, note = naive_volume(layer, precisions).words, "001 eq. (1)", "three elements of fast memory"
    else:
        volume = _volume(layer, precisions, memory, schedule)
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


def _volume(layer: ConvLayer, precisions: Precisions, memory: str, schedule: ConvSchedule) -> BlockedVolume:
    if schedule is ConvSchedule.BEST:
        return best_blocking(layer, precisions, memory)
    return best_order(layer, precisions, solve_blocking_lp(layer, precisions, memory))
