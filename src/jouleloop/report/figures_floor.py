"""Figure of a sweep whose layers have published energies: data energy per operation, proven optima and published."""

import pandas as pd

from jouleloop.report.selection import require_columns
from jouleloop.report.style import BLUE, FIT, ORANGE, ReportFigure, log_ticks, new_figure, styled


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
