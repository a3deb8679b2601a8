"""Figures of the convolution theory: volumes over memory sizes and processors (001 Figures 2 and 3)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jouleloop.columns import read_table
from jouleloop.layouts import declared
from jouleloop.theory.convolution.parallel import PARALLEL_ALGORITHMS
from jouleloop.theory.convolution.volumes import ALGORITHMS

# Label, colour and style of the line of each algorithm.
_LINES = {
    "blocking": ("blocking", "#b2182b", "-"),
    "blocking_rounded_lp": ("blocking (rounded LP)", "#ef8a62", "--"),
    "im2col": ("im2col", "#2166ac", "-"),
    "im2col_with_lowering": ("im2col with lowering", "#67a9cf", "--"),
    "winograd": ("Winograd", "#1b7837", "-"),
    "fft": ("FFT", "#762a83", "-"),
    "naive": ("naive", "#7f7f7f", "-"),
}


def draw_memory(path: Path) -> Figure:
    """Draw the table at ``path``: volumes over the bound by memory size, a panel per layer (after 001 Figure 2)."""
    table = read_table(path, declared()["theory/conv/<table>"])[0]
    layers = list(dict.fromkeys(table["layer"]))
    figure, panels = _panels(len(layers), "fast memory M, words")
    for panel, layer in zip(panels, layers, strict=True):
        rows = table[table["layer"] == layer]
        _lines(panel, rows, "memory_words", "ratio_to_bound", ALGORITHMS)
        panel.axhline(1, color="black", linewidth=1, linestyle="--", label="lower bound (Theorem 2.1)")
        changed = rows.drop_duplicates("memory_words")
        for before, after, memory in zip(
            changed["active_term"], changed["active_term"][1:], changed["memory_words"][1:], strict=False
        ):
            if before != after:
                panel.axvline(memory, color="black", linewidth=0.6, linestyle=":", label="another term leads")
        panel.set_title(layer)
    panels[0].set_ylabel("words moved / lower bound")
    return _with_legend(figure, panels[0])


def draw_processors(path: Path) -> Figure:
    """Draw the table at ``path``: words received and their ratio to the bound by processors (after 001 Figure 3)."""
    table = read_table(path, declared()["theory/conv/<table>"])[0]
    layers = list(dict.fromkeys(table["layer"]))
    figure, panels = _panels(len(layers), "processors P", rows=2)
    for column, layer in enumerate(layers):
        rows = table[table["layer"] == layer]
        above, below = panels[column], panels[len(layers) + column]
        _lines(above, rows, "processors", "received_words", PARALLEL_ALGORITHMS)
        bound = rows.drop_duplicates("processors")
        # A missing value breaks the line where the bound says nothing.
        positive = bound["lower_bound_words"].where(bound["lower_bound_words"] > 0)
        above.plot(
            bound["processors"],
            positive,
            color="black",
            linestyle="--",
            linewidth=1,
            label="lower bound (Theorems 2.2, 2.3)",
        )
        _lines(below, rows, "processors", "ratio_to_bound", PARALLEL_ALGORITHMS)
        below.axhline(1, color="black", linewidth=1, linestyle="--")
        above.set_title(layer)
    panels[0].set_ylabel("words received by the busiest processor")
    panels[len(layers)].set_ylabel("words received / lower bound")
    return _with_legend(figure, panels[0])


def _panels(count: int, xlabel: str, *, rows: int = 1) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(3.1 * count, 1.0 + 3.1 * rows), layout="constrained")
    grid = figure.subplots(rows, count, squeeze=False, sharey="row", sharex=True)
    panels = [panel for line in grid for panel in line]
    for panel in panels:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.grid(visible=True, linewidth=0.3)
    for panel in grid[-1]:
        panel.set_xlabel(xlabel)
    return figure, panels


def _lines(panel: Axes, rows: pd.DataFrame, x: str, y: str, algorithms: Sequence[str]) -> None:
    for algorithm in algorithms:
        line = rows[(rows["algorithm"] == algorithm) & rows[y].gt(0)]
        label, colour, style = _LINES[algorithm]
        points = line[x], line[y]
        panel.plot(*points, color=colour, linestyle=style, linewidth=1.2, marker=".", markersize=3, label=label)


def _with_legend(figure: Figure, legend_of: Axes) -> Figure:
    named = {label: handle for handle, label in zip(*legend_of.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=len(named), fontsize="small")
    return figure
