"""Pictures and tables of the Manticore theory: schedules as text and SVG, CCR against stack, printed numbers."""

import textwrap
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from jouleloop.errors import Fault, InputError
from jouleloop.files import replacing
from jouleloop.theory.manticore.execute import run_checked
from jouleloop.theory.manticore.formulas import compute_to_communication, printed_ccr, traffic
from jouleloop.theory.manticore.layer import ConvLayer, FcLayer, Layer, Machine
from jouleloop.theory.manticore.machine import Event
from jouleloop.theory.manticore.memory import prefetching_local_words, stack_limit
from jouleloop.theory.manticore.printed import TYPICAL_CONV, PrintedNumber, typical_fc

SYMBOLS = {"load": "M", "receive": "N", "compute": "·", "store": "S", "reduce": "+"}
_COLOURS = {"load": "#b2182b", "receive": "#2166ac", "compute": "#d9d9d9", "store": "#1b7837", "reduce": "#762a83"}
_MEANING = {
    "load": "input slice from main memory",
    "receive": "input slice from a neighbour",
    "compute": "compute",
    "store": "store",
    "reduce": "add a neighbour's volume",
}
MAX_DRAWN_EVENTS = 20_000


def schedule_cells(events: Iterable[Event]) -> dict[tuple[int, int], Event]:
    """Return for every (cluster, round) the event that says most: main memory before neighbours before computing."""
    rank = {"reduce": 4, "store": 3, "load": 2, "receive": 1, "compute": 0}
    cells: dict[tuple[int, int], Event] = {}
    for event in events:
        if event.action == "load" and event.operand.startswith("F"):
            continue
        cell = (event.cluster, event.round)
        if cell not in cells or rank[event.action] > rank[cells[cell].action]:
            cells[cell] = event
    return cells


def draw_text(events: Sequence[Event], *, columns: int = 24, rows: int = 32) -> str:
    """Return the schedule as text, a row a cluster and a column a round.

    ``M3`` is input slice 3 from main memory, ``N3`` the same from a neighbour, ``·`` computing, ``S`` storing, and
    ``+5`` adding the private volume of cluster 5.
    """
    cells = schedule_cells(events)
    clusters = sorted({cluster for cluster, _ in cells})
    last = max((round_ for _, round_ in cells), default=0)
    shown = range(1, min(last, columns) + 1)
    text = StringIO()
    text.write("cluster " + "".join(f"{round_:>5}" for round_ in shown) + (" …" if last > columns else "") + "\n")
    for cluster in clusters[:rows]:
        row = "".join(f"{_label(cells.get((cluster, round_))):>5}" for round_ in shown)
        text.write(f"{cluster:>7} {row}\n")
    if len(clusters) > rows:
        text.write(f"… and {len(clusters) - rows} more clusters\n")
    text.write("M from main memory, N from a neighbour, · compute, S store, + add the volume of that cluster\n")
    return text.getvalue()


def _label(event: Event | None) -> str:
    if event is None:
        return ""
    if event.action == "reduce":
        return f"+{event.source}"
    if event.operand.startswith("I") and event.action in ("load", "receive"):
        return SYMBOLS[event.action] + event.operand.partition("[")[2].partition("]")[0]
    return SYMBOLS[event.action]


def draw_svg(events: Sequence[Event], path: Path, title: str) -> None:
    """Write the schedule as SVG: clusters down, rounds across, coloured by where the words come from.

    Raises
    ------
    InputError
        If there are too many events to draw.
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
    for action, colour in _COLOURS.items():
        chosen = [(cluster, round_) for (cluster, round_), event in cells.items() if event.action == action]
        if chosen:
            axes.barh([clusters[c] for c, _ in chosen], 1, left=[r - 0.5 for _, r in chosen], height=0.9, color=colour)
    if last <= 64:
        for (cluster, round_), event in cells.items():
            label = _label(event)
            if label not in ("·", ""):
                axes.text(round_, clusters[cluster], label, ha="center", va="center", fontsize=5, color="white")
    axes.set(xlabel="round", ylabel="cluster", yticks=list(clusters.values()))
    # Of the figure and wrapped, since the axes of a short schedule are narrower than its title.
    figure.suptitle("\n".join(textwrap.wrap(title, max(20, int(9 * figure.get_figwidth())))), fontsize="medium")
    axes.set_yticklabels([str(cluster) for cluster in clusters], fontsize=6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlim=(0.5, last + 0.5), ylim=(len(clusters) - 0.4, -0.6))
    used = {event.action for event in cells.values()}
    handles = [Patch(color=_COLOURS[action], label=_MEANING[action]) for action in _COLOURS if action in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7)
    _save(figure, path)


def printed_table(numbers: Iterable[PrintedNumber]) -> pd.DataFrame:
    """Return printed and recomputed numbers as a table with relative deviations."""
    return pd.DataFrame(
        [
            {
                "name": number.name,
                "source": number.source,
                "unit": number.unit,
                "printed": number.printed,
                "by_formula": float(number.by_formula),
                "relative_deviation_of_formula": number.deviation_of_formula,
                "actual": float(number.actual),
                "relative_deviation_of_actual": number.deviation_of_actual,
                "rounds_to_printed": number.rounds_to_printed,
                "note": number.note,
            }
            for number in numbers
        ]
    )


def draw_ccr(conv: ConvLayer, fc: FcLayer, path: Path) -> None:
    """Draw the CCR of Algorithms 2, 3 and 5 against the stack, right and as printed, with the stack limits."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for algorithm, colour in ((2, "#b2182b"), (3, "#2166ac")):
        stacks = range(1, conv.output_depth + 1)
        actual = [float(compute_to_communication(conv, algorithm, stack)) for stack in stacks]
        left.plot(stacks, actual, color=colour, label=f"Algorithm {algorithm}")
        if algorithm == 3:
            formula = [float(printed_ccr(conv, algorithm, stack)) for stack in stacks]
            left.plot(stacks, formula, color=colour, linestyle=":", label="Algorithm 3 by eq. (10)")
        _stack_limits(left, conv, algorithm, colour)
    left.set(xlabel="stack of output depth slices Δ$_O$", ylabel="CCR [MAC/word]", title="Convolution", xlim=(1, 64))
    stacks = range(1, fc.output_depth + 1, 16)
    ratios = [float(compute_to_communication(fc, 5, stack)) for stack in stacks]
    right.plot(stacks, ratios, color="#1b7837", label="Algorithm 5")
    _stack_limits(right, fc, 5, "#1b7837")
    right.set(xlabel="stack of output depth slices Δ$_O$", ylabel="CCR [MAC/word]", title="Fully connected")
    right.set_xlim(1, fc.output_depth)
    for axes in (left, right):
        axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
    _save(figure, path)


def _stack_limits(axes: Axes, layer: Layer, algorithm: int, colour: str) -> None:
    for precision, word_bytes, style in (("single", 4, "--"), ("double", 8, "-.")):
        limit = stack_limit(layer, algorithm, word_bytes).slices_that_fit
        label = f"Algorithm {algorithm}: limit {limit} ({precision})"
        axes.axvline(limit, color=colour, alpha=0.6, linewidth=0.8, linestyle=style, label=label)


EXECUTED_GRID: tuple[tuple[Layer, int, int], ...] = (
    *((TYPICAL_CONV, algorithm, stack) for algorithm, stack in ((1, 1), (2, 24), (2, 12), (3, 23), (3, 11), (3, 8))),
    *((ConvLayer(16, 48, 100, 5, 1, 2), algorithm, stack) for algorithm, stack in ((1, 1), (2, 7), (3, 7), (3, 2))),
    *((ConvLayer(15, 33, 300, 3, 2, 0), algorithm, stack) for algorithm, stack in ((1, 1), (2, 13), (3, 13), (3, 1))),
    *((FcLayer(7, 150, 96, 32), algorithm, stack) for algorithm, stack in ((4, 96), (5, 40), (5, 1))),
    *((FcLayer(1, 257, 130, 8), algorithm, stack) for algorithm, stack in ((4, 130), (5, 48))),
)
"""Layers, algorithms and stacks of `executed_table`: the typical layers of the paper and non-divisible ones."""


def executed_table() -> pd.DataFrame:
    """Execute every case of `EXECUTED_GRID` and return counted beside computed values, one row a quantity."""
    rows = []
    for layer, algorithm, stack in EXECUTED_GRID:
        checked = run_checked(layer, algorithm, stack=stack)
        counts, expected = checked.run.counts, traffic(layer, algorithm, stack)
        for quantity, unit, counted, computed in (
            ("inputs loaded", "words", counts.input_words_loaded, expected.input_words_loaded),
            ("filters loaded", "words", counts.filter_words_loaded, expected.filter_words_loaded),
            ("outputs stored", "words", counts.output_words_stored, expected.output_words_stored),
            ("exchanged", "words", counts.words_exchanged, expected.words_exchanged),
            ("computed", "MAC", counts.macs, expected.macs),
            (
                "local memory at its peak",
                "words",
                counts.peak_local_words,
                prefetching_local_words(layer, algorithm, stack),
            ),
        ):
            rows.append(
                {
                    "algorithm": algorithm,
                    "layer": str(layer),
                    "stack": stack,
                    "quantity": quantity,
                    "unit": unit,
                    "executed": counted,
                    "closed_form": computed,
                    "equal": counted == computed,
                    "result_is_right": checked.result_is_right,
                }
            )
    return pd.DataFrame(rows)


def draw_figures(ccr: Path, conv: Path, fc: Path) -> None:
    """Draw the CCR against the stack, and one executed schedule each of Algorithm 3 and Algorithm 5."""
    draw_ccr(TYPICAL_CONV, typical_fc(4096), ccr)
    ring = run_checked(ConvLayer(8, 36, 20, 3, 1, 1), 3, stack=1, record=True)
    draw_svg(ring.run.events, conv, "Algorithm 3: 16 clusters of one L2 quadrant pass on 36 input slices, 4 begin anew")
    tree = run_checked(FcLayer(3, 8, 12, 4), 5, stack=6, machine=Machine(2, 2, 2, 1), record=True)
    draw_svg(tree.run.events, fc, "Algorithm 5 on 8 clusters: two stacks, each reduced along the tree")


def _save(figure: Figure, path: Path) -> None:
    # A fixed salt and no date make the file the same in every run.
    with replacing(path) as temporary, mpl.rc_context({"svg.hashsalt": "jouleloop", "svg.fonttype": "none"}):
        figure.savefig(temporary, metadata={"Date": None} if path.suffix == ".svg" else None)
