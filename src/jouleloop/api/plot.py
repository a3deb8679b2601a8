"""The picture of one result: energy by level, split by data space, in the style of all figures."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from jouleloop.api.results import breakdown_rows
from jouleloop.report.style import BLACK, SERIES, styled
from jouleloop.units import energies_in, said

if TYPE_CHECKING:
    from jouleloop.api.results import Result


def plot_breakdown(result: "Result", ax: Axes | None = None) -> Axes:
    """Draw bars of energy [pJ, or the result's unit] a level, stacked by data space; return the axes."""
    rows = pd.DataFrame(breakdown_rows(result.counts))
    levels = list(dict.fromkeys(rows["level"]))
    with styled():
        panel = plt.subplots(figsize=(6, 0.5 * len(levels) + 1.4))[1] if ax is None else ax
        left = [0.0] * len(levels)
        for color, (space, part) in zip((*SERIES, BLACK), rows.groupby("data_space", sort=False), strict=False):
            places = [levels.index(level) for level in part["level"]]
            energies = part["energy_pj"].tolist()
            panel.barh(places, energies, left=[left[place] for place in places], color=color, label=str(space))
            for place, energy in zip(places, energies, strict=True):
                left[place] += energy
        panel.set_yticks(range(len(levels)), levels)
        panel.invert_yaxis()
        with energies_in(result.unit):
            panel.set_xlabel(said("energy [pJ]"))
        panel.set_title(f"{result.problem.name} on {result.architecture.name}: {result.energy_pj:,.0f} {result.unit}")
        panel.legend(frameon=False)
    return panel
