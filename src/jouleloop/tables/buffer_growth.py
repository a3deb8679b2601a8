"""Where the linear law breaks: each buffer of a sweep of an architecture judged by theory and by the growth test."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray
from jouleloop.tables.layouts import BUFFER_GROWTH

_MEASURED = "theory_measured_dram_words"


def vertex_words(points: pd.DataFrame) -> FloatArray:
    """Return the words of inputs and outputs, 2μ + ν of paper 002: all measured words less those of the mn weights."""
    return np.asarray(points[_MEASURED] - points["C"] * points["M"], dtype=np.float64)


def crossover_words(points: pd.DataFrame) -> FloatArray:
    """Return the buffer 1 + mn/(n + 2m) below which the term mn/(β − 1) of 002 eq. (28) exceeds n + 2m.

    Above it the terms n and m lead the words of inputs and outputs, which no longer grow with mn.
    """
    n, m = (points[size].to_numpy(dtype=np.float64) for size in ("C", "M"))
    return np.asarray(1 + n * m / (n + 2 * m))


_RESPONSES: dict[str, Callable[[pd.DataFrame], FloatArray]] = {
    "dram_words": lambda points: points[_MEASURED].to_numpy(dtype=np.float64),
    "vertex_words": vertex_words,
    "data_pj": lambda points: points["data_pj"].to_numpy(dtype=np.float64),
}


def buffer_growth_table(bounds: pd.DataFrame, options: StatisticsOptions) -> pd.DataFrame:
    """Return the verdicts on linear growth of every variant of an architecture.

    Three series: inputs and outputs, the other side fixed at its most frequent size, and mn over all layers. Of each,
    all DRAM words, those of inputs and outputs, and the data energy [pJ] are tested. Beside them stand the least and
    largest ratios of the measured words to the bounds over all layers.

    Parameters
    ----------
    bounds
        The table of `fc_hardware_table`.
    """
    rows = []
    varied = bounds[bounds["variant"].fillna("") != ""]
    for (architecture, sweep, variant), points in varied.groupby(["architecture", "sweep", "variant"], sort=False):
        from jouleloop.stats.growth import fit_growth  # noqa: PLC0415 - slow to import, and most runs vary no buffer

        common = {"architecture": architecture, "sweep": sweep, "variant": variant} | _beside_bounds(points)
        for (grown, series), response in product(_series(points).items(), _RESPONSES):
            test = fit_growth(series["C"] * series["M"], _RESPONSES[response](series), "linear", options)
            rows.append(
                {
                    **common,
                    "grown": grown,
                    "points": len(series),
                    "response": response,
                    "verdict": str(test.verdict.outcome),
                    "reason": test.verdict.reason,
                    "r_squared": test.r_squared,
                    "largest_deviation": test.max_relative_deviation,
                }
            )
    table = pd.DataFrame(rows, columns=[column.name for column in BUFFER_GROWTH.columns])
    return table.sort_values(["architecture", "sweep", "buffer_words"], kind="stable", ignore_index=True)


def _series(points: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        "inputs": points[points["M"] == points["M"].mode().max()],
        "outputs": points[points["C"] == points["C"].mode().max()],
        "mn": points,
    }


def _beside_bounds(points: pd.DataFrame) -> dict[str, object]:
    beta = points["buffer_words"]
    ratios = {
        name: points[_MEASURED] / points[f"{name}_words"].astype("float64")
        for name in ("lower", "eq_28", "partitioned")
    }
    return {
        "buffer_words": int(beta.iloc[0]),
        "layers": len(points),
        "resident_layers": int((points[["C", "M"]].min(axis=1) < beta).sum()),
        "streaming_layers": int((beta < crossover_words(points)).sum()),
        "lower_ratio_max": ratios["lower"].max(),
        **{
            f"{name}_ratio_{end}": getattr(ratios[name], end)()
            for name in ("eq_28", "partitioned")
            for end in ("min", "max")
        },
    }
