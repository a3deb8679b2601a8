"""What the residuals are: divisibility of the layer's dimensions, and the lower envelope of the best layers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from jouleloop.division import divisors, factorised
from jouleloop.errors import Fault, InputError
from jouleloop.stats.expected import Growth, growth_named
from jouleloop.stats.growth import GrowthTest, fit_growth
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray, checked_points, distinct_values, fit_polynomial

_DECIMALS = 12
"""Of residuals relative to the fit: what differs by less is rounding noise, and equal."""


def factorisation_count(number: int, levels: int) -> int:
    """Return in how many ways ``number`` is an ordered product of ``levels`` factors, one loop bound a level.

    Each prime's exponent e is spread over the levels in binomial(e + levels - 1, levels - 1) ways, independently.
    """
    return math.prod(math.comb(exponent + levels - 1, levels - 1) for _, exponent in factorised(number))


@dataclass(frozen=True)
class ResidualStructure:
    """How the relative residuals go with the divisibility of the layer's dimensions."""

    relative_residuals: FloatArray
    """Residual over fitted value, shape (n,); zero for an exact fit."""
    divisors: npt.NDArray[np.int64]
    """Product over the dimensions of their numbers of divisors, shape (n,)."""
    factorisations: npt.NDArray[np.int64]
    """Product over the dimensions of their numbers of ordered factorisations, shape (n,)."""
    correlation: float
    p_value: float
    """Spearman's rank correlation of the residuals with ``factorisations`` and its p-value; negative: layers that can
    be tiled in more ways cost less. NaN where either does not vary."""


def residual_structure(
    test: GrowthTest, x: npt.ArrayLike, dimensions: Mapping[str, npt.ArrayLike], levels: int = 3
) -> ResidualStructure:
    """Relate the residuals of ``test`` to how many divisors and index factorisations the layers' dimensions have.

    Raises `InputError` where nothing was fitted or the lengths differ.

    Parameters
    ----------
    test
        A fitted growth test.
    x
        The variable's values it was made on, in the same order.
    dimensions
        The dimensions that vary, by name (C, M, …), whole numbers of shape (n,).
    levels
        Levels of the storage hierarchy over which a dimension is factorised.
    """
    residuals = np.asarray(test.residuals, dtype=np.float64)
    if not residuals.size:
        raise InputError(Fault("there are no residuals: nothing was fitted"))
    columns = {name: [int(v) for v in np.asarray(values)] for name, values in dimensions.items()}
    fitted = test.predict(x)
    if fitted.size != residuals.size or any(len(values) != residuals.size for values in columns.values()):
        raise InputError(Fault("variable, dimensions and residuals differ in length"))
    relative = np.round(np.where(residuals == 0, 0.0, residuals / fitted), _DECIMALS)
    rows = range(residuals.size)
    counts = [math.prod(len(divisors(values[i])) for values in columns.values()) for i in rows]
    factorisations = [math.prod(factorisation_count(values[i], levels) for values in columns.values()) for i in rows]
    correlation = p_value = float("nan")
    if np.ptp(relative) > 0 and len(set(factorisations)) > 1 and residuals.size > 3:
        correlation, p_value = rank_correlation(relative, factorisations)
    return ResidualStructure(
        np.asarray(relative, dtype=np.float64),
        np.array(counts, dtype=np.int64),
        np.array(factorisations, dtype=np.int64),
        correlation,
        p_value,
    )


def rank_correlation(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float]:
    """Return Spearman's rank correlation of two vectors that vary, and its two-sided p-value by Student's t.

    As `scipy.stats.spearmanr`, without `scipy.stats`, which takes half a second to import.
    """
    ranks = [pd.Series(np.asarray(values, dtype=np.float64)).rank().to_numpy() for values in (x, y)]
    found = np.asarray(np.corrcoef(np.column_stack(ranks), rowvar=False))[1, 0]
    freedom = len(ranks[0]) - 2
    with np.errstate(divide="ignore"):
        t = found * np.sqrt((freedom / ((found + 1.0) * (1.0 - found))).clip(0))
    return float(found), float(2 * special.stdtr(freedom, -np.abs(t)))


@dataclass(frozen=True)
class LowerEnvelope:
    """The best layers of a sweep and how their response grows."""

    indices: tuple[int, ...]
    """Positions of the best layers, by increasing size."""
    test: GrowthTest
    """The growth test on them alone."""


def lower_envelope(
    x: npt.ArrayLike, y: npt.ArrayLike, expected: str | Growth, options: StatisticsOptions | None = None
) -> LowerEnvelope | None:
    """Return the lower envelope: the cheapest layer for its size in each of sqrt(2 n) blocks of neighbouring sizes.

    Cheapest means the smallest ratio of response to the fitted growth, so that a block's smaller sizes have no
    advantage. Blocks, not a convex hull: a hull can only bend upwards and would confirm its own shape. None where there
    are too few points for an envelope of its own, or where nothing could be fitted.

    Raises `InputError` as `jouleloop.stats.growth.fit_growth`.
    """
    growth = growth_named(expected)
    options = options or StatisticsOptions()
    sizes, response = checked_points(x, y)
    u = growth.regressors(sizes)
    blocks = math.isqrt(2 * sizes.size)
    if blocks < options.minimum_points or distinct_values(u) < max(blocks, growth.degree + 2) or not response.any():
        return None
    fitted = fit_polynomial(u, response, growth.degree).fitted
    if (fitted <= 0).any():
        return None
    ratio = np.round(response / fitted, _DECIMALS)
    order = np.lexsort((ratio, sizes))
    best = [int(block[np.argmin(ratio[block])]) for block in np.array_split(order, blocks)]
    return LowerEnvelope(tuple(best), fit_growth(sizes[best], response[best], growth, options))
