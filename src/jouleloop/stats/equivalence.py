"""Is the growth as expected, near enough: two one-sided tests on the share of the next power at the largest size."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from jouleloop.errors import Fault, raise_all
from jouleloop.stats.regression import Ratio, checked_points, distinct_values, fieller, fit_polynomial, inner


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
    beyond at most at rate alpha, both sides together. NaN if untestable."""
    margin: float
    alpha: float
    """As asked."""
    note: str = ""
    """Why the share cannot be bounded; empty where it can."""
    negative_p_value: float = float("nan")
    """The error of calling the term itself negative, whatever the fitted value. NaN if untestable."""

    @property
    def within(self) -> bool:
        """Whether the whole interval lies inside the margins: the share is equivalent to zero."""
        return -self.margin < self.low and self.high < self.margin

    @property
    def beyond(self) -> bool:
        """Whether the share lies beyond the margin, two-sided at level alpha: the 1 - alpha interval is outside."""
        return self.beyond_p_value <= self.alpha

    @property
    def positive_p_value(self) -> float:
        """The error of calling the term itself positive, whatever the fitted value. NaN if untestable."""
        return 1 - self.negative_p_value

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
    faults = []
    if not 0 < margin < 1:
        faults.append(Fault("the margin is out of range", field="margin", value=margin, allowed="between 0 and 1"))
    if not 0 < alpha < 0.5:
        faults.append(Fault("the level is out of range", field="alpha", value=alpha, allowed="between 0 and 0.5"))
    if degree < 1:
        faults.append(Fault("the power is out of range", field="degree", value=degree, allowed="1 or more"))
    raise_all(faults)
    untested = _Untested(degree, margin, alpha)
    if distinct_values(u) < degree + 1 or u.size < degree + 2:
        return untested(f"{u.size} points at {distinct_values(u)} different sizes cannot show a power of {degree}")
    fit = fit_polynomial(u, response, degree)
    if not fit.robust_errors_exist:
        return untested("one point alone determines the fit, so it has no robust error")
    largest = float(u.max())
    contrasts = np.vstack([fit.leading(largest), fit.at(largest)])
    term, value = (inner(contrast, fit.coefficients) for contrast in contrasts)
    covariance = fit.covariance_hc3(contrasts)
    freedom = fit.degrees_of_freedom
    quantile = float(special.stdtrit(freedom, 1 - alpha))

    def t_value(bound: float) -> float:
        """Student's t of the contrast 'share minus bound'."""
        variance = covariance[0, 0] - 2 * bound * covariance[0, 1] + bound * bound * covariance[1, 1]
        error = float(np.sqrt(max(variance, np.finfo(float).tiny)))
        return (term - bound * value) / error

    upper, lower, negative_p = t_value(margin), t_value(-margin), float(special.stdtr(freedom, t_value(0.0)))
    if value <= quantile * float(np.sqrt(covariance[1, 1])):
        note = f"the points do not bound the share of power {degree}: its fit may be zero at the largest size"
        # Whatever the fitted value, even its sign: beyond are the terms that exceed both + margin F and - margin F.
        above, below = max(special.stdtr(freedom, [-upper, -lower])), max(special.stdtr(freedom, [upper, lower]))
        return untested(note, min(1.0, 2 * float(min(above, below))), negative_p)
    share: Ratio = fieller(term, value, covariance, quantile)
    return EquivalenceTest(
        degree=degree,
        share=share.value,
        low=share.low,
        high=share.high,
        p_value=float(max(special.stdtr(freedom, upper), special.stdtr(freedom, -lower))),
        beyond_p_value=float(min(1.0, 2 * min(special.stdtr(freedom, -upper), special.stdtr(freedom, lower)))),
        margin=margin,
        alpha=alpha,
        negative_p_value=negative_p,
    )


@dataclass(frozen=True)
class _Untested:
    degree: int
    margin: float
    alpha: float

    def __call__(self, note: str, beyond_p: float = float("nan"), negative_p: float = float("nan")) -> EquivalenceTest:
        nan, infinity, ends = float("nan"), float("inf"), (self.margin, self.alpha)
        return EquivalenceTest(self.degree, nan, -infinity, infinity, nan, beyond_p, *ends, note, negative_p)
