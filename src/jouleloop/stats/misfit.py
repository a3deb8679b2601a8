"""Does the form fit everywhere, near enough: two one-sided tests on the mean deviation in each part of the range."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from jouleloop.stats.regression import FloatArray, PolynomialFit

MOST_PARTS = 10
"""Parts into which the range is cut at most; a bend in its last tenth is still seen."""

POINTS_A_PART = 4
"""Points a part should have, where there are enough for more than two parts."""

Positions = np.ndarray[tuple[int], np.dtype[np.intp]]


@dataclass(frozen=True)
class MisfitTest:
    """Whether the mean deviation from a fit is within a margin of the mean fitted value, in every part of the range."""

    parts: int
    """How many different parts there are, of both cuts; 0 where nothing could be tested."""
    deviation: float
    low: float
    high: float
    """Of the part whose interval reaches farthest: sum of residuals over sum of fitted values, and its interval with
    confidence 1 - 2 alpha."""
    u_low: float
    u_high: float
    """The sizes between which that part lies, in the regressor."""
    p_value: float
    """The error of calling the deviation within the margin in every part: the largest of the parts' p-values, which
    needs no correction for their number, because all have to pass. NaN if untestable."""
    margin: float
    alpha: float
    """As asked."""
    note: str = ""
    """Why nothing could be tested; empty where it could."""

    @property
    def within(self) -> bool:
        """Whether every part's interval lies inside the margins."""
        return -self.margin < self.low and self.high < self.margin


def misfit_test(fit: PolynomialFit, margin: float, alpha: float) -> MisfitTest:
    """Test whether the mean deviation from ``fit`` is less than ``margin`` in each of up to ten parts of the range.

    The range is cut twice, into parts of nearly equal numbers of points and into parts of equal width, equal sizes
    together: where sizes crowd at one end (a grid of mn), a bend can hide from either cut alone. In a part of k points
    the sum of residuals has the standard error √k s, s² being the variance of its residuals, each divided by one minus
    its leverage (as HC3 does). What bends within a part counts as scatter there, which widens the interval. Student's t
    with k − 1 degrees of freedom.
    """
    nan, infinity = float("nan"), float("inf")
    parts = _parts(fit.u)
    note = ""
    if len(parts) < 2:
        note = "there are too few points to see whether the form fits in each part of the range"
    elif any(float(fit.fitted[part].sum()) <= 0 for part in parts):
        note = "the fit is not above zero everywhere, so deviations from it have no share"
    if note:
        return MisfitTest(0, nan, -infinity, infinity, nan, nan, nan, margin, alpha, note)
    residuals = fit.residuals / np.maximum(1 - fit.leverages, 1e-9)
    worst, p_value = None, 0.0
    for part in parts:
        whole = float(fit.fitted[part].sum())
        deviation = float(fit.residuals[part].sum()) / whole
        error = float(np.sqrt(part.size) * residuals[part].std(ddof=1)) / whole
        error = max(error, float(np.finfo(float).eps))
        freedom = part.size - 1
        reach = float(special.stdtrit(freedom, 1 - alpha)) * error
        p_value = max(p_value, float(special.stdtr(freedom, (abs(deviation) - margin) / error)))
        if worst is None or abs(deviation) + reach > abs(worst[0]) + worst[1]:
            worst = (deviation, reach, float(fit.u[part].min()), float(fit.u[part].max()))
    assert worst is not None  # noqa: S101 - there are parts
    deviation, reach, u_low, u_high = worst
    return MisfitTest(
        len(parts), deviation, deviation - reach, deviation + reach, u_low, u_high, p_value, margin, alpha
    )


def _parts(u: FloatArray) -> list[Positions]:
    """Return the positions of the points of each part, for both ways to cut; every part has two points or more."""
    sizes, group, counts = np.unique(u, return_inverse=True, return_counts=True)
    wanted = min(MOST_PARTS, max(2, sizes.size // POINTS_A_PART))
    # A size belongs to the part in which the middle of its points lies.
    by_points = (np.cumsum(counts) - counts / 2) * wanted / u.size
    by_width = (sizes - sizes[0]) * wanted / max(sizes[-1] - sizes[0], np.finfo(float).tiny)
    fewest = min(POINTS_A_PART, u.size // 2)
    parts: list[Positions] = []
    for numbers in (by_points, by_width):
        number = np.minimum(numbers.astype(np.intp), wanted - 1)[group]
        cut: list[Positions] = []
        for value in range(wanted):
            members = np.flatnonzero(number == value)
            if cut and (members.size < fewest or cut[-1].size < fewest):
                cut[-1] = np.concatenate([cut[-1], members])
            elif members.size:
                cut.append(members)
        if len(cut) > 1:
            parts += [part for part in cut if not any(np.array_equal(part, other) for other in parts)]
    return parts
