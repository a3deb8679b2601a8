"""Figure of the theory of loop nests: bounds beside the cheapest executed schedule of thin matrix products."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from jouleloop.columns import read_table
from jouleloop.layouts import declared
from jouleloop.theory.loop_nest.tables import CACHE_WORDS, SIDE


def draw_thin(path: Path) -> Figure:
    """Draw the table at ``path``: bounds below and the executed schedule above, by the third loop bound."""
    table = read_table(path, declared()["theory/nest/<table>"])[0]
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        for column, label, style in (
            ("executed_words", "cheapest tiled schedule, executed", "o-k"),
            ("bound_with_constants_words", "lower bound, constants kept", "-C0"),
            ("theorem_2_words", "Theorem 2 (constants dropped)", "--C0"),
            ("large_bounds_words", "large-bound formula, Section 3", ":C3"),
        ):
            axes.plot(table["l3_iterations"], table[column], style, label=label, markersize=3)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="third loop bound L₃ (iterations)",
            ylabel="communication (words)",
            title=f"{SIDE} × {SIDE} × L₃ matrix multiplication, cache of {CACHE_WORDS} words",
        )
        axes.legend(frameon=False)
    return figure
