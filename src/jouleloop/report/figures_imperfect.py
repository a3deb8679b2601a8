"""What loops that need not divide save on a sweep of convolutions, between perfect factors and theory's lower bound."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from jouleloop.report.style import BLACK, BLUE, ORANGE, ReportFigure, new_figure, response_axis, styled, variable_axis
from jouleloop.stats.cases import SweepDescription
from jouleloop.stats.expression import evaluate_variable


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
