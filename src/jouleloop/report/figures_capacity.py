"""Figures of sweeps of a capacity: the optimum against the words of one memory, and what near the least takes."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from jouleloop.report.style import BLACK, SERIES, ReportFigure, legend_below, log_ticks, new_figure, styled

_LINES = ("-", "--", ":", "-.")
#: Labels of a panel above which they are left to the table.
_MANY = 40
_MARKS = {10: "s", 5: "D", 1: "^", 0: "o"}


def capacity_figure(steps: pd.DataFrame, curves: pd.DataFrame, sweep: str, architecture: str) -> ReportFigure | None:
    """Draw the curves of a sweep on an architecture, and the capacities near the least; None without any step.

    DRAM words have a panel more: operations a word, and theory's least words dashed beside the curves.
    """
    steps = steps[(steps["architecture"] == architecture) & (steps["words"] > 0)]
    curves = curves[(curves["architecture"] == architecture) & (curves["status"] == "ok")]
    if steps.empty:
        return None
    words = steps["objective"].iloc[0] == "dram-words"
    with styled():
        figure, axes = new_figure(1, 3 if words else 2)
        figure.set_figheight(max(2.6, 0.13 * len(curves) + 0.8))
        panels = axes[0]
        for place, (_, curve) in enumerate(steps.groupby("layer", sort=False)):
            look = {"color": SERIES[place % len(SERIES)], "ls": _LINES[place // len(SERIES) % len(_LINES)], "lw": 0.9}
            _stairs(panels[0], curve, "value", **look)
            if words:
                bound = curve["dram_words"] / curve["theory_ratio"]
                panels[0].plot(curve["words"], bound, color=look["color"], lw=0.5, alpha=0.6)
                _stairs(panels[1], curve.assign(value=2 * curve["macs_per_dram_word"]), "value", **look)
        unit, level, objective = (str(steps[name].iloc[0]) for name in ("unit", "level", "objective"))
        for panel in panels[:-1]:
            panel.set(xscale="log", yscale="log", xlabel=f"{level} [words]")
            log_ticks(panel.xaxis)
            log_ticks(panel.yaxis)
        panels[0].set_ylabel(f"{objective} [{unit}]")
        if words:
            panels[1].set_ylabel("operations a DRAM word")
        _near(panels[-1], curves, level, shares=words)
    return ReportFigure(f"capacity_{architecture}", figure, _caption(steps, curves, sweep, architecture))


def _stairs(panel: Axes, curve: pd.DataFrame, column: str, **look: Any) -> None:
    """Draw values that hold from so many words on; a last piece shows that larger capacities do not help."""
    words, values = curve["words"].to_numpy(np.float64), curve[column].to_numpy(np.float64)
    panel.step([*words, 4 * words[-1]], [*values, values[-1]], where="post", **look)


def _near(panel: Axes, curves: pd.DataFrame, level: str, *, shares: bool) -> None:
    """Draw for each layer, in its colour, the least capacities within some percent of its least value.

    ``shares`` writes the largest that helps as a share of the DRAM words there, which are all operands.
    """
    rows = range(len(curves))
    for percent, mark in _MARKS.items():
        at = curves[f"words_within_{percent}_percent"].to_numpy(np.float64)
        panel.scatter(at, rows, c=[SERIES[row % len(SERIES)] for row in rows], marker=mark, s=9, zorder=3)
        panel.plot([], [], mark, ms=3, color=BLACK, label="least" if not percent else f"within {percent} %")
    panel.set(xscale="log", xlabel=f"{level} [words]")
    log_ticks(panel.xaxis)
    panel.invert_yaxis()
    labels = list(map(str, curves["layer"])) if len(curves) <= _MANY else []
    panel.set_yticks(rows if labels else [], labels, fontsize=5)
    for row, (at, share) in enumerate(curves[["words_within_0_percent", "largest_share"]].itertuples(index=False)):
        if shares and pd.notna(share):
            panel.annotate(f"{share:.2g}" if share < 0.01 else f"{share:.0%}", (at, row), (4, 0), fontsize=5,
                           textcoords="offset points", va="center")  # fmt: skip
    legend_below(panel, panel.get_legend_handles_labels()[0], ncols=4)


def _caption(steps: pd.DataFrame, curves: pd.DataFrame, sweep: str, architecture: str) -> str:
    proven = int(curves["proven"].sum())
    tested = curves[curves["exponent"].notna()]
    told = "; ".join(
        f"{row.layer}: {row.exponent:.3f} [{row.exponent_low:.3f}, {row.exponent_high:.3f}], agrees "
        f"{row.exponent_agrees}"
        for row in tested.head(6).itertuples()
    )
    growth = f" Exponents of DRAM words between the corners: {told}." if told else ""
    level, unit = (steps[name].iloc[0] for name in ("level", "unit"))
    return (
        f"Question: how does the optimum of the layers of sweep {sweep} fall with the words of {level} on "
        f"{architecture.capitalize()}, and how many are worth it? Unit: {unit}. n = {len(curves)} curves of "
        f"{len(steps)} steps, {proven} of them proven. Thin lines: theory's least words.{growth} Decision rule: an "
        "exponent agrees where its 95 % interval lies within 0.02 of theory's."
    )
