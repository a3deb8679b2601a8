"""The figure of a sweep of chains: words outside against the size that varies, fused and apart."""

import pandas as pd
from matplotlib.lines import Line2D

from jouleloop.report.style import BLACK, SERIES, ReportFigure, legend_below, log_ticks, new_figure, styled

#: Variants that have a colour of their own.
_MOST = len(SERIES)


def chains_figure(table: pd.DataFrame, growth: pd.DataFrame, variable: str, name: str) -> ReportFigure:
    """Return words at the outermost level against the variable: a colour a variant, dashed where layers are apart.

    A vertical line stands where fused words stop growing as expected, exactly.
    """
    with styled():
        figure, [[words, share]] = new_figure(1, 2)
        handles = []
        variants = list(dict.fromkeys(table["variant"]))
        for colour, variant in zip(SERIES, variants[:_MOST], strict=False):
            rows = table[(table["variant"] == variant) & table["fused_pj"].notna()].sort_values(
                f"size_{variable}", kind="stable"
            )
            sizes = rows[f"size_{variable}"].astype(float)
            words.plot(sizes, rows["fused_outer_words"].astype(float), color=colour, marker="o", markersize=2)
            words.plot(sizes, rows["apart_outer_words"].astype(float), color=colour, linestyle="--", linewidth=0.8)
            share.plot(sizes, rows["fused_pj"] / rows["apart_pj"], color=colour, marker="o", markersize=2)
            handles.append(Line2D([], [], color=colour, label=variant or "fused"))
            for turn in _turns(growth, variant):
                words.axvline(turn, color=colour, linewidth=0.5, linestyle=":")
        handles.append(Line2D([], [], color=BLACK, linestyle="--", linewidth=0.8, label="layers apart"))
        for panel, label in ((words, "words outside [words]"), (share, "energy, fused over apart")):
            panel.set_xscale("log")
            panel.set_xlabel(variable)
            panel.set_ylabel(label)
            log_ticks(panel.xaxis)
        words.set_yscale("log")
        log_ticks(words.yaxis)
        share.set_ylim(bottom=0.0)
        legend_below(words, handles, ncols=2)
        proven = int(table["proven"].fillna(False).astype(bool).sum())
        caption = (
            f"Question: how do words outside and energy of the chains of {name} grow with {variable}, fused and apart? "
            f"Left words at the outermost level, right energy as a share. n: {len(table)} chains, {proven} proven. "
            "A dotted line: up to there fused words are one multiple of the expected power, in exact integers. "
            "Decision rule: none here; the tests stand in the table chain_growth."
        )
        return ReportFigure(f"chains_{name}", figure, caption)


def _turns(growth: pd.DataFrame, variant: str) -> list[float]:
    if growth.empty:
        return []
    rows = growth[(growth["variant"] == variant) & (growth["response"] == "fused_outer_words")]
    rows = rows[rows["range"].eq("all") & rows["exact_to"].lt(rows["most"])]
    return [float(value) for value in rows["exact_to"]]
