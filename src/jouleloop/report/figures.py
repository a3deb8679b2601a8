"""Figures of growth: bars with the fitted trend, Figure 4 of paper 002, residuals, architectures compared."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from jouleloop.report.registry import FIGURE4_ARCHITECTURES, FIGURE4_SWEEPS
from jouleloop.report.selection import (
    MEANINGS,
    Tests,
    architectures_of,
    fitted_line,
    growth_caption,
    one_row,
    points_of,
)
from jouleloop.report.style import (
    BAR,
    BEST,
    BLUE,
    FIT,
    FLAT,
    MANY_LAYERS,
    PUBLISHED,
    ROUNDING,
    SERIES,
    ReportFigure,
    draw_bars,
    log_ticks,
    new_figure,
    response_axis,
    size_axis,
    spans_decades,
    styled,
    variable_axis,
)


def growth_figure(
    analysis: Tests, sweep: str, architecture: str, published: pd.DataFrame | None = None
) -> ReportFigure:
    """Draw one sweep on one architecture: bars for the data energy, dashed the fitted expected growth.

    Raises `InputError` for a sweep or architecture that was not analysed.

    ``published`` are energies to overlay, as by `jouleloop.tables.published.read_published`.
    """
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        row = _draw_growth(panel, analysis, sweep, architecture)
        if published is not None:
            energies = published["published_data_pj"]
            panel.plot(published["parameter"], energies, "o", ms=2.5, mfc="none", color=PUBLISHED, label="published")
            # The axis was fixed for the bars; published values may stand above them.
            panel.set_ylim(top=max(panel.get_ylim()[1], 1.05 * float(energies.max())))
        panel.set_title(architecture.capitalize())
        values = points_of(analysis, sweep, architecture)["measured"].to_numpy()
        falling = values.size > 1 and values[0] > values[-1]
        panel.legend(loc="upper right" if falling else "upper left")
    what = f"Sweep {sweep}: bars or dots are the layers, dashed is the least-squares fit of the expected growth."
    if published is not None:
        what += " Circles are published values."
    return ReportFigure(f"growth_{sweep}_{architecture}", figure, growth_caption([row], what=what))


def figure4(analysis: Tests, architectures: Sequence[str] = FIGURE4_ARCHITECTURES) -> ReportFigure:
    """Draw Figure 4 of paper 002: data energy in n, m and mn from top to bottom, Simba left and Eyeriss right.

    Raises `InputError` for a sweep or architecture that was not analysed.
    """
    rows: list[dict[Hashable, Any]] = []
    with styled():
        figure, axes = new_figure(len(FIGURE4_SWEEPS), len(architectures))
        for line, sweep in zip(axes, FIGURE4_SWEEPS, strict=True):
            for panel, architecture in zip(line, architectures, strict=True):
                row = _draw_growth(panel, analysis, sweep, architecture)
                panel.set_title(f"{architecture.capitalize()}, {row['variable']}: {row['verdict']}")
                rows.append(row)
        axes[0][0].legend(loc="upper left")
        shown = dict.fromkeys(str(row["verdict"]) for row in rows)
        figure.supxlabel("; ".join(f"{name}: {MEANINGS[name]}" for name in shown if name in MEANINGS), size="medium")
    what = (
        f"{str(rows[0]['response_label']).capitalize()} of a fully-connected layer against its number of inputs n, "
        "of outputs m and of weights mn (bars), with the fitted trend c2·x + c1 (dashed); after Figure 4 of Šíma, "
        "Cabessa and Vidnerová."
    )
    return ReportFigure("figure4", figure, growth_caption(rows, what=what))


def architectures_figure(energies: pd.DataFrame, analysis: Tests, sweep: str) -> ReportFigure:
    """Draw the data energy per multiply-accumulate of all architectures in one panel.

    Raises `InputError` for a sweep that was not analysed.

    ``energies`` is the table that was analysed, for the layers' dimensions.
    """
    rows: list[dict[Hashable, Any]] = []
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        largest = (0.0, 0.0)
        compared = architectures_of(analysis.verdicts, sweep)
        for name, colour, marker in zip(compared, SERIES, "osD^vPX*", strict=False):
            points = points_of(analysis, sweep, name)
            layers = energies[(energies["sweep"] == sweep) & (energies["architecture"] == name)].set_index("layer")
            macs = macs_of(layers).loc[points["layer"]].to_numpy(dtype=np.float64)
            x, y = points["variable"].to_numpy(), points["measured"].to_numpy() / macs
            panel.plot(x, y, marker, ms=2.5, color=colour, alpha=0.8, label=str(name).capitalize())
            rows.append(one_row(analysis.verdicts, sweep, name))
            largest = (max(largest[0], float(x.max(initial=0))), max(largest[1], float(y.max(initial=0))))
        size_axis(panel.xaxis, str(rows[0]["variable"]), largest[0])
        response_axis(panel.yaxis, str(rows[0]["unit"]), f"{rows[0]['response_label']} per MAC", largest[1])
        panel.set_ylim(bottom=0)
        panel.legend(loc="lower right", ncols=2)
    what = f"Sweep {sweep}: {rows[0]['response_label']} per multiply-accumulate, architectures side by side."
    return ReportFigure(f"architectures_{sweep}", figure, growth_caption(rows, what=what))


def macs_of(layers: pd.DataFrame) -> pd.Series:
    """Return the multiply-accumulates of every layer: as the table has them, or the product of its dimensions."""
    if "macs" in layers.columns:
        return layers["macs"].astype(float)
    dimensions = [name for name in ("N", "C", "M", "R", "S", "P", "Q", "groups") if name in layers.columns]
    return layers[dimensions].astype(float).prod(axis=1)


def _draw_growth(panel: Axes, analysis: Tests, sweep: str, architecture: str) -> dict[Hashable, Any]:
    verdict, fit = (one_row(table, sweep, architecture) for table in (analysis.verdicts, analysis.fits))
    points = points_of(analysis, sweep, architecture)
    x, y = points["variable"].to_numpy(dtype=np.float64), points["measured"].to_numpy(dtype=np.float64)
    sizes = np.unique(x)
    spread = spans_decades(x) and bool((y > 0).all())
    if spread:
        panel.plot(x, y, "o", ms=1.5, color=BAR, alpha=0.8, label=f"{x.size} layers")
    elif x.size > MANY_LAYERS or sizes.size < x.size:
        # Too many layers for bars side by side: a line a layer, thin enough to see through.
        panel.vlines(x, 0, y, color=BAR, lw=max(0.3, min(2.0, 250 / x.size)), alpha=0.8, label=f"{x.size} layers")
    elif x.size:
        width = 0.8 * float(np.diff(sizes).min()) if sizes.size > 1 else 1.0
        draw_bars(panel, x, y, width, fc=BAR, label=f"{x.size} layers")
    if not pd.isna(fit["c1"]):
        dense = np.geomspace(sizes[0], sizes[-1], 200) if spread else np.linspace(sizes[0], sizes[-1], 200)
        line = fitted_line(fit, dense)
        if spread:
            line = np.where(line > 0, line, np.nan)
        panel.plot(dense, line, "--", color=FIT, label=f"fit: {str(verdict['expected']).replace('_', ' ')}")
    if spread:
        panel.set_yscale("log")
    else:
        panel.set_ylim(bottom=0)
    variable_axis(panel, str(verdict["variable"]), x)
    response_axis(panel.yaxis, str(verdict["unit"]), str(verdict["response_label"]), float(y.max(initial=0)))
    return verdict


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
        if not np.abs(residual).max(initial=0.0) > ROUNDING:
            left.set_ylim(-FLAT, FLAT)
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
