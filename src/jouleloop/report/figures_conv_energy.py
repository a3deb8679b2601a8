"""Convolutions beside theory: DRAM words and the two dataflows of theory, and what imperfect factors save."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from jouleloop.report.selection import architectures_of, require_columns
from jouleloop.report.style import (
    BLACK,
    BLUE,
    FIT,
    GREEN,
    ORANGE,
    ReportFigure,
    log_ticks,
    new_figure,
    response_axis,
    spans_decades,
    styled,
    variable_axis,
)
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.expression import evaluate_variable

_LINES = {
    "theory_write_once_outputs_words": ("write-once outputs, one map", ORANGE, "-"),
    "theory_read_once_inputs_words": ("read-once inputs, one map", GREEN, "-"),
    "theory_lower_bound_words": ("lower bound, whole chip", FIT, "--"),
}


def conv_energy_figure(table: pd.DataFrame, sweep: SweepDescription) -> ReportFigure:
    """Draw DRAM words against the variable of a sweep, a panel an architecture, logarithmically.

    A sweep without a row (layers of several groups, say) gets a figure that says so.

    Raises `InputError` for a table of another kind.

    ``table`` is that of `jouleloop.tables.conv_energy.conv_energy_table`.
    """
    require_columns(table, ["sweep"])
    if sweep.name not in set(table["sweep"]):
        return _without_theory(sweep)
    require_columns(table, ["dram_words", "ratio_to_lower_bound", *_LINES])
    names = architectures_of(table, sweep.name)
    counted = []
    with styled():
        figure, axes = new_figure(1, len(names), sharey=True)
        for panel, name in zip(axes[0], names, strict=True):
            rows = table[(table["sweep"] == sweep.name) & (table["architecture"] == name)]
            x = evaluate_variable(sweep.variable, rows)
            order = np.argsort(x, kind="stable")
            rows, x = rows.iloc[order], x[order]
            for column, (label, colour, dashes) in _LINES.items():
                # Layers in no order, such as random ones, have no line.
                style = "_" if spans_decades(x) else dashes
                panel.plot(x, rows[column].to_numpy(np.float64), style, color=colour, lw=1, ms=2.5, label=label)
            measured = rows["dram_words"].to_numpy(np.float64)
            panel.plot(x, measured, "o", ms=1.2 if spans_decades(x) else 2.5, color=BLUE, label="measured")
            panel.set_yscale("log")
            panel.set_title(str(name).capitalize())
            log_ticks(panel.yaxis)
            variable_axis(panel, sweep.label, x)
            ratio = rows["ratio_to_lower_bound"].to_numpy(np.float64)
            counted.append(
                f"{str(name).capitalize()} n = {len(rows)}, {int((ratio < 1).sum())} below the bound, measured / bound "
                f"{ratio.min():.3g} to {ratio.max():.3g}"
            )
        axes[0][0].set_ylabel("words from and to DRAM")
        figure.legend(handles=axes[0][0].get_lines(), loc="outside lower center", ncols=4, columnspacing=1)
    caption = (
        f"Question: how near is the DRAM traffic of the best mappings of sweep {sweep.name} to theory? Dots are "
        "measured; lines are the two dataflows of the energy model for convolutions with the Buffer it assumes (one "
        "map), dashed what no dataflow with all memory of the chip is below. Unit: words. "
        f"{'; '.join(counted)}. Decision rule: a layer below the dashed line would refute the bound or the measurement."
    )
    return ReportFigure("theory", figure, caption)


def _without_theory(sweep: SweepDescription) -> ReportFigure:
    text = "no layer of one group, one sample and one stride on both axes"
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        panel.axis("off")
        panel.text(0.5, 0.5, text, ha="center", va="center", transform=panel.transAxes)
    return ReportFigure(
        "theory", figure, f"The energy model for convolutions says nothing of sweep {sweep.name}: {text}."
    )


def imperfect_figure(table: pd.DataFrame, pairs: Mapping[str, str], sweep: SweepDescription) -> ReportFigure | None:
    """Draw the data energy of a sweep, a panel an architecture; None where the sweep has no row with a bound.

    ``table`` is ``theory_conv_energy``; ``pairs`` are architectures with perfect factors, and the same with imperfect
    ones.
    """
    rows = table[table["sweep"] == sweep.name]
    shown = [pair for pair in pairs.items() if set(pair) <= set(rows["architecture"])]
    if not shown:
        return None
    saved = []
    with styled():
        figure, axes = new_figure(1, len(shown))
        for panel, (perfect, imperfect) in zip(axes[0], shown, strict=True):
            largest = 0.0
            for name, colour, label in ((perfect, ORANGE, "perfect factors"), (imperfect, BLUE, "imperfect factors")):
                mine = rows[rows["architecture"] == name]
                x, data_pj = evaluate_variable(sweep.variable, mine), mine["data_pj"].to_numpy(np.float64)
                face = "none" if name == perfect else colour
                panel.plot(x, data_pj, "o", ms=2.5, mfc=face, color=colour, label=label)
                largest = max(largest, float(data_pj.max()))
            bound_pj = (mine["theory_lower_bound_words"] * mine["dram_pj_per_word"]).to_numpy(np.float64)
            order = np.argsort(x, kind="stable")
            panel.plot(x[order], bound_pj[order], "--", lw=1, color=BLACK, label="DRAM words of theory's bound")
            variable_axis(panel, sweep.label, x)
            response_axis(panel.yaxis, "pJ", "data energy", largest)
            panel.set_ylim(bottom=0)
            panel.set_title(str(perfect).capitalize())
            both = rows.pivot_table(index="layer", columns="architecture", values="data_pj")
            both = both[[perfect, imperfect]].dropna()
            less = 1 - both[imperfect] / both[perfect]
            saved.append(
                f"{str(perfect).capitalize()} n = {len(both)}, imperfect factors save {100 * less.mean():.2g} % on "
                f"average and {100 * less.max():.2g} % at most"
            )
        figure.legend(handles=axes[0][0].get_lines(), loc="outside lower center", ncols=3, columnspacing=1)
    caption = (
        f"Question: what do loops that need not divide save on sweep {sweep.name}? Circles are the cheapest mappings "
        "with perfect factors, dots those with imperfect ones; dashed is what theory's least DRAM words cost. Unit: J. "
        f"{'; '.join(saved)}. Decision rule: none, no test is made here."
    )
    return ReportFigure("imperfect", figure, caption)
