"""Figures of transformers: where attention overtakes the rest of a block."""

import numpy as np
import pandas as pd

from jouleloop.report.style import SERIES, ReportFigure, new_figure, response_axis, styled, variable_axis
from jouleloop.tables.transformers import PARTS, crossover

_LABELS = {
    "projections": "projections (Q, K, V, output)",
    "feed_forward": "feed-forward (up, down)",
    "attention": "attention (scores, weighted values)",
}


def crossover_figure(parts: pd.DataFrame, sweep: str, architecture: str, label: str) -> ReportFigure:
    """Draw the energy of a transformer's parts over what varies, and where attention overtakes them.

    ``parts`` is the table of `jouleloop.tables.transformers.parts_table`, ``label`` what varies, in words.
    """
    x = parts["variable"].to_numpy(dtype=np.float64)
    words = []
    with styled():
        figure, [[panel]] = new_figure(1, 1)
        for part, colour, marker in zip(PARTS, SERIES, "osD", strict=False):
            y = parts[f"{part}_pj"].to_numpy(dtype=np.float64)
            panel.plot(x, y, marker, ls="-", lw=0.8, ms=2.5, color=colour, label=_LABELS[part])
        for others, style in ((("projections",), ":"), (("projections", "feed_forward"), "--")):
            at = crossover(parts, *others)
            names = " and ".join(_LABELS[part].partition(" (")[0] for part in others)
            words.append(f"{names}: {'nowhere here' if at is None else f'from {at} on'}")
            if at is not None:
                panel.axvline(at, color="black", lw=0.8, ls=style)
        variable_axis(panel, label, x)
        panel.set_ylim(bottom=0)
        response_axis(panel.yaxis, "pJ", "energy of all blocks", float(panel.get_ylim()[1]))
        panel.legend()
    proven = int(parts["proven"].sum())
    caption = (
        "Question: where does attention cost more than the rest of a transformer on "
        f"{architecture.capitalize()}? Energy of all blocks by part; attention lies above {'; above '.join(words)} "
        f"(vertical lines, at values that were searched). Unit: J. n = {len(parts)} values, {proven} of them sums of "
        "proven optima alone, so that no mapping moves a line. No test is made here."
    )
    return ReportFigure(f"crossover_{sweep}_{architecture}", figure, caption)
