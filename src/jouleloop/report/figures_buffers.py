"""Where the linear law breaks: words of inputs and outputs against buffer size, and the deviation from a line."""

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.report.style import FIT, SERIES, ReportFigure, log_ticks, new_figure, styled
from jouleloop.tables.buffer_growth import crossover_words, vertex_words

_MARKERS = "osD^vPX*"
_LINEAR_BELOW_PERCENT = 0.1
_RESPONSES = {"dram_words": ("-", "all DRAM words"), "vertex_words": ("--", "inputs and outputs")}


def buffers_figure(bounds: pd.DataFrame, growth: pd.DataFrame, sweep: str) -> ReportFigure:
    """Draw the crossover of a sweep of buffers (left) and how far its words are from a line in mn (right).

    Raises `InputError` where no layer of the sweep has a mapping.

    ``bounds`` and ``growth`` are the tables ``theory_ratio`` and ``buffer_growth``.
    """
    points, verdicts = (table[table["sweep"] == sweep] for table in (bounds, growth))
    if points.empty:
        raise InputError(Fault("no fully-connected layer of the sweep has a mapping", value=sweep))
    with styled():
        figure, [[left, right]] = new_figure(1, 2)
        at = points["buffer_words"] / crossover_words(points)
        least = points["C"] + 2 * points["M"]
        law = (points["eq_28_words"].astype("float64") - points["C"] * points["M"]) / least
        left.plot(at, law, "_", ms=5, color=FIT, label="equation (28)", zorder=1)
        left.axhline(1, lw=0.8, ls=":", color=FIT)
        left.axvline(1, lw=0.8, ls=":", color=FIT)
        for name, colour, marker in zip(points["architecture"].unique(), SERIES, _MARKERS, strict=False):
            mine = points["architecture"] == name
            label = str(name).replace("_", " ").capitalize()
            left.plot(at[mine], vertex_words(points[mine]) / least[mine], marker, ms=2.5, mfc="none", mew=0.6,
                      color=colour, label=label)  # fmt: skip
            for response, (style, words) in _RESPONSES.items():
                mine = (verdicts["architecture"] == name) & (verdicts["grown"] == "inputs")
                rows = verdicts[mine & (verdicts["response"] == response)]
                broken = rows[~rows["verdict"].isin(["exact", "confirmed"])]
                right.plot(rows["buffer_words"], _percent(rows), style, marker=marker, ms=4, mfc="none", color=colour,
                           label=f"{label}, {words}")  # fmt: skip
                right.plot(broken["buffer_words"], _percent(broken), marker, ms=4, color=colour)
        left.set_xscale("log")
        left.set_yscale("log")
        log_ticks(left.xaxis)
        log_ticks(left.yaxis)
        right.set_xscale("log", base=2)
        right.set_yscale("symlog", linthresh=_LINEAR_BELOW_PERCENT)
        right.yaxis.set_major_formatter("{x:g}")
        right.set_ylim(bottom=-0.02)
        sizes = sorted(verdicts["buffer_words"].unique())
        right.set_xticks(sizes, [str(size) for size in sizes])
        right.minorticks_off()
        left.set_xlabel("buffer / crossover 1 + mn/(n + 2m)")
        left.set_ylabel("words of inputs and outputs / (n + 2m)")
        right.set_xlabel("buffer [words]")
        right.set_ylabel("largest deviation from a line [%]")
        left.legend(loc="upper right")
        right.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ReportFigure(f"linear_law_{sweep}", figure, _caption(points, verdicts, sweep))


def _percent(rows: pd.DataFrame) -> pd.Series:
    return 100 * rows["largest_deviation"]


def _caption(points: pd.DataFrame, verdicts: pd.DataFrame, sweep: str) -> str:
    words = verdicts[(verdicts["response"] == "vertex_words") & (verdicts["grown"] == "inputs")]
    told = "; ".join(
        f"{name}: " + ", ".join(f"{row.buffer_words} {row.verdict}" for row in rows.itertuples())
        for name, rows in words.groupby("architecture", sort=False)
    )
    below = int(np.sum(points["theory_measured_dram_words"] < points["lower_words"] * (1 - 1e-9)))
    return (
        f"Question: at which buffer of sweep {sweep} does the linear law break? Unit: words. n = {len(points)} layers "
        f"and buffers, {below} below the lower bound. Verdicts on the words of inputs and outputs as inputs grow, by "
        f"buffer: {told}. Decision rule: as of the growth tests; a layer below the lower bound would refute it."
    )
