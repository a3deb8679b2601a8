"""The picture of one result: energy by level, split by data space, in the style of all figures."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from jouleloop.report.style import BLACK, SERIES, styled

if TYPE_CHECKING:
    from jouleloop.api.results import Result


def plot_breakdown(result: "Result", ax: Axes | None = None) -> Axes:
    """Draw bars of energy [pJ] a level, stacked by data space; return the axes."""
    rows = result.breakdown()
    levels = list(dict.fromkeys(rows["level"]))
    with styled():
        panel = plt.subplots(figsize=(6, 0.5 * len(levels) + 1.4))[1] if ax is None else ax
        left = dict.fromkeys(levels, 0.0)
        for color, (space, part) in zip((*SERIES, BLACK), rows.groupby("data_space", sort=False), strict=False):
            energies = part["energy_pj"].tolist()
            starts = [left[level] for level in part["level"]]
            panel.barh(part["level"].tolist(), energies, left=starts, color=color, label=str(space))
            left |= {level: left[level] + pj for level, pj in zip(part["level"], energies, strict=True)}
        panel.set_yticks(range(len(levels)), levels)
        panel.invert_yaxis()
        panel.set_xlabel("energy [pJ]")
        panel.set_title(f"{result.problem.name} on {result.architecture.name}: {result.energy_pj:,.0f} pJ")
        panel.legend(frameon=False)
    return panel
