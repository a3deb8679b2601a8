"""How p-values and verdicts move when a heuristic search leaves energies a little above the optima."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.stats.expected import growth_named
from jouleloop.stats.growth import decide
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.quadratic import quadratic_test
from jouleloop.stats.regression import checked_points

KEYS = ["sweep", "architecture", "response"]


@dataclass(frozen=True)
class SearchNoise:
    """P-values of the paper's test when every optimum is missed by up to a given share."""

    p_value: float
    """On the proven optima; NaN where they are exact."""
    quantiles: tuple[float, float, float]
    """5 %, 50 % and 95 % quantile of the p-values under search noise."""
    below_alpha: float
    """Share of the simulations with a p-value below alpha."""
    verdicts: dict[str, float]
    """Share of the simulations per verdict."""


def search_noise(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    expected: str,
    *,
    excess: float = 0.001,
    simulations: int = 200,
    seed: int = 0,
    options: StatisticsOptions | None = None,
) -> SearchNoise:
    """Simulate a search that stops within ``excess`` of the optimum, uniformly and independently a point.

    The default of 0.1 % is the tolerance of Timeloop's mapper: energies closer than that count as equal and the next
    metric decides (``IsBetterRecursive_`` in its mapper-thread.cpp), so what it reports may lie that much above the
    least.

    Raises `InputError` as `jouleloop.stats.growth.fit_growth`, and for an excess that is not positive.
    """
    if not excess > 0 or simulations < 1:
        raise InputError(Fault("excess and simulations must be positive", value=(excess, simulations)))
    options = options or StatisticsOptions()
    sizes, response = checked_points(x, y)
    u = growth_named(expected).regressors(sizes)
    generator = np.random.default_rng(seed)
    p_values, verdicts = [], []
    for _ in range(simulations):
        found = response * (1 + generator.uniform(0, excess, response.size))
        p_values.append(quadratic_test(u, found, options.exact_tolerance).p_value)
        verdicts.append(decide(sizes, found, expected, options).outcome.value)
    values = np.array(p_values)
    low, median, high = (
        (float(q) for q in np.nanquantile(values, [0.05, 0.5, 0.95]))
        if np.isfinite(values).any()
        else ((float("nan"),) * 3)
    )
    return SearchNoise(
        quadratic_test(u, response, options.exact_tolerance).p_value,
        (low, median, high),
        float((values < options.alpha).mean()),
        {name: verdicts.count(name) / simulations for name in sorted(set(verdicts))},
    )


def compare_verdicts(proven: pd.DataFrame, heuristic: pd.DataFrame) -> pd.DataFrame:
    """Put the verdicts on proven optima beside those on a heuristic search's results.

    Raises `InputError` where they have nothing in common.

    Parameters
    ----------
    proven, heuristic
        Two tables of `jouleloop.stats.analysis.analyse_table`.

    Returns
    -------
    DataFrame
        One row per sweep, architecture and response found in both: p-values, shares, exponents, verdicts, and whether
        the verdict moved.
    """
    shown = ["quadratic_p", "published_p", "excess_share", "exponent", "verdict"]
    joined = proven[KEYS + shown].merge(
        heuristic[KEYS + [name for name in shown if name != "published_p"]], on=KEYS, suffixes=("_proven", "_heuristic")
    )
    if joined.empty:
        raise InputError(Fault("the two tables of verdicts have no sweep, architecture and response in common"))
    joined["verdict_moved"] = joined["verdict_proven"] != joined["verdict_heuristic"]
    return joined
