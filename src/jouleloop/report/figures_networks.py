"""Figures of whole networks: the energy of every layer, as often as the network runs it, stacked by level."""

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.report.figures_energy import energy_parts, stack_bars
from jouleloop.report.html.numbers import quantity
from jouleloop.report.style import ReportFigure, new_figure, response_axis, styled
from jouleloop.tables.networks import SUMS, TOTAL

_WIDTH_IN, _HEIGHT_IN = 7.2, 3.4


def network_figure(networks: pd.DataFrame, network: str, architecture: str) -> ReportFigure:
    """Draw a stack for every layer of a network on one architecture: its energy times how often the network runs it.

    Raises `InputError` for an unknown network or architecture, or a table that is none of networks.

    ``networks`` is the table of `jouleloop.tables.networks.network_table`.
    """
    missing = [name for name in ("network", "architecture", "layer", "count", "status") if name not in networks]
    raise_all([Fault(f"the table of networks has no column {name!r}") for name in missing])
    for value, column in ((network, "network"), (architecture, "architecture")):
        known = sorted(str(name) for name in networks[column].unique())
        if value not in known:
            raise InputError(unknown(value, known, column))
    rows = networks[(networks["network"] == network) & (networks["architecture"] == architecture)]
    total = rows[rows["layer"] == TOTAL].iloc[0]
    layers = rows[~rows["layer"].isin(SUMS)].reset_index(drop=True)
    counts = layers["count"].to_numpy(dtype=np.float64)
    parts = {key: values * counts for key, values in energy_parts(layers).items()}
    heights = np.sum(list(parts.values()), axis=0)
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        figure.set_size_inches(_WIDTH_IN, _HEIGHT_IN)
        place = np.arange(len(layers), dtype=np.float64)
        handles = stack_bars(panel, place, 0.8, parts)
        if "theory_lower_pj" in layers:
            bounds = layers["theory_lower_pj"].to_numpy(dtype=np.float64) * counts
            panel.hlines(bounds, place - 0.4, place + 0.4, colors="black", lw=1.2)
            handles.append(Patch(facecolor="black", label="theory's bound"))
        figure.legend(handles=handles, loc="outside lower center", ncols=5, columnspacing=1)
        panel.set_xticks(
            place, [str(name) for name in layers["layer"]], rotation=60, ha="right", rotation_mode="anchor"
        )
        panel.grid(visible=False, axis="x")
        panel.set_xlim(-0.7, len(layers) - 0.3)
        for x, height, count, status in zip(place, heights, counts, layers["status"], strict=True):
            note = "no mapping" if status != "ok" else f"×{count:.0f}" if count > 1 else ""
            panel.annotate(note, (x, height), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=6)
        panel.set_ylim(top=1.08 * float(heights.max(initial=0)) or 1.0)
        response_axis(panel.yaxis, "pJ", "energy", float(heights.max(initial=0)))
        panel.set_title(
            f"{network} on {architecture.capitalize()}: {_whole(total)}, "
            f"{float(total['macs']) / 1e9:.3g} G multiply-accumulates"
        )
    return ReportFigure(f"{network}_{architecture}", figure, _caption(total, len(layers)))


def _caption(total: pd.Series, layers: int) -> str:
    """Return what the figure of the network with this ``total`` and so many distinct layers shows."""
    where = f"{total['network']} on {str(total['architecture']).capitalize()}"
    theory = ""
    if "theory_ratio" in total and pd.notna(total["theory_ratio"]):
        theory = (
            "Black line: theory's lower bound of the layer, its operations and the DRAM words that have to move (001 "
            f"Theorem 2.1); the network needs {float(total['theory_ratio']):.3g} times the sum of these bounds. "
        )
    proven = "all optima proven" if bool(total["optimal"]) else "not all optima proven (column gap of the table)"
    return (
        f"Question: which layers and which memories cost the energy of {where}? One "
        "bar a distinct layer, its energy times how often the network runs it (×, where more than once); the bars add "
        "up to the energy of the network (paper 002, equation (1)). Stacked from below: compute, then every level "
        "(colour), split by data space (hatch: none weights, rising lines inputs, falling lines outputs). Unit: J. "
        f"{theory}n = {layers} distinct layers, {int(total['count'])} in all; status {total['status']}; {proven}. "
        "No test is made here."
    )


def _whole(total: pd.Series) -> str:
    """Return the energy of the whole network, or that there is none since layers have no mapping."""
    return str(total["status"]) if pd.isna(total["total_pj"]) else quantity(float(total["total_pj"]), "pJ")
