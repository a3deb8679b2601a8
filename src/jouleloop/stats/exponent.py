"""The exponent of a growth: E = c0 + c1 x^k fitted by profile least squares, with the profile interval of k."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from jouleloop.stats.regression import EPSILON, FloatArray, checked_points, distinct_values, inner

LOWEST_EXPONENT, HIGHEST_EXPONENT = -4.0, 8.0


@dataclass(frozen=True)
class ExponentFit:
    """The power law with an additive constant that fits best."""

    exponent: float
    """``k``; NaN where it cannot be fitted (``note`` says why)."""
    low: float
    high: float
    """Profile-likelihood interval of ``k``; infinite on a side that the points leave open."""
    c0: float
    c1: float
    """Additive and multiplicative coefficient, in the unit of the response."""
    expected: float
    """The exponent theory gives on these points; NaN where it gives none."""
    agrees: str
    """'yes' if the whole interval lies within the tolerance of ``expected``, 'no' if all of it lies outside,
    'undecided' otherwise, '' where nothing is expected."""
    note: str = ""
    """Why there is no fit."""


def exponent_fit(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    expected: float | None = None,
    *,
    tolerance: float = 0.02,
    alpha: float = 0.05,
) -> ExponentFit:
    """Fit ``y = c0 + c1 x**k`` and compare ``k`` with the expected exponent.

    For every ``k`` the best ``c0`` and ``c1`` are linear least squares, so only ``k`` is searched. Its interval holds
    the exponents whose residual sum of squares is below ``S_min (1 + F / (n - 3))`` with ``F`` the 1 - alpha quantile
    of the F distribution with 1 and n - 3 degrees of freedom.

    Raises `InputError` for anything but vectors of finite numbers of one length.

    References
    ----------
    Bates and Watts (1988), Nonlinear Regression Analysis, Section 6.1 (profile t).
    """
    u, response = checked_points(x, y)
    nan = float("nan")
    wanted = nan if expected is None else expected

    def nothing(note: str) -> ExponentFit:
        return ExponentFit(nan, nan, nan, nan, nan, wanted, "" if expected is None else "undecided", note)

    if u.size < 4 or distinct_values(u) < 4:
        return nothing("an exponent needs 4 different sizes")
    if (u <= 0).any():
        return nothing("an exponent needs sizes above zero")
    spread = float(np.ptp(response))
    if spread <= 32 * EPSILON * float(np.abs(response).max()):
        return nothing("the response does not vary")
    power = _Power(u, response, spread)
    grid = np.linspace(LOWEST_EXPONENT, HIGHEST_EXPONENT, 97)
    best = int(np.argmin([power.squares(float(k)) for k in grid]))
    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)]))
    k = float(optimize.minimize_scalar(power.squares, bounds=around, method="bounded", options={"xatol": 1e-10}).x)
    if min(k - LOWEST_EXPONENT, HIGHEST_EXPONENT - k) < 1e-3:
        return nothing(f"no power between {LOWEST_EXPONENT:g} and {HIGHEST_EXPONENT:g} fits best")
    # The rounding of the response bounds how well any sum of squares is known.
    floor = u.size * (8 * EPSILON * float(np.abs(response).max()) / spread) ** 2
    threshold = (power.squares(k) + floor) * (1 + float(special.fdtri(1, u.size - 3, 1 - alpha)) / (u.size - 3))
    low = _crossing(power.squares, threshold, k, LOWEST_EXPONENT)
    high = _crossing(power.squares, threshold, k, HIGHEST_EXPONENT)
    agrees = ""
    if expected is not None:
        inside = expected - tolerance <= low and high <= expected + tolerance
        outside = high < expected - tolerance or low > expected + tolerance
        agrees = "yes" if inside else "no" if outside else "undecided"
    return ExponentFit(k, low, high, *power.coefficients(k), wanted, agrees)


class _Power:
    """The form ``c0 + c1 x**k`` on some points, of which ``spread`` is the range of the response."""

    def __init__(self, x: FloatArray, response: FloatArray, spread: float) -> None:
        self._largest, self._mean, self._spread = float(x.max()), float(response.mean()), spread
        self._logarithm = np.log(x / x.max())
        self._centred = (response - response.mean()) / spread

    def squares(self, k: float) -> float:
        """Return the least residual sum of squares of an exponent, the response scaled to a range of 1."""
        # (w^k - 1) / k passes into log w at k = 0.
        values = np.expm1(k * self._logarithm) / k if abs(k) > 1e-9 else self._logarithm
        v = np.asarray(values - values.mean(), dtype=np.float64)
        residual = self._centred - v * (inner(v, self._centred) / inner(v, v))
        return inner(residual, residual)

    def coefficients(self, k: float) -> tuple[float, float]:
        """Return the best c0 and c1 of an exponent, in the unit of the response."""
        power = np.exp(k * self._logarithm)
        moved = power - power.mean()
        slope = inner(moved, self._centred) / inner(moved, moved) * self._spread
        return self._mean - slope * float(power.mean()), slope / self._largest**k


def _crossing(squares: Callable[[float], float], threshold: float, inside: float, limit: float) -> float:
    """Return where ``squares`` rises above ``threshold`` between ``inside`` and ``limit``, infinite if nowhere."""
    direction = 1.0 if limit > inside else -1.0
    near, step = inside, 1e-7
    while True:
        far = inside + direction * step
        if (far - limit) * direction >= 0:
            return direction * float("inf")
        if squares(far) > threshold:
            break
        near, step = far, step * 2
    if near == inside:
        return far
    # SciPy wraps the function in one that refers to itself: without this, its vectors would stay until Python looks.
    lent = [squares]
    found = float(optimize.brentq(lambda k: lent[0](k) - threshold, near, far, xtol=1e-10))
    lent.clear()
    return found
