"""Tables and figure of the Gemmini tiles: the best beside the vendor's (Figure 4 of paper 001)."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from jouleloop.columns import read_table
from jouleloop.layouts import declared
from jouleloop.theory.gemmini.compare import PAPER_RATIO, PAPER_UTILIZATION, compare
from jouleloop.theory.gemmini.optimum import Objective, largest_tiles
from jouleloop.theory.gemmini.tile import CHIP, estimated_rows, resnet50, tile_rows, vendor_tile


def comparison_table(batch: int = 1000) -> pd.DataFrame:
    """Return a row a ResNet-50 layer and tile: rows, estimate, traffic, utilization, beside the paper's statements.

    Both objectives, and the estimate with the whole image where it fits.
    """
    layers = resnet50(batch)
    comparisons = [compare(layer, objective=objective) for objective in Objective for layer in layers]
    comparisons += [compare(layer, whole_image=True) for layer in layers if layer.name in {"conv4", "conv5"}]
    rows = []
    for comparison in comparisons:
        for who, facts in (("vendor", comparison.vendor), ("best", comparison.best)):
            said = PAPER_UTILIZATION.get(comparison.layer.name) if who == "vendor" else None
            rows.append(
                {
                    "layer": comparison.layer.name,
                    "objective": str(comparison.objective),
                    "whole_image": comparison.whole_image,
                    "who": who,
                    "tile_n_p_q_m_r_s_c": "×".join(map(str, facts.tile.sides)),
                    "scratchpad_rows": facts.rows.scratchpad,
                    "accumulator_rows": facts.rows.outputs,
                    "scratchpad_utilization": float(facts.scratchpad_utilization),
                    "scratchpad_utilization_paper": None if said is None else float(said),
                    "accumulator_utilization": float(facts.accumulator_utilization),
                    "estimated_rows": float(facts.estimated_rows),
                    "estimate_over_vendor": float(facts.estimated_rows / comparison.vendor.estimated_rows),
                    "estimate_over_vendor_paper": "0.45 to 0.85" if who == "best" else None,
                    "traffic_words": facts.traffic_words,
                    "traffic_over_vendor": facts.traffic_words / comparison.vendor.traffic_words,
                    "tiles_evaluated": comparison.candidates if who == "best" else None,
                }
            )
    return pd.DataFrame(rows)


def largest_table() -> pd.DataFrame:
    """Return how far the estimates of the largest tiles (the paper's own problem) lie apart, a row a layer."""
    rows = []
    for layer in resnet50():
        tiles, vendor = largest_tiles(layer), estimated_rows(layer, vendor_tile(layer), CHIP)
        ratios = [float(estimated_rows(layer, tile, CHIP) / vendor) for tile in tiles]
        fitting = [ratio for ratio, tile in zip(ratios, tiles, strict=True) if tile_rows(layer, tile, CHIP).fit(CHIP)]
        rows.append(
            {
                "layer": layer.name,
                "operations": tiles[0].operations,
                "tiles": len(tiles),
                "least_estimate_over_vendor": min(ratios),
                "most_estimate_over_vendor": max(ratios),
                "tiles_that_fit_rows": len(fitting),
                "least_of_those": min(fitting, default=None),
                "most_of_those": max(fitting, default=None),
            }
        )
    return pd.DataFrame(rows)


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
