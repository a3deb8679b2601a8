"""Measured values against theory's bounds, point by point."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jouleloop.stats.regression import FloatArray, checked_points


@dataclass(frozen=True)
class BoundRatios:
    """Measured over bound, for every point."""

    ratios: FloatArray
    """Shape (n,); NaN where the bound is zero."""
    smallest: float
    median: float
    largest: float
    """Over the points with a ratio."""
    at_largest_size: float
    """The ratio at the largest size (the mean of those that share it)."""
    crossed: int
    """How many points lie on the wrong side of the bound by more than rounding."""


def bound_ratios(
    x: npt.ArrayLike, measured: npt.ArrayLike, bound: npt.ArrayLike, *, lower: bool, tolerance: float = 1e-9
) -> BoundRatios:
    """Return measured / bound per point, for a ``lower`` bound (no ratio below 1) or an upper one (none above 1).

    Raises `InputError` for anything but vectors of finite numbers of one length.
    """
    sizes, values = checked_points(x, measured)
    _, limits = checked_points(x, bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(limits == 0, np.nan, values / limits)
    made = ratios[np.isfinite(ratios)]
    crossed = values < limits * (1 - tolerance) if lower else values > limits * (1 + tolerance)
    if not made.size:
        nan = float("nan")
        return BoundRatios(ratios, nan, nan, nan, nan, int(crossed.sum()))
    last = ratios[np.isfinite(ratios) & (sizes == sizes[np.isfinite(ratios)].max())]
    return BoundRatios(
        ratios, float(made.min()), float(np.median(made)), float(made.max()), float(last.mean()), int(crossed.sum())
    )
