"""Do the expected form and its assumptions hold: RESET, Rainbow, Breusch–Pagan, Durbin–Watson, Cook's distance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from jouleloop.stats.regression import FloatArray, PolynomialFit, checked_points, distinct_values, fit_polynomial, inner

NAN = float("nan")


@dataclass(frozen=True)
class SpecificationTests:
    """Tests of a polynomial fit; NaN where a test cannot be made on these points."""

    reset_p: float = NAN
    """Ramsey's RESET: do powers of the fitted value add anything? Small: another form is needed."""
    rainbow_p: float = NAN
    """Does the centre of the range follow a better line of its own? Small: the form bends."""
    breusch_pagan_p: float = NAN
    """Does the spread change with the variable (Koenker's studentised form)? Small: it does; HC3 errors are in
    place."""
    durbin_watson: float = NAN
    """2 for residuals unrelated to their neighbours in size, towards 0 for runs, towards 4 for alternation. Sizes that
    repeat enter with their mean residual, so that the order of ties does not matter."""
    durbin_watson_p: float = NAN
    """Two-sided, by the beta approximation with exact mean and variance; NaN where sizes repeat."""
    cook_max: float = NAN
    cook_index: int = -1
    """Largest Cook's distance and the position of its point."""
    influential: int = 0
    """How many points exceed the median of F(p, n - p), the usual mark of an influential point."""


def specification_tests(
    x: npt.ArrayLike, y: npt.ArrayLike, degree: int, *, rainbow_fraction: float = 0.5, reset_power: int = 3
) -> SpecificationTests:
    """Return the tests of ``y`` as a polynomial of ``degree`` in ``x``.

    The Harvey–Collier test is not among them: on repeated or gridded sizes its recursive residuals are singular or
    depend on the order of the rows.

    Raises `InputError` for anything but vectors of finite numbers of one length.

    References
    ----------
    Ramsey (1969); Utts (1982); Koenker (1981); Durbin and Watson (1971); Cook (1977).
    """
    u, response = checked_points(x, y)
    parameters = degree + 1
    if u.size < parameters + 1 or distinct_values(u) < parameters + 1:
        return SpecificationTests()
    # A response of unit spread around zero keeps the powers of the fitted value well conditioned.
    spread = float(np.ptp(response)) or 1.0
    fit = fit_polynomial(u, (response - response.mean()) / spread, degree)
    if fit.sum_of_squares == 0:
        return SpecificationTests()
    durbin_watson, durbin_watson_p = _durbin_watson(fit)
    cook = _cook_distances(fit)
    mark = float(special.fdtri(parameters, u.size - parameters, 0.5))
    return SpecificationTests(
        reset_p=_reset(fit, reset_power),
        rainbow_p=_rainbow(fit, rainbow_fraction),
        breusch_pagan_p=_breusch_pagan(fit),
        durbin_watson=durbin_watson,
        durbin_watson_p=durbin_watson_p,
        cook_max=float(cook.max()),
        cook_index=int(np.argmax(cook)),
        influential=int((cook > mark).sum()),
    )


def _design(fit: PolynomialFit) -> FloatArray:
    return np.vander((fit.u - fit.centre) / fit.scale, fit.degree + 1, increasing=True)


def _reset(fit: PolynomialFit, power: int) -> float:
    added = power - 1
    # On k different sizes there are no more than k independent powers.
    if fit.degree < 1 or fit.degrees_of_freedom <= added or distinct_values(fit.u) <= fit.degree + added:
        return NAN
    powers = np.column_stack([fit.fitted**k for k in range(2, power + 1)])
    # What the powers add to the design; where the response is nearly a line, hardly anything but rounding.
    extra = powers - fit.q @ (fit.q.T @ powers)
    basis, sizes, _ = np.linalg.svd(extra / np.linalg.norm(powers, axis=0), full_matrices=False)
    basis = basis[:, sizes > 1e-7]
    added = basis.shape[1]
    if added == 0:
        return NAN
    gained = float(((basis.T @ fit.residuals) ** 2).sum())
    left = fit.sum_of_squares - gained
    freedom = fit.degrees_of_freedom - added
    if left <= 0:
        return 0.0
    return float(special.fdtrc(added, freedom, gained / added / (left / freedom)))


def _breusch_pagan(fit: PolynomialFit) -> float:
    if fit.degree < 1 or fit.degrees_of_freedom < 2:
        return NAN
    from statsmodels.stats.diagnostic import het_breuschpagan  # noqa: PLC0415 - slow to import

    _, p_value, _, _ = het_breuschpagan(fit.residuals, _design(fit), robust=True)
    return float(p_value)


def _rainbow(fit: PolynomialFit, fraction: float) -> float:
    """Return the p-value of Utts' Rainbow test on the central sizes.

    Sizes equal to the first or last of the central points are taken in with them, so that the order of ties does not
    matter; without ties this is statsmodels' ``linear_rainbow``.
    """
    n = fit.u.size
    ordered = np.sort(fit.u)
    first = int(np.ceil(0.5 * (1 - fraction) * n))
    last = int(np.floor(first + fraction * n))
    central = (fit.u >= ordered[first]) & (fit.u <= ordered[min(last, n) - 1])
    middling = int(central.sum())
    parameters = fit.degree + 1
    if n - middling < 1 or middling <= parameters or distinct_values(fit.u[central]) < parameters:
        return NAN
    middle = fit_polynomial(fit.u[central], fit.y[central], fit.degree)
    if middle.sum_of_squares <= 0:
        return 0.0
    ratio = (fit.sum_of_squares - middle.sum_of_squares) / (n - middling)
    ratio /= middle.sum_of_squares / middle.degrees_of_freedom
    return float(special.fdtrc(n - middling, middle.degrees_of_freedom, max(ratio, 0.0)))


def _durbin_watson(fit: PolynomialFit) -> tuple[float, float]:
    sizes, group, counts = np.unique(fit.u, return_inverse=True, return_counts=True)
    residuals = np.zeros(sizes.size)
    np.add.at(residuals, group, fit.residuals)
    residuals /= counts
    squares = inner(residuals, residuals)
    if squares == 0 or sizes.size <= fit.degree + 2:
        return NAN, NAN
    differences = np.diff(residuals)
    statistic = inner(differences, differences) / squares
    if sizes.size < fit.u.size:
        return statistic, NAN
    order = np.argsort(fit.u, kind="stable")
    mean, variance = _durbin_watson_moments(fit.q[order])
    # Beta on (0, 4) with these moments.
    scaled_mean, scaled_variance = mean / 4, variance / 16
    common = scaled_mean * (1 - scaled_mean) / scaled_variance - 1
    if common <= 0:
        return statistic, NAN
    lower = float(special.betainc(scaled_mean * common, (1 - scaled_mean) * common, statistic / 4))
    return statistic, min(1.0, 2 * min(lower, 1 - lower))


def _durbin_watson_moments(q: FloatArray) -> tuple[float, float]:
    """Return mean and variance of the statistic for normal residuals, ``q`` an orthonormal basis of the design.

    With A the matrix of squared differences and M the residual projection: mean = tr(MA) / v and
    variance = 2 (tr(MAMA) - tr(MA)²/v) / (v (v + 2)), v = n - p (Durbin and Watson 1950, Section 2).
    """
    n, p = q.shape
    v = n - p
    aq = _times_differences(q)
    qaq = q.T @ aq
    trace_a, trace_a2 = 2.0 * (n - 1), 6.0 * n - 8.0
    trace = trace_a - float(np.trace(qaq))
    trace_square = trace_a2 - 2 * float((aq * aq).sum()) + float((qaq * qaq.T).sum())
    return trace / v, 2 * (trace_square - trace**2 / v) / (v * (v + 2))


def _times_differences(q: FloatArray) -> FloatArray:
    """Return A q, A being tridiagonal with 1, 2, …, 2, 1 on and -1 beside the diagonal."""
    result = 2 * q
    result[0] -= q[0]
    result[-1] -= q[-1]
    result[1:] -= q[:-1]
    result[:-1] -= q[1:]
    return np.asarray(result, dtype=np.float64)


def _cook_distances(fit: PolynomialFit) -> FloatArray:
    variance = fit.sum_of_squares / fit.degrees_of_freedom
    open_leverage = np.maximum(1 - fit.leverages, np.finfo(float).eps)
    values = fit.residuals**2 * fit.leverages / ((fit.degree + 1) * variance * open_leverage**2)
    # A point that alone determines its fitted value has no residual to be influential by.
    return np.asarray(np.where(fit.leverages > 1 - 1e-9, 0.0, values), dtype=np.float64)
