"""Tables and figures of the Manticore theory: executions, schedules, the CCR, and the numbers that paper 003 prints."""

import csv
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from jouleloop.errors import Fault, InputError
from jouleloop.files import read_text
from jouleloop.theory.layers import ConvLayer
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.formulas import compute_to_communication, flop_per_byte, printed_traffic, traffic
from jouleloop.theory.manticore.layer import (
    MANTICORE,
    FullyConnected,
    Machine,
    conv_layer,
    describe,
    fc_layer,
    minimum_local_words,
    prefetching_local_words,
    stack_limit,
)
from jouleloop.theory.manticore.machine import Event, Options, event_label, schedule_cells

TYPICAL_CONV = conv_layer(input_width=32, input_depth=128, output_depth=128, filter_width=3, stride=1, padding=1)
"""The "typical" convolutional layer of sections 2.1.2 to 2.3.4."""


def typical_fc(output_depth: int) -> FullyConnected:
    """Return the "typical" fully-connected layer of section 3 (W_I = 7, B = 32; its D_I is never stated, 512 here)."""
    return fc_layer(input_width=7, input_depth=512, output_depth=output_depth, batch=32)


EXECUTED_GRID: tuple[tuple[ConvLayer, int, int], ...] = (
    *((TYPICAL_CONV, algorithm, stack) for algorithm, stack in ((1, 1), (2, 24), (2, 12), (3, 23), (3, 11), (3, 8))),
    *((conv_layer(16, 48, 100, 5, 1, 2), algorithm, stack) for algorithm, stack in ((1, 1), (2, 7), (3, 7), (3, 2))),
    *((conv_layer(15, 33, 300, 3, 2, 0), algorithm, stack) for algorithm, stack in ((1, 1), (2, 13), (3, 13), (3, 1))),
    *((fc_layer(7, 150, 96, 32), algorithm, stack) for algorithm, stack in ((4, 96), (5, 40), (5, 1))),
    *((fc_layer(1, 257, 130, 8), algorithm, stack) for algorithm, stack in ((4, 130), (5, 48))),
)
"""Layers, algorithms and stacks of `executed_table`: the typical layers of the paper and non-divisible ones."""


def executed_table() -> pd.DataFrame:
    """Execute every case of `EXECUTED_GRID` and return counted beside computed values, one row a quantity."""
    rows = []
    for layer, algorithm, stack in EXECUTED_GRID:
        run = run_checked(layer, algorithm, stack)
        counts, expected = run.counts, traffic(layer, algorithm, stack)
        peak = prefetching_local_words(layer, algorithm, stack)
        for quantity, unit, counted, computed in (
            ("inputs loaded", "words", counts.input_words_loaded, expected.input_words_loaded),
            ("filters loaded", "words", counts.filter_words_loaded, expected.filter_words_loaded),
            ("outputs stored", "words", counts.output_words_stored, expected.output_words_stored),
            ("exchanged", "words", counts.words_exchanged, expected.words_exchanged),
            ("computed", "MAC", counts.macs, expected.macs),
            ("local memory at its peak", "words", counts.peak_local_words, peak),
        ):
            rows.append(
                {
                    "algorithm": algorithm,
                    "layer": describe(layer),
                    "stack": stack,
                    "quantity": quantity,
                    "unit": unit,
                    "executed": counted,
                    "closed_form": computed,
                    "equal": counted == computed,
                    "result_is_right": run.result_is_right,
                }
            )
    return pd.DataFrame(rows)


# Colour and meaning of each action.
_ACTIONS = {
    "load": ("#b2182b", "input slice from main memory"),
    "receive": ("#2166ac", "input slice from a neighbour"),
    "compute": ("#d9d9d9", "compute"),
    "store": ("#1b7837", "store"),
    "reduce": ("#762a83", "add a neighbour's volume"),
}
MAX_DRAWN_EVENTS = 20_000


def draw_schedule(events: Sequence[Event], title: str) -> Figure:
    """Draw the schedule: clusters down, rounds across, coloured by where the words come from.

    Raises `InputError` if there are too many events to draw.
    """
    cells = schedule_cells(events)
    if len(cells) > MAX_DRAWN_EVENTS:
        raise InputError(
            Fault("too many steps to draw", field="svg", value=len(cells), allowed=f"at most {MAX_DRAWN_EVENTS}")
        )
    clusters = {cluster: row for row, cluster in enumerate(sorted({cluster for cluster, _ in cells}))}
    last = max((round_ for _, round_ in cells), default=1)
    figure = Figure(figsize=(min(16, 2 + last * 0.25), min(20, 1.5 + len(clusters) * 0.25)), layout="constrained")
    axes = figure.add_subplot()
    for action, (colour, _) in _ACTIONS.items():
        chosen = [(cluster, round_) for (cluster, round_), event in cells.items() if event.action == action]
        if chosen:
            axes.barh([clusters[c] for c, _ in chosen], 1, left=[r - 0.5 for _, r in chosen], height=0.9, color=colour)
    if last <= 64:
        for (cluster, round_), event in cells.items():
            label = event_label(event)
            if label not in ("·", ""):
                axes.text(round_, clusters[cluster], label, ha="center", va="center", fontsize=5, color="white")
    axes.set(xlabel="round", ylabel="cluster", yticks=list(clusters.values()))
    # Of the figure and wrapped, since the axes of a short schedule are narrower than its title.
    figure.suptitle("\n".join(textwrap.wrap(title, max(20, int(9 * figure.get_figwidth())))), fontsize="medium")
    axes.set_yticklabels([str(cluster) for cluster in clusters], fontsize=6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlim=(0.5, last + 0.5), ylim=(len(clusters) - 0.4, -0.6))
    used = {event.action for event in cells.values()}
    handles = [Patch(color=colour, label=text) for action, (colour, text) in _ACTIONS.items() if action in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7)
    return figure


def draw_ccr() -> Figure:
    """Draw the CCR of Algorithms 2, 3 and 5 against the stack, right and as printed, with the stack limits."""
    conv, fc = TYPICAL_CONV, typical_fc(4096)
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for algorithm, colour in ((2, "#b2182b"), (3, "#2166ac")):
        stacks = range(1, conv.out_channels + 1)
        actual = [float(compute_to_communication(conv, traffic(conv, algorithm, stack))) for stack in stacks]
        left.plot(stacks, actual, color=colour, label=f"Algorithm {algorithm}")
        if algorithm == 3:
            formula = [
                float(compute_to_communication(conv, printed_traffic(conv, algorithm, stack))) for stack in stacks
            ]
            left.plot(stacks, formula, color=colour, linestyle=":", label="Algorithm 3 by eq. (10)")
        _stack_limits(left, conv, algorithm, colour)
    left.set(xlabel="stack of output depth slices Δ$_O$", ylabel="CCR [MAC/word]", title="Convolution", xlim=(1, 64))
    stacks = range(1, fc.out_channels + 1, 16)
    ratios = [float(compute_to_communication(fc, traffic(fc, 5, stack))) for stack in stacks]
    right.plot(stacks, ratios, color="#1b7837", label="Algorithm 5")
    _stack_limits(right, fc, 5, "#1b7837")
    right.set(xlabel="stack of output depth slices Δ$_O$", ylabel="CCR [MAC/word]", title="Fully connected")
    right.set_xlim(1, fc.out_channels)
    for axes in (left, right):
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    return figure


def _stack_limits(axes: Axes, layer: ConvLayer, algorithm: int, colour: str) -> None:
    for precision, word_bytes, style in (("single", 4, "--"), ("double", 8, "-.")):
        limit = stack_limit(layer, algorithm, word_bytes).slices_that_fit
        label = f"Algorithm {algorithm}: limit {limit} ({precision})"
        axes.axvline(limit, color=colour, alpha=0.6, linewidth=0.8, linestyle=style, label=label)


def draw_ring() -> Figure:
    """Draw an executed schedule of Algorithm 3: the ring of one L2 quadrant."""
    run = run_checked(conv_layer(8, 36, 20, 3, 1, 1), 3, 1, options=Options(record=True))
    return draw_schedule(
        run.events, "Algorithm 3: 16 clusters of one L2 quadrant pass on 36 input slices, 4 begin anew"
    )


def draw_tree() -> Figure:
    """Draw an executed schedule of Algorithm 5: stacks reduced along the tree of networks."""
    options = Options(Machine(2, 2, 2, 1), record=True)
    run = run_checked(fc_layer(3, 8, 12, 4), 5, 6, options=options)
    return draw_schedule(run.events, "Algorithm 5 on 8 clusters: two stacks, each reduced along the tree")


KIB = 1024


def printed_table() -> pd.DataFrame:
    """Return every checkable number in the text of paper 003, in its order, as ``printed_numbers.csv`` lists them.

    Beside each is what the paper's own formula gives, and what the algorithm really moves or needs (executed schedules
    agree), with relative deviations from what is printed; and whether the formula rounds to the printed decimal, either
    way in the last digit's tie.
    """
    rows = csv.DictReader(read_text(Path(__file__).with_name("printed_numbers.csv")).splitlines())
    found = []
    for row in rows:
        numbers = (int(row[column]) for column in ("algorithm", "stack", "word_bytes"))
        formula, actual = map(Fraction, _values(row["quantity"], *numbers))
        printed = Fraction(row["printed"])
        last_digit = Fraction(1, 10 ** len(row["printed"].partition(".")[2]))
        found.append(
            {
                **{name: row[name] for name in ("name", "source", "unit", "printed")},
                "by_formula": float(formula),
                "relative_deviation_of_formula": float(formula / printed - 1),
                "actual": float(actual),
                "relative_deviation_of_actual": float(actual / printed - 1),
                "rounds_to_printed": abs(formula - printed) <= last_digit / 2,
                "note": row["note"],
            }
        )
    return pd.DataFrame(found)


def _values(quantity: str, algorithm: int, stack: int, word_bytes: int) -> tuple[Fraction | int, Fraction | int]:
    """Return a quantity of a typical layer by the paper's formula and by the definitions, in the unit of its row."""
    layer = TYPICAL_CONV if algorithm <= 3 else typical_fc(stack if algorithm == 4 else 4096)
    need, limit = minimum_local_words(layer, algorithm, stack), stack_limit(layer, algorithm, word_bytes)
    moved = traffic(layer, algorithm, stack)
    formula = compute_to_communication(layer, printed_traffic(layer, algorithm, stack))
    actual = compute_to_communication(layer, moved)
    values: dict[str, Fraction | int | tuple[Fraction | int, Fraction | int]] = {
        "memory words": need,
        "memory": Fraction(word_bytes * need, KIB),
        "in flight": Fraction(MANTICORE.dma_buffer_bytes, KIB),
        "buffers": Fraction(3 * MANTICORE.dma_buffer_bytes, KIB),
        "memory left": Fraction(limit.free_bytes, KIB),
        "stack limit": (limit.slices, limit.slices_that_fit),
        "CCR": (formula, actual),
        "CCR per byte": (flop_per_byte(formula, word_bytes), flop_per_byte(actual, word_bytes)),
        "volumes exchanged": Fraction(moved.words_exchanged, layer.out_channels * layer.batch),
    }
    found = values[quantity]
    return found if isinstance(found, tuple) else (found, found)
