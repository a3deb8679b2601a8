"""Least squares on centred and scaled powers, with heteroscedasticity-robust (HC3) errors of linear contrasts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.polynomial import polynomial

from jouleloop.errors import Fault, InputError, raise_all

FloatArray = npt.NDArray[np.float64]

EPSILON = float(np.finfo(float).eps)


def checked_points(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return ``x`` and ``y`` as float vectors of one length.

    Raises
    ------
    InputError
        Where they are not vectors of numbers, differ in length, or hold missing, infinite or absurdly large values.
    """
    vectors: list[FloatArray] = []
    faults: list[Fault] = []
    for name, values in (("x", x), ("y", y)):
        try:
            vector = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            faults.append(Fault("not a vector of numbers", field=name))
            continue
        if vector.ndim != 1:
            faults.append(Fault("not a vector", field=name, value=vector.shape, allowed="one dimension"))
        elif not np.isfinite(vector).all():
            bad = int(np.flatnonzero(~np.isfinite(vector))[0])
            faults.append(Fault(f"missing or infinite value at position {bad}", field=name))
        elif vector.any() and not 1e-100 < float(np.abs(vector).max()) < 1e100:
            faults.append(Fault("the values' squares cannot be represented", field=name, allowed="1e-100 to 1e100"))
        vectors.append(vector)
    if not faults and vectors[0].size != vectors[1].size:
        faults.append(Fault(f"x has {vectors[0].size} values, y has {vectors[1].size}"))
    raise_all(faults)
    return vectors[0], vectors[1]


@dataclass(frozen=True)
class Ratio:
    """The ratio of two contrasts with its Fieller interval; unbounded where the denominator may be zero."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PolynomialFit:
    """A polynomial in ``z = (u - centre) / scale`` fitted to ``y`` by least squares.

    Attributes
    ----------
    u, y
        The points, shape (n,).
    degree
        Highest power of ``u``.
    centre, scale
        Middle and half width of the range of ``u``, so that ``z`` fills [-1, 1].
    q, r
        QR factors of the design matrix ``z**0, z**1, …``; shapes (n, degree + 1) and (degree + 1, degree + 1).
    coefficients
        Coefficients of the powers of ``z``, in the unit of ``y``, shape (degree + 1,).
    """

    u: FloatArray
    y: FloatArray
    degree: int
    centre: float
    scale: float
    q: FloatArray
    r: FloatArray
    coefficients: FloatArray

    @cached_property
    def fitted(self) -> FloatArray:
        """Fitted values, shape (n,)."""
        return np.asarray(self.q @ (self.q.T @ self.y), dtype=np.float64)

    @cached_property
    def residuals(self) -> FloatArray:
        """Observed minus fitted values, shape (n,)."""
        return np.asarray(self.y - self.fitted, dtype=np.float64)

    @cached_property
    def leverages(self) -> FloatArray:
        """Diagonal of the hat matrix, shape (n,)."""
        return np.asarray((self.q * self.q).sum(axis=1), dtype=np.float64)

    @property
    def degrees_of_freedom(self) -> int:
        """Points minus coefficients."""
        return self.u.size - self.degree - 1

    @cached_property
    def sum_of_squares(self) -> float:
        """Residual sum of squares."""
        return float(self.residuals @ self.residuals)

    @cached_property
    def r_squared(self) -> float:
        """Share of the variance of ``y`` that the fit explains; 1 where ``y`` does not vary and is met."""
        centred = self.y - self.y.mean()
        total = float(centred @ centred)
        return 1.0 - self.sum_of_squares / total if total > 0 else 1.0

    def is_exact(self, tolerance: float) -> bool:
        """Whether every residual is rounding noise: below ``tolerance`` of its fitted value, up to float rounding."""
        largest = float(np.abs(self.y).max())
        return bool((np.abs(self.residuals) <= tolerance * np.abs(self.fitted) + 32 * EPSILON * largest).all())

    def powers_of_u(self) -> FloatArray:
        """Return the coefficients of ``u**0, u**1, …`` in the unit of ``y`` per unit of ``u`` to that power."""
        shift = np.array([-self.centre / self.scale, 1.0 / self.scale])
        total = np.zeros(self.degree + 1)
        power = np.array([1.0])
        for coefficient in self.coefficients:
            total[: power.size] += coefficient * power
            power = polynomial.polymul(power, shift)
        return total

    def at(self, u: float) -> FloatArray:
        """Return the contrast (over ``coefficients``) that gives the fitted value at ``u``."""
        return np.asarray(((u - self.centre) / self.scale) ** np.arange(self.degree + 1), dtype=np.float64)

    def leading(self, u: float) -> FloatArray:
        """Return the contrast that gives the leading term, coefficient times ``u**degree``, at ``u``."""
        contrast = np.zeros(self.degree + 1)
        contrast[-1] = (u / self.scale) ** self.degree
        return contrast

    def covariance_hc3(self, contrasts: FloatArray) -> FloatArray:
        """Return the HC3 covariance of the rows of ``contrasts`` (k, degree + 1) applied to the coefficients.

        MacKinnon and White (1985): each squared residual is divided by ``(1 - leverage)**2``. The rounding of ``y``
        itself is added, so that an error is never exactly zero.
        """
        weights = np.linalg.solve(self.r.T, contrasts.T).T @ self.q.T
        inflated = self.residuals**2 / (1.0 - self.leverages) ** 2 + (EPSILON * float(np.abs(self.y).max())) ** 2
        return np.asarray((weights * inflated) @ weights.T, dtype=np.float64)

    @property
    def robust_errors_exist(self) -> bool:
        """Whether HC3 is defined: degrees of freedom are left and no point alone determines its own fitted value."""
        return self.degrees_of_freedom > 0 and bool((self.leverages < 1 - 1e-9).all())


def distinct_values(u: FloatArray) -> int:
    """Return how many different values ``u`` holds, those closer than rounding being the same."""
    if u.size == 0:
        return 0
    ordered = np.sort(u)
    return 1 + int((np.diff(ordered) > 1e-12 * np.abs(ordered).max()).sum())


def fit_polynomial(u: FloatArray, y: FloatArray, degree: int) -> PolynomialFit:
    """Fit a polynomial of ``degree`` in ``u`` to ``y`` by least squares (QR of centred, scaled powers).

    Raises
    ------
    InputError
        Where ``u`` has too few different values to determine the polynomial.
    """
    distinct = distinct_values(u)
    if distinct < degree + 1:
        raise InputError(
            Fault(
                f"a polynomial of degree {degree} needs {degree + 1} different values of the variable",
                value=distinct,
            )
        )
    low, high = float(u.min()), float(u.max())
    centre, scale = (low + high) / 2, (high - low) / 2 or 1.0
    q, r = np.linalg.qr(np.vander((u - centre) / scale, degree + 1, increasing=True))
    coefficients = np.linalg.solve(r, q.T @ y)
    return PolynomialFit(u, y, degree, centre, scale, q, r, coefficients)


def fieller(numerator: float, denominator: float, covariance: FloatArray, quantile: float) -> Ratio:
    """Return ``numerator / denominator`` with Fieller's interval for the given quantile of Student's t.

    The interval is the set of ratios ``s`` for which ``numerator - s * denominator`` does not differ from zero, an
    exact statement about a linear contrast; no expansion of the ratio is involved (Fieller 1954).
    """
    squared = quantile**2
    a = denominator**2 - squared * covariance[1, 1]
    b = numerator * denominator - squared * covariance[0, 1]
    c = numerator**2 - squared * covariance[0, 0]
    value = numerator / denominator if denominator else float("nan")
    if a <= 0:
        return Ratio(value, float("-inf"), float("inf"))
    root = float(np.sqrt(max(b * b - a * c, 0.0)))
    return Ratio(value, float((b - root) / a), float((b + root) / a))
