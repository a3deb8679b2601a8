"""Least squares on centred and scaled powers, with heteroscedasticity-robust (HC3) errors of linear contrasts.

A linear algebra library adds in an order that depends on the processor and on its version. Here every sum of products
is rounded once (`inner`), so that a fit has the same bits everywhere.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.errors import Fault, InputError, raise_all

FloatArray = npt.NDArray[np.float64]

EPSILON = float(np.finfo(float).eps)


def inner(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product of two vectors, its products rounded each, their sum rounded once."""
    return math.fsum((a * b).tolist())


def orthonormal(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Q and R of independent ``columns`` (n, k) by Gram and Schmidt, each taken twice (Giraud et al. 2005)."""
    q = np.array(columns, dtype=np.float64)
    r = np.zeros((q.shape[1], q.shape[1]))
    for j in range(q.shape[1]):
        for i in (*range(j), *range(j)):
            part = inner(q[:, i], q[:, j])
            r[i, j] += part
            q[:, j] -= part * q[:, i]
        r[j, j] = math.sqrt(inner(q[:, j], q[:, j]))
        q[:, j] /= r[j, j]
    return q, r


def combined(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of ``columns`` (n, k) times ``weights`` (k,), added from left to right."""
    total = np.zeros(columns.shape[0])
    for column, weight in zip(columns.T, weights.tolist(), strict=True):
        total += weight * column
    return total


def checked_points(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return ``x`` and ``y`` as float vectors of one length.

    Raises `InputError` where they are not vectors of numbers, differ in length, or hold missing, infinite or absurdly
    large values.
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
    """A polynomial in ``z = (u - centre) / scale`` fitted to ``y`` by least squares."""

    u: FloatArray
    y: FloatArray
    """The points, shape (n,)."""
    degree: int
    """Highest power of ``u``."""
    centre: float
    scale: float
    """Middle and half width of the range of ``u``, so that ``z`` fills [-1, 1]."""
    q: FloatArray
    r: FloatArray
    """QR factors of the design matrix ``z**0, z**1, …``; shapes (n, degree + 1) and (degree + 1, degree + 1)."""
    coefficients: FloatArray
    """Coefficients of the powers of ``z``, in the unit of ``y``, shape (degree + 1,)."""

    @cached_property
    def fitted(self) -> FloatArray:
        """Fitted values, shape (n,)."""
        return combined(self.q, np.array([inner(column, self.y) for column in self.q.T]))

    @cached_property
    def residuals(self) -> FloatArray:
        """Observed minus fitted values, shape (n,)."""
        return np.asarray(self.y - self.fitted, dtype=np.float64)

    @cached_property
    def leverages(self) -> FloatArray:
        """Diagonal of the hat matrix, shape (n,)."""
        return combined(self.q * self.q, np.ones(self.degree + 1))

    @property
    def degrees_of_freedom(self) -> int:
        """Points minus coefficients."""
        return self.u.size - self.degree - 1

    @cached_property
    def sum_of_squares(self) -> float:
        """Residual sum of squares."""
        return inner(self.residuals, self.residuals)

    @cached_property
    def r_squared(self) -> float:
        """Share of the variance of ``y`` that the fit explains; 1 where ``y`` does not vary and is met."""
        centred = self.y - math.fsum(self.y.tolist()) / self.y.size
        total = inner(centred, centred)
        return 1.0 - self.sum_of_squares / total if total > 0 else 1.0

    def is_exact(self, tolerance: float) -> bool:
        """Whether every residual is rounding noise: below ``tolerance`` of its fitted value, up to float rounding."""
        largest = float(np.abs(self.y).max())
        return bool((np.abs(self.residuals) <= tolerance * np.abs(self.fitted) + 32 * EPSILON * largest).all())

    def powers_of_u(self) -> FloatArray:
        """Return the coefficients of ``u**0, u**1, …`` in the unit of ``y`` per unit of ``u`` to that power."""
        constant, slope = -self.centre / self.scale, 1.0 / self.scale
        total = np.zeros(self.degree + 1)
        power = np.zeros(self.degree + 2)
        power[0] = 1.0
        for coefficient in self.coefficients:
            total += coefficient * power[:-1]
            power[1:] = constant * power[1:] + slope * power[:-1]
            power[0] *= constant
        return total

    def at(self, u: float) -> FloatArray:
        """Return the contrast (over ``coefficients``) that gives the fitted value at ``u``."""
        z = (u - self.centre) / self.scale
        return np.array([math.prod([z] * power) for power in range(self.degree + 1)])

    def leading(self, u: float) -> FloatArray:
        """Return the contrast that gives the leading term, coefficient times ``u**degree``, at ``u``."""
        contrast = np.zeros(self.degree + 1)
        contrast[-1] = math.prod([u / self.scale] * self.degree)
        return contrast

    def covariance_hc3(self, contrasts: FloatArray) -> FloatArray:
        """Return the HC3 covariance of the rows of ``contrasts`` (k, degree + 1) applied to the coefficients.

        MacKinnon and White (1985): each squared residual is divided by ``(1 - leverage)**2``. The rounding of ``y``
        itself is added, so that an error is never exactly zero.
        """
        # Of each point in each contrast: the contrast over r, from the left, times q.
        weights = np.zeros((contrasts.shape[0], self.u.size))
        for row, contrast in zip(weights, contrasts, strict=True):
            found: list[float] = []
            for j in range(self.degree + 1):
                known = math.fsum(found[i] * float(self.r[i, j]) for i in range(j))
                found.append((float(contrast[j]) - known) / float(self.r[j, j]))
            row[:] = combined(self.q, np.array(found))
        inflated = self.residuals**2 / (1.0 - self.leverages) ** 2 + (EPSILON * float(np.abs(self.y).max())) ** 2
        return np.array([[inner(one * inflated, other) for other in weights] for one in weights])

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


class Powers(NamedTuple):
    """Q and R of the centred and scaled powers of sizes, none of them writable."""

    centre: float
    scale: float
    q: FloatArray
    r: FloatArray


@lru_cache(maxsize=32)
def powers_of(u: bytes, degree: int) -> Powers:
    """Return the powers up to ``degree`` of the sizes whose bytes are ``u``: many responses share their sizes."""
    sizes = np.frombuffer(u)
    low, high = float(sizes.min()), float(sizes.max())
    centre, scale = (low + high) / 2, (high - low) / 2 or 1.0
    q, r = orthonormal(np.vander((sizes - centre) / scale, degree + 1, increasing=True))
    q.flags.writeable = r.flags.writeable = False
    return Powers(centre, scale, q, r)


def fit_polynomial(u: FloatArray, y: FloatArray, degree: int) -> PolynomialFit:
    """Fit a polynomial of ``degree`` in ``u`` to ``y`` by least squares (QR of centred, scaled powers).

    Raises `InputError` where ``u`` has too few different values to determine the polynomial.
    """
    distinct = distinct_values(u)
    if distinct < degree + 1:
        raise InputError(
            Fault(
                f"a polynomial of degree {degree} needs {degree + 1} different values of the variable",
                value=distinct,
            )
        )
    centre, scale, q, r = powers_of(u.tobytes(), degree)
    coefficients = np.zeros(degree + 1)
    for j in reversed(range(degree + 1)):
        known = math.fsum(float(r[j, k]) * float(coefficients[k]) for k in range(j + 1, degree + 1))
        coefficients[j] = (inner(q[:, j], y) - known) / r[j, j]
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
