"""Figure of the Gemmini tiles: the best beside the vendor's (001 Figure 4)."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from jouleloop.columns import read_table
from jouleloop.layouts import declared
from jouleloop.theory.gemmini.compare import PAPER_RATIO
from jouleloop.theory.gemmini.optimum import Objective


def draw_comparison(path: Path) -> Figure:
    """Draw the table at ``path``: estimated communication over the vendor's and scratchpad utilization, by layer."""
    table = read_table(path, declared()["theory/gemmini/<table>"])[0]
    shown = table[(table["objective"] == str(Objective.ESTIMATE)) & ~table["whole_image"]]
    vendor, best = shown[shown["who"] == "vendor"], shown[shown["who"] == "best"]
    at = np.arange(len(best))
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.bar(at, best["estimate_over_vendor"], color="C0", label="best (proven)")
        low, high = (float(share) for share in PAPER_RATIO)
        left.axhspan(low, high, color="0.85", zorder=0, label="001: 45 % to 85 %")
        left.axhline(1, color="k", linewidth=0.8)
        left.set(ylabel="estimated communication / vendor's", ylim=(0, 1.35))
        right.bar(at - 0.2, vendor["scratchpad_utilization"], 0.4, color="0.5", label="vendor")
        right.bar(at + 0.2, best["scratchpad_utilization"], 0.4, color="C0", label="best")
        right.plot(at - 0.2, vendor["scratchpad_utilization_paper"], "kx", label="vendor, printed in 001")
        right.set(ylabel="scratchpad utilization", ylim=(0, 1.35))
        for axes in (left, right):
            axes.set_xticks(at, list(best["layer"]))
            axes.legend(frameon=False, fontsize=7, loc="upper left", ncols=2)
    return figure
