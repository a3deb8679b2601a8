"""The figure of the laws behind the bars: which law holds where, and the steps between them."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from jouleloop.errors import Fault, InputError
from jouleloop.report.selection import architectures_of
from jouleloop.report.style import (
    FIT,
    FLAT,
    MANY_LAYERS,
    PANEL_HEIGHT_IN,
    PANEL_WIDTH_IN,
    ROUNDING,
    SERIES,
    ReportFigure,
    draw_bars,
    letter_panels,
    response_axis,
    spans_decades,
    styled,
    variable_axis,
)

_NAMED = 7
_OTHERS = "#bdbdbd"
_LONG_FORMULA = 60
_ENTRY_IN = 0.15


def law_figure(laws: pd.DataFrame, points: pd.DataFrame, sweep: str, label: str) -> ReportFigure:
    """Draw every point in the colour of its law, a row an architecture.

    Left, the data energy as bars (or, where two sizes vary, the law over both); right, the data energy over what the
    most common law would give: a step wherever another class of mapping takes over.

    Raises `InputError` for an unknown sweep.

    ``laws`` and ``points`` are as in results/laws.csv and results/law_points.csv, ``label`` is the sweep's variable in
    words.
    """
    if not len(points):
        raise InputError(Fault("no point has a law"))
    names = architectures_of(points, sweep)
    counted = []
    with styled():
        tables = [
            tuple(table[(table["sweep"] == sweep) & (table["architecture"] == name)] for table in (points, laws))
            for name in names
        ]
        entries = [min(len(own), _NAMED + 1) for _, own in tables]
        heights = [PANEL_HEIGHT_IN + count * _ENTRY_IN for count in entries]
        figure = Figure(figsize=(2 * PANEL_WIDTH_IN, sum(heights)), layout="constrained")
        parts = figure.subfigures(len(names), 1, squeeze=False, height_ratios=heights)[:, 0]
        axes = [part.subplots(1, 2) for part in parts]
        letter_panels([panel for row in axes for panel in row])
        for part, (left, right), name, (rows, own) in zip(parts, axes, names, tables, strict=True):
            colours = _colours(own)
            grid = _grid(rows)
            if grid is None:
                _bars(left, rows, colours, label)
            else:
                _map(left, rows, grid, colours)
            left.set_title(name.capitalize())
            _draw_excess(right, rows, colours, label)
            right.set_title("steps between the laws" if len(own) > 1 else "one law holds everywhere")
            handles = [Patch(facecolor=colours[law], label=_described(own, law)) for law in colours]
            if len(own) > len(colours):
                handles.append(Patch(facecolor=_OTHERS, label=f"{len(own) - len(colours)} further laws"))
            # Below both panels, so that it takes nothing of their width.
            part.legend(handles=handles, loc="outside lower left", handlelength=1.2)
            without = int((rows["law"] == "").sum())
            counted.append(f"{name.capitalize()} n = {len(rows)}, {len(own)} laws, {without} points without one")
    caption = (
        f"Question: which exact law does the data energy of each layer of sweep {sweep} obey? Left: the layers in the "
        "colour of their law; right: measured energy over the most common law's, a step wherever another class of "
        f"mapping is cheapest. Unit: J. {'; '.join(counted)}. Decision rule: none is needed, every law is an exact sum "
        "of access counts times energies per access; coefficients in pJ."
    )
    return ReportFigure(f"laws_{sweep}", figure, caption)


def _draw_excess(panel: Axes, rows: pd.DataFrame, colours: dict[str, str], label: str) -> None:
    """Draw the data energy of every layer over what the most common law would give."""
    x = rows["variable"].to_numpy(dtype=np.float64)
    excess = (rows["data_pj"] / rows["common_law_data_pj"] - 1).to_numpy(dtype=np.float64, copy=True)
    excess[np.abs(excess) < ROUNDING] = 0.0
    panel.axhline(0, color=FIT, lw=0.8)
    if not excess.any():
        panel.set_ylim(-FLAT, FLAT)
    for law, colour in {**colours, "": _OTHERS}.items():
        chosen = (rows["law"] == law).to_numpy() if law else ~rows["law"].isin(list(colours)).to_numpy()
        panel.plot(x[chosen], excess[chosen], "o", ms=2.5, color=colour)
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
    panel.set_ylabel("above common law")
    variable_axis(panel, label, x)


def _colours(laws: pd.DataFrame) -> dict[str, str]:
    ranked = laws.sort_values("points", ascending=False, kind="stable")["law"].astype(str)
    return dict(zip(ranked.head(_NAMED), SERIES, strict=False))


def _described(laws: pd.DataFrame, law: str) -> str:
    row = laws[laws["law"] == law].iloc[0]
    formula = str(row["formula_data"])
    shown = formula if len(formula) <= _LONG_FORMULA else formula[: _LONG_FORMULA - 1] + "…"
    return f"{law}: {shown}, {row['points']} {'layer' if row['points'] == 1 else 'layers'}"


def _grid(rows: pd.DataFrame) -> tuple[str, str] | None:
    """Return the two sizes that vary independently of each other, if there are just two."""
    sizes = [name for name in rows.columns if str(name).endswith("_size") and rows[name].nunique() > 1]
    if len(sizes) != 2 or rows.duplicated(sizes).any():
        return None
    first, second = sizes
    return (first, second) if rows[first].nunique() * rows[second].nunique() <= 2 * len(rows) else None


def _bars(panel: Axes, rows: pd.DataFrame, colours: dict[str, str], label: str) -> None:
    x = rows["variable"].to_numpy(dtype=np.float64)
    gaps = np.diff(np.unique(x))
    width = 0.85 * float(gaps.min()) if gaps.size else 1.0
    shades = [colours.get(law, _OTHERS) for law in rows["law"]]
    if spans_decades(x):
        panel.scatter(x, rows["data_pj"], s=2.0, c=shades)
        panel.set_yscale("log")
    elif len(x) > MANY_LAYERS or len(np.unique(x)) < len(x):
        panel.vlines(x, 0, rows["data_pj"], colors=shades, lw=max(0.3, min(2.0, 250 / len(x))))
    else:
        data_pj = rows["data_pj"].to_numpy(dtype=np.float64)
        for shade in dict.fromkeys(shades):
            own = np.array([one == shade for one in shades])
            draw_bars(panel, x[own], data_pj[own], width, fc=shade)
    variable_axis(panel, label, x)
    response_axis(panel.yaxis, "pJ", "data energy", float(rows["data_pj"].max()))


def _map(panel: Axes, rows: pd.DataFrame, grid: tuple[str, str], colours: dict[str, str]) -> None:
    order = {law: i for i, law in enumerate(colours)}
    coded = rows.assign(code=[order.get(law, len(order)) for law in rows["law"]])
    table = coded.pivot_table(index=grid[1], columns=grid[0], values="code")
    palette = ListedColormap([*colours.values(), _OTHERS])
    panel.pcolormesh(
        table.columns.to_numpy(),
        table.index.to_numpy(),
        np.ma.masked_invalid(table.to_numpy(dtype=np.float64)),
        cmap=palette,
        vmin=-0.5,
        vmax=len(order) + 0.5,
        shading="nearest",
        rasterized=True,
    )
    panel.grid(visible=False)
    first, second = (
        {"C_size": "inputs n (C)", "M_size": "outputs m (M)"}.get(s, s.removesuffix("_size")) for s in grid
    )
    panel.set_xlabel(first)
    panel.set_ylabel(second)
