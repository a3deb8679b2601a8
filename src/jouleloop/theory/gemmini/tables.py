"""Tables of the Gemmini tiles: the best beside the vendor's (Figure 4 of paper 001)."""

import pandas as pd

from jouleloop.theory.gemmini.compare import PAPER_VENDOR_UTILIZATION, Comparison, compare
from jouleloop.theory.gemmini.largest import largest_tiles
from jouleloop.theory.gemmini.optimum import Objective
from jouleloop.theory.gemmini.tile import resnet50


def resnet_comparisons(batch: int = 1000) -> list[Comparison]:
    """Return, for the five ResNet-50 sizes, both objectives, and the estimate with the whole image where it fits."""
    layers = resnet50(batch)
    results = [compare(layer, objective=objective) for objective in Objective for layer in layers]
    results += [compare(layer, whole_image=True) for layer in layers if layer.name in {"conv4", "conv5"}]
    return results


def comparison_table(batch: int = 1000) -> pd.DataFrame:
    """Return a row a layer and tile: rows, estimate, traffic, utilization, beside the paper's statements."""
    rows = []
    for comparison in resnet_comparisons(batch):
        for who, facts in (("vendor", comparison.vendor), ("best", comparison.best)):
            said = PAPER_VENDOR_UTILIZATION.get(comparison.layer.name) if who == "vendor" else None
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


def largest_table(batch: int = 1000) -> pd.DataFrame:
    """Return how far the estimates of the largest tiles (the paper's own problem) lie apart, a row a layer."""
    rows = []
    for layer in resnet50(batch):
        found = largest_tiles(layer)
        fitting = [float(ratio) for ratio, fits in zip(found.ratios, found.fit_rows, strict=True) if fits]
        rows.append(
            {
                "layer": layer.name,
                "operations": found.operations,
                "tiles": len(found.tiles),
                "least_estimate_over_vendor": float(min(found.ratios)),
                "most_estimate_over_vendor": float(max(found.ratios)),
                "tiles_that_fit_rows": len(fitting),
                "least_of_those": min(fitting, default=None),
                "most_of_those": max(fitting, default=None),
            }
        )
    return pd.DataFrame(rows)
