"""Figures of the residuals: against the variable, with the best layers marked, and against divisibility."""

import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from jouleloop.report.selection import Tests, growth_caption, one_row, points_of
from jouleloop.report.style import BEST, BLUE, FIT, ReportFigure, log_ticks, new_figure, size_axis, styled

_ROUNDING, _FLAT = 1e-12, 1e-3
"""Residuals that are rounding noise, and the range of the axis that shows them."""


def residual_figure(analysis: Tests, sweep: str, architecture: str) -> ReportFigure:
    """Draw relative residuals: left against the variable, right against divisibility.

    Raises `InputError` for a sweep or architecture that was not analysed.
    """
    row = one_row(analysis.verdicts, sweep, architecture)
    points = points_of(analysis, sweep, architecture)
    with styled():
        figure, [[left, right]] = new_figure(1, 2, sharey="row")
        residual = points["relative_residual"].to_numpy(dtype=np.float64)
        best = points["on_lower_envelope"].to_numpy(dtype=bool)
        for panel, values in ((left, points["variable"]), (right, points["factorisations"])):
            x = values.to_numpy(dtype=np.float64)
            panel.axhline(0, color=FIT, lw=0.8)
            panel.plot(x[~best], residual[~best], "o", ms=2.5, color=BLUE, alpha=0.7, label="layers")
            panel.plot(x[best], residual[best], "D", ms=3.5, color=BEST, label="best layers")
        left.set_title(f"{architecture.capitalize()}: {row['verdict']}")
        left.set_ylabel("residual / fit")
        left.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        size_axis(left.xaxis, str(row["variable"]), float(points["variable"].max()) if len(points) else 0.0)
        if len(points) and points["factorisations"].min() > 0:
            right.set_xscale("log")
            log_ticks(right.xaxis)
        right.set_xlabel("index factorisations")
        if not np.abs(residual).max(initial=0.0) > _ROUNDING:
            left.set_ylim(-_FLAT, _FLAT)
        if not pd.isna(row["divisibility_correlation"]):
            right.set_title(f"rank correlation {row['divisibility_correlation']:.2f}".replace("-", "−"))
        if best.any():
            left.legend(loc="best", frameon=True, framealpha=0.8, edgecolor="none")
    what = (
        f"Sweep {sweep}: relative residuals from the fitted expected growth, against the variable and against the "
        "number of ways in which the layer's varying dimensions factorise over three levels; diamonds are the best "
        "layers of their size."
    )
    return ReportFigure(f"residuals_{sweep}_{architecture}", figure, growth_caption([row], what=what))
