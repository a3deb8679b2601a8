"""Published energies beside ours: point by point with their ratio, and per operation of layers that have them."""

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.report.selection import architectures_of, require_columns
from jouleloop.report.style import (
    BLUE,
    FIT,
    ORANGE,
    PUBLISHED,
    ReportFigure,
    log_ticks,
    new_figure,
    response_axis,
    size_axis,
    styled,
)

_COLUMNS = ["architecture", "sweep", "parameter", "published_pj", "ours_pj", "ratio", "ours_is", "set"]


def published_figure(published: pd.DataFrame, sweep: str, label: str = "") -> ReportFigure:
    """Draw total energies and the ratio ours / published of one sweep, a column an architecture.

    Raises `InputError` for an unknown sweep, a table of another kind, or a sweep without any point that can be
    compared.

    ``published`` is the table of `jouleloop.tables.published.compare_published`, ``label`` the parameter in words.
    """
    require_columns(published, _COLUMNS)
    names = architectures_of(published, sweep)
    counted = []
    with styled():
        figure, axes = new_figure(2, len(names))
        for column, name in enumerate(names):
            rows = published[(published["sweep"] == sweep) & (published["architecture"] == name)]
            rows = rows[np.isfinite(rows["ratio"].to_numpy(dtype=np.float64))].sort_values("parameter", kind="stable")
            if rows.empty:
                raise InputError(Fault(f"no point of sweep {sweep} on {name} can be compared"))
            x = rows["parameter"].to_numpy(dtype=np.float64)
            above, below = axes[0][column], axes[1][column]
            above.plot(x, rows["ours_pj"], "-", color=BLUE, marker=".", ms=3, lw=0.8, label="ours, proven optimum")
            above.plot(x, rows["published_pj"], "o", ms=3, mfc="none", color=PUBLISHED, label="published")
            largest = float(max(rows["ours_pj"].max(), rows["published_pj"].max()))
            above.set_ylim(bottom=0)
            response_axis(above.yaxis, "pJ", "total energy", largest)
            above.set_title(f"{str(name).capitalize()}, constraints {rows['set'].iloc[0]}")
            below.axhline(1, ls="--", color=FIT, lw=0.8)
            below.plot(x, rows["ratio"], ".", ms=4, color=BLUE)
            least = float(rows["ratio"].min())
            below.set_ylim(min(0.95, least - 0.02), max(1.01, float(rows["ratio"].max()) + 0.01))
            below.set_ylabel("ours / published")
            for panel in (above, below):
                size_axis(panel.xaxis, label or "parameter", float(x.max()))
            counts = ", ".join(f"{int((rows['ours_is'] == kind).sum())} {kind}" for kind in ("equal", "below", "above"))
            counted.append(
                f"{str(name).capitalize()} n = {len(rows)}: ours {counts} published, least ratio {least:.4f}"
            )
        axes[0][0].legend(loc="upper left")
    caption = (
        f"Question: did the published search of sweep {sweep} find the optimum? Above, published total energies "
        "(circles) and our proven optima (line) under the constraints and counting rules of the published runs; below, "
        f"their ratio point by point. Unit: J. {'; '.join(counted)}. Decision rule: energies within 0.1 pJ are equal "
        "(the published ones have two decimals); a ratio above 1 would be a mapping that our mapspace lacks."
    )
    return ReportFigure("published", figure, caption)


def floor_figure(energies: pd.DataFrame, sweep: str, architecture: str) -> ReportFigure:
    """Draw data energy per multiply-accumulate against their number, and published energy over ours.

    Raises `InputError` for a table without published energies.

    ``energies`` has the rows of one sweep.
    """
    require_columns(energies, ["macs", "data_pj", "total_pj", "published_data_pj", "published_pj", "optimal"])
    rows = energies[(energies["architecture"] == architecture) & energies["data_pj"].notna()]
    macs = rows["macs"].to_numpy(float)
    ratio = (rows["published_pj"] / rows["total_pj"]).to_numpy(float)
    per_mac = (rows["data_pj"] / rows["macs"]).to_numpy(float)
    with styled():
        figure, [[left, right]] = new_figure(1, 2)
        published = (rows["published_data_pj"] / rows["macs"]).to_numpy(float)
        left.plot(macs, published, ".", ms=1.5, color=ORANGE, label="published", rasterized=True)
        left.plot(macs, per_mac, ".", ms=1.5, color=BLUE, label="ours", rasterized=True)
        if per_mac.size:
            left.axhline(per_mac.min(), color=FIT, lw=1, ls="--", label=f"least, {per_mac.min():.3f} pJ")
        left.set_ylabel("data energy per operation [pJ]")
        right.plot(macs, ratio, ".", ms=1.5, color=ORANGE, rasterized=True)
        right.axhline(1, color=FIT, lw=1, ls="--")
        right.set_ylabel("published over ours, total energy")
        for panel in (left, right):
            panel.set(xscale="log", yscale="log", xlabel="multiply-accumulates")
            log_ticks(panel.xaxis)
            log_ticks(panel.yaxis)
        figure.legend(handles=left.get_lines(), loc="outside lower center", ncols=3, columnspacing=1)
    counted = f"n = {len(rows)}, {int(rows['optimal'].sum())} proven optimal"
    if ratio.size:
        least, median, most = ratio.min(), float(pd.Series(ratio).median()), ratio.max()
        counted += f"; published over ours {least:.3f} to {most:.2f}, {median:.3f} in the median"
    caption = (
        f"Question: how far are the published energies of sweep {sweep} on {architecture.capitalize()} above the "
        "optimum, and what is the least data energy per operation? Left every layer as published and as found here, "
        f"right the ratio of total energies. Unit: pJ; share. {counted}. Decision rule: none, no test is made here; a "
        "ratio below one is a layer whose own search was stopped before its optimum was found."
    )
    return ReportFigure("floor", figure, caption)
