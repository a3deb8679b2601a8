"""Is the growth as expected, near enough: two one-sided tests on the share of the next power at the largest size."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from jouleloop.errors import Fault, raise_all
from jouleloop.stats.persistence import persistent_error, rise_p_values
from jouleloop.stats.regression import (
    FloatArray,
    PolynomialFit,
    Ratio,
    checked_points,
    distinct_values,
    fieller,
    fit_polynomial,
    inner,
)


@dataclass(frozen=True)
class EquivalenceTest:
    """Whether the share of the highest power in the fitted value at the largest size lies within a margin."""

    degree: int
    """The power whose share is tested."""
    share: float
    """Its term at the largest ``u``, divided by the fitted value there."""
    low: float
    high: float
    """The interval with confidence 1 - 2 alpha; infinite where the points do not bound the share."""
    p_value: float
    """Of the two one-sided tests (the larger): the error of calling the share within the margin. NaN if untestable."""
    beyond_p_value: float
    """The error of calling the share beyond the margin: two-sided, so that a share of zero under much noise is called
    beyond at most at rate alpha, both sides together; the larger of those by HC3 errors and by the error of scatter
    that persists. NaN if untestable."""
    margin: float
    alpha: float
    """As asked."""
    note: str = ""
    """Why the share cannot be bounded; empty where it can."""
    positive_p_value: float = float("nan")
    """The error of calling the term itself positive, whatever the fitted value. NaN if untestable."""
    negative_p_value: float = float("nan")
    """The error of calling it negative, whatever scatter persists. NaN if untestable."""
    absent_p_value: float = float("nan")
    """The error of calling the share within the margin, whatever scatter persists. NaN if untestable."""

    @property
    def within(self) -> bool:
        """Whether the whole interval lies inside the margins: the share is equivalent to zero."""
        return -self.margin < self.low and self.high < self.margin

    @property
    def beyond(self) -> bool:
        """Whether the share lies beyond the margin, two-sided at level alpha: the 1 - alpha interval is outside."""
        return self.beyond_p_value <= self.alpha

    @property
    def absent(self) -> bool:
        """Whether the share is equivalent to zero even where scatter persists: then there is no such growth."""
        return self.within and self.absent_p_value <= self.alpha

    @property
    def negative(self) -> bool:
        """Whether the term is negative, one-sided at level alpha."""
        return self.negative_p_value <= self.alpha


def equivalence_test(
    x: npt.ArrayLike, y: npt.ArrayLike, degree: int, margin: float = 0.01, alpha: float = 0.05
) -> EquivalenceTest:
    """Test whether the ``x**degree`` term contributes less than ``margin`` of the fitted value at the largest ``x``.

    A polynomial of ``degree`` is fitted; with ``T`` its leading term and ``F`` its value, both at the largest ``x``,
    the hypotheses ``T >= margin F`` and ``T <= -margin F`` are each tested at ``alpha`` by Student's t of the linear
    contrast with HC3 errors. Both are rejected exactly where Fieller's interval of ``T / F`` lies inside the margins.
    What says that a share is *not* as expected (beyond, negative, absent) has to hold for `persistent_error` as well:
    scatter that persists along the range makes such shares.

    Raises `InputError` for anything but vectors of finite numbers of one length, a margin not in (0, 1) or a level not
    in (0, 0.5).

    Parameters
    ----------
    x, y
        The variable (not negative) and the response, shape (n,).
    degree
        The power tested, one above the expected growth.
    margin
        Largest share that still counts as none.
    alpha
        Level of each one-sided test.

    References
    ----------
    Schuirmann (1987) for the two one-sided tests; MacKinnon and White (1985) for HC3; Fieller (1954).
    """
    u, response = checked_points(x, y)
    _check(degree, margin, alpha)
    untested = _Untested(degree, margin, alpha)
    if distinct_values(u) < degree + 1 or u.size < degree + 2:
        return untested(f"{u.size} points at {distinct_values(u)} different sizes cannot show a power of {degree}")
    fit = fit_polynomial(u, response, degree)
    if not fit.robust_errors_exist:
        return untested("one point alone determines the fit, so it has no robust error")
    return _tested(fit, margin, alpha, untested)


def _tested(fit: PolynomialFit, margin: float, alpha: float, untested: "_Untested") -> EquivalenceTest:
    """Return the test of the highest power of a fit that has robust errors."""
    degree, largest = fit.degree, float(fit.u.max())
    contrasts = np.vstack([fit.leading(largest), fit.at(largest)])
    term, value = (inner(contrast, fit.coefficients) for contrast in contrasts)
    covariance = fit.covariance_hc3(contrasts)
    freedom = fit.degrees_of_freedom
    quantile = float(special.stdtrit(freedom, 1 - alpha))
    persistent = _Persistent(fit, abs(float(contrasts[0, -1])), term)
    upper, lower, none = (_t_value(term, value, covariance, bound) for bound in (margin, -margin, 0.0))
    positive, negative = (float(special.stdtr(freedom, sign * none)) for sign in (-1, 1))
    negative = max(negative, persistent.negative())
    beyond = persistent.beyond(margin * abs(value))
    if value <= quantile * float(np.sqrt(covariance[1, 1])):
        note = f"the points do not bound the share of power {degree}: its fit may be zero at the largest size"
        # Whatever the fitted value, even its sign: beyond are the terms that exceed both + margin F and - margin F.
        above, below = max(special.stdtr(freedom, [-upper, -lower])), max(special.stdtr(freedom, [upper, lower]))
        return untested(note, max(min(1.0, 2 * float(min(above, below))), beyond), positive, negative)
    share: Ratio = fieller(term, value, covariance, quantile)
    one_side = float(min(special.stdtr(freedom, -upper), special.stdtr(freedom, lower)))
    return EquivalenceTest(
        degree=degree,
        share=share.value,
        low=share.low,
        high=share.high,
        p_value=float(max(special.stdtr(freedom, upper), special.stdtr(freedom, -lower))),
        beyond_p_value=max(min(1.0, 2 * one_side), beyond),
        margin=margin,
        alpha=alpha,
        positive_p_value=positive,
        negative_p_value=negative,
        absent_p_value=persistent.below(abs(term) - margin * value),
    )


def _check(degree: int, margin: float, alpha: float) -> None:
    """Raise `InputError` where an argument is out of range."""
    faults = []
    if not 0 < margin < 1:
        faults.append(Fault("the margin is out of range", field="margin", value=margin, allowed="between 0 and 1"))
    if not 0 < alpha < 0.5:
        faults.append(Fault("the level is out of range", field="alpha", value=alpha, allowed="between 0 and 0.5"))
    if degree < 1:
        faults.append(Fault("the power is out of range", field="degree", value=degree, allowed="1 or more"))
    raise_all(faults)


def _t_value(term: float, value: float, covariance: FloatArray, bound: float) -> float:
    """Return Student's t of the contrast 'share minus bound'."""
    variance = covariance[0, 0] - 2 * bound * covariance[0, 1] + bound * bound * covariance[1, 1]
    error = float(np.sqrt(max(variance, np.finfo(float).tiny)))
    return (term - bound * value) / error


class _Persistent:
    """Tests of the highest power's term that hold where scatter persists along the range, as in a random walk.

    Student's t by `persistent_error`. Of a slope the steps are tested as well, since a curve such as 1/x has no one
    scale; then the smaller of both p-values counts twice.
    """

    def __init__(self, fit: PolynomialFit, weight: float, term: float) -> None:
        self._term = term
        found = persistent_error(fit)
        self._freedom = found.freedom if found else 0
        self._error = max(found.error * weight, float(np.finfo(float).tiny)) if found else math.inf
        self._steps = rise_p_values(fit.u, fit.y) if fit.degree == 1 else None

    def below(self, difference: float) -> float:
        """Return the one-sided error of calling what was found as ``difference`` negative; 1 where none is known."""
        return float(special.stdtr(self._freedom, difference / self._error)) if self._freedom else 1.0

    def negative(self) -> float:
        """Return the one-sided error of calling the term negative."""
        found = self.below(self._term)
        return found if self._steps is None else min(1.0, 2 * min(found, self._steps[1]))

    def beyond(self, bound: float) -> float:
        """Return the two-sided error of calling the term beyond plus or minus ``bound``."""
        found = min(1.0, 2 * self.below(bound - abs(self._term)))
        return found if self._steps is None else min(1.0, 2 * min(found, 2 * min(self._steps)))


@dataclass(frozen=True)
class _Untested:
    degree: int
    margin: float
    alpha: float

    def __call__(
        self, note: str, beyond: float = math.nan, positive: float = math.nan, negative: float = math.nan
    ) -> EquivalenceTest:
        ends = (self.margin, self.alpha)
        return EquivalenceTest(
            self.degree, math.nan, -math.inf, math.inf, math.nan, beyond, *ends, note, positive, negative
        )
