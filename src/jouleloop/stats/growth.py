"""One growth test: does a response grow with a variable as theory expects? Fit, tests and verdict of one sweep."""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jouleloop.stats.equivalence import EquivalenceTest, equivalence_test
from jouleloop.stats.expected import Growth, growth_named
from jouleloop.stats.exponent import ExponentFit, exponent_fit
from jouleloop.stats.forms import Form, compare_forms
from jouleloop.stats.misfit import MisfitTest, misfit_test
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.quadratic import QuadraticTest, quadratic_test
from jouleloop.stats.regression import FloatArray, PolynomialFit, checked_points, distinct_values, fit_polynomial
from jouleloop.stats.specification import SpecificationTests, specification_tests

NAN = float("nan")
_FORM_NAMES = {0: "constant", 1: "linear", 2: "quadratic", 3: "cubic", 4: "quartic"}


class Outcome(StrEnum):
    """The four verdicts, and what stands in their place where nothing was claimed."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    EXACT = "exact"
    UNTESTED = "not tested"


@dataclass(frozen=True)
class GrowthVerdict:
    """What the points say about the expected growth, and which rule says so."""

    outcome: Outcome
    """One of the four."""
    reason: str
    """The rule that decided, as a clause with the numbers it rests on."""
    excess: EquivalenceTest | None = None
    """Test of the next higher power; None where nothing scatters, or nothing can be fitted."""
    leading: EquivalenceTest | None = None
    """Test of the expected power itself (is there such growth at all?); None likewise, and for a constant."""
    misfit: MisfitTest | None = None
    """Test of the mean deviation in each part of the range; None likewise."""

    @property
    def confirmation_p(self) -> float:
        """The error of confirming: the largest p-value of the tests that must all pass, 1 where one is impossible.

        The growth itself is tested against none, one-sided; the next power and the parts of the range against the
        margin. All are made wherever there is scatter, whatever their outcome: the data do not choose the family of
        p-values that Holm's correction is for. NaN where nothing scatters, or nothing can be fitted.
        """
        if self.excess is None or self.misfit is None:
            return NAN
        growing = 0.0 if self.leading is None else self.leading.positive_p_value
        found = (self.excess.p_value, self.misfit.p_value, growing)
        return 1.0 if any(math.isnan(value) for value in found) else max(found)


@dataclass(frozen=True)
class GrowthTest:
    """Everything computed about one response against one variable."""

    growth: Growth
    """The growth expected."""
    n: int
    distinct: int
    """Points, and different sizes among them."""
    x_min: float
    x_max: float
    """Range of the variable."""
    verdict: GrowthVerdict
    """The decision."""
    coefficients: tuple[float, ...] = ()
    """Of 1, u, u², … in the expected form, ``u`` being the growth's regressor: c1, c2, … of the dashed line; unit of
    the response per unit of ``u`` to the power. Empty where nothing could be fitted."""
    r_squared: float = NAN
    """Of the expected form."""
    max_relative_deviation: float = NAN
    max_deviation_index: int = -1
    """Largest deviation from the fit as a share of the fitted value, and the position of its point; 0 where the fit is
    exact."""
    residuals: tuple[float, ...] = field(default=(), repr=False)
    """Observed minus fitted, shape (n,); zero where the fit is exact."""
    exact: bool = False
    """Whether the residuals of the expected form are rounding noise."""
    quadratic: QuadraticTest | None = None
    exponent: ExponentFit | None = None
    forms: tuple[Form, ...] = ()
    specification: SpecificationTests = field(default_factory=SpecificationTests)
    """The further tests."""

    def unclaimed(self) -> "GrowthTest":
        """Return the fit without a verdict or p-value: of a response that theory does not say this growth of."""
        exponent = self.exponent and replace(self.exponent, expected=NAN, agrees="")
        verdict = GrowthVerdict(Outcome.UNTESTED, "theory states no growth of it in this variable")
        return replace(self, verdict=verdict, quadratic=None, exponent=exponent, specification=SpecificationTests())

    def predict(self, x: npt.ArrayLike) -> FloatArray:
        """Return the expected form's fitted values at ``x`` (NaN where nothing was fitted)."""
        u = self.growth.regressors(np.asarray(x, dtype=np.float64))
        if not self.coefficients:
            return np.full(u.shape, np.nan)
        return np.asarray(np.polynomial.polynomial.polyval(u, np.array(self.coefficients)), dtype=np.float64)


def decide(
    x: npt.ArrayLike, y: npt.ArrayLike, expected: str | Growth, options: StatisticsOptions | None = None
) -> GrowthVerdict:
    """Return the verdict on ``y`` growing with ``x`` as ``expected``, without the further tests.

    The rules, in this order:

    1. Too few points or sizes, or a response of zeros: inconclusive, with the reason.
    2. The expected form fits to rounding: exact, if its highest coefficient is positive; refuted if it is none.
    3. Refuted, if the share of the next higher power lies beyond the margin, or the expected growth itself is absent
       (its share is negative, or equivalent to none), even where scatter persists along the range.
    4. Confirmed, if the share of the next higher power is equivalent to none, the expected growth is there, and the
       mean deviation from the fit is equivalent to none in every part of the range.
    5. Inconclusive otherwise.

    Raises `InputError` for an unknown growth, values that are missing or no numbers, or sizes outside the growth's
    domain.

    Parameters
    ----------
    x, y
        The sweep's variable and the response, shape (n,), in any order; sizes may repeat.
    expected
        Name of the growth, or the growth.
    options
        Margin, level and tolerances.
    """
    points = _prepared(x, y, expected, options)
    if points.reason:
        return GrowthVerdict(Outcome.INCONCLUSIVE, points.reason)
    return _decide(fit_polynomial(points.u, points.response, points.growth.degree), points.growth, points.options)


class _Points(NamedTuple):
    """The points of a test as all its parts need them; ``reason`` says why they are of no use, if they are not."""

    growth: Growth
    options: StatisticsOptions
    sizes: FloatArray
    response: FloatArray
    u: FloatArray
    reason: str


def _prepared(x: npt.ArrayLike, y: npt.ArrayLike, expected: str | Growth, options: StatisticsOptions | None) -> _Points:
    growth = growth_named(expected)
    options = options or StatisticsOptions()
    sizes, response = checked_points(x, y)
    u = growth.regressors(sizes)
    return _Points(growth, options, sizes, response, u, unusable(u, response, growth, options))


def unusable(u: FloatArray, y: FloatArray, growth: Growth, options: StatisticsOptions) -> str:
    """Return why nothing can be tested on these points, or an empty text."""
    if u.size < options.minimum_points:
        return f"{u.size} usable point{'' if u.size == 1 else 's'}, at least {options.minimum_points} are needed"
    distinct = distinct_values(u)
    if distinct == 1:
        return "all points have the same size"
    if not y.any():
        return "the response is zero at every point"
    if distinct < growth.degree + 2:
        return f"{distinct} different sizes, at least {growth.degree + 2} are needed for {growth.name} growth"
    return ""


def _decide(fit: PolynomialFit, growth: Growth, options: StatisticsOptions) -> GrowthVerdict:
    degree = growth.degree
    if fit.is_exact(options.exact_tolerance):
        return _decide_exact(fit, growth, options)
    leading = equivalence_test(fit.u, fit.y, degree, options.margin, options.alpha) if degree else None
    excess = equivalence_test(fit.u, fit.y, degree + 1, options.margin, options.alpha)
    misfit = misfit_test(fit, options.margin, options.alpha)
    outcome, reason = _refuted(growth, leading, excess) or _confirmed(growth, leading, excess, misfit)
    return GrowthVerdict(outcome, reason, excess, leading, misfit)


def _refuted(growth: Growth, leading: EquivalenceTest | None, excess: EquivalenceTest) -> tuple[Outcome, str] | None:
    """Return why the growth is not the expected one, or None where nothing says so."""
    if leading and leading.absent:
        return Outcome.REFUTED, f"there is no such growth: {_shown(leading, growth)} is equivalent to none"
    if leading and leading.note and leading.negative:
        term = f"its {_form(leading.degree, growth)} term is negative"
        return Outcome.REFUTED, f"the response falls: {term}, while its fit may be zero"
    if leading and leading.high < 0 and leading.negative:
        return Outcome.REFUTED, f"the response falls: {_shown(leading, growth)} is below zero"
    if not excess.beyond:
        return None
    if excess.note:
        term = f"the {_form(excess.degree, growth)} term exceeds {100 * excess.margin:.3g} % of the fit"
        return Outcome.REFUTED, f"{term}, which may be zero at the largest size"
    return Outcome.REFUTED, f"{_shown(excess, growth)} is beyond {_margin(excess)}"


def _confirmed(
    growth: Growth, leading: EquivalenceTest | None, excess: EquivalenceTest, misfit: MisfitTest
) -> tuple[Outcome, str]:
    """Return whether all that a confirmation needs is there, and what is not."""
    if excess.note:
        return Outcome.INCONCLUSIVE, excess.note
    shown = _shown(excess, growth)
    if not excess.within:
        return Outcome.INCONCLUSIVE, f"{shown} is neither clearly inside nor clearly outside {_margin(excess)}"
    if leading is not None and (leading.note or leading.low <= 0):
        return Outcome.INCONCLUSIVE, leading.note or f"{_shown(leading, growth)} does not differ from zero"
    if misfit.note:
        return Outcome.INCONCLUSIVE, misfit.note
    worst = f"{_percent(misfit.deviation)} {_interval(misfit.low, misfit.high, misfit.alpha)}"
    if not misfit.within:
        place = f"between {misfit.u_low:.6g} and {misfit.u_high:.6g} of {growth.regressor.format(x='x')}"
        bends = f"the form bends: {place} the mean deviation from it, {worst}, is not"
        return Outcome.INCONCLUSIVE, f"{shown} is inside {_margin(excess)}, but {bends}"
    parts = f"the mean deviation from the fit in each of {misfit.parts} parts of this range, at most {worst}"
    return Outcome.CONFIRMED, f"{shown} is inside {_margin(excess)}, and so is {parts}"


def _margin(test: EquivalenceTest) -> str:
    return f"the margin of ±{100 * test.margin:.3g} %"


def _decide_exact(fit: PolynomialFit, growth: Growth, options: StatisticsOptions) -> GrowthVerdict:
    """Decide where the residuals of the expected form are rounding noise: by the sign of its highest coefficient."""
    for lower in range(fit.degree):
        if fit_polynomial(fit.u, fit.y, lower).is_exact(options.exact_tolerance):
            reason = f"the response is exactly {_form(lower, growth)} to {options.exact_tolerance:.0e}"
            return GrowthVerdict(Outcome.REFUTED, reason)
    name = _form(fit.degree, growth)
    if fit.degree and fit.coefficients[-1] < 0:
        return GrowthVerdict(
            Outcome.REFUTED, f"the response is exactly {name}, but its highest coefficient is negative"
        )
    return GrowthVerdict(
        Outcome.EXACT, f"exactly {name} to {options.exact_tolerance:.0e}: the residuals are rounding noise"
    )


def _form(power: int, growth: Growth) -> str:
    """Return the polynomial's name, with what it is a polynomial of where that is not the variable itself."""
    name = _FORM_NAMES.get(power, f"degree-{power}")
    return name if growth.regressor == "{x}" or not power else f"{name} (in {growth.regressor.format(x='x')})"


def _shown(test: EquivalenceTest, growth: Growth) -> str:
    interval = _interval(test.low, test.high, test.alpha)
    return f"the {_form(test.degree, growth)} share at the largest size, {_percent(test.share)} {interval},"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _interval(low: float, high: float, alpha: float) -> str:
    return f"({100 * (1 - 2 * alpha):.3g} % interval {100 * low:.3g} to {100 * high:.3g} %)"


def fit_growth(
    x: npt.ArrayLike, y: npt.ArrayLike, expected: str | Growth, options: StatisticsOptions | None = None
) -> GrowthTest:
    """Test ``y`` against the ``expected`` growth in ``x``: `decide`, the fit, the paper's test and the further ones.

    Parameters and errors are those of `decide`.
    """
    growth, options, sizes, response, u, reason = _prepared(x, y, expected, options)
    distinct = distinct_values(u)
    span = (float(sizes.min()), float(sizes.max())) if sizes.size else (NAN, NAN)
    if reason:
        verdict = GrowthVerdict(Outcome.INCONCLUSIVE, reason)
        return GrowthTest(growth, int(u.size), distinct, *span, verdict)
    fit = fit_polynomial(u, response, growth.degree)
    verdict = _decide(fit, growth, options)
    exact = fit.is_exact(options.exact_tolerance)
    base = growth.base(sizes)
    # Where the residuals are rounding noise, tests of the residuals would test the rounding.
    residuals = np.zeros_like(fit.residuals) if exact else fit.residuals
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(residuals == 0, 0.0, np.abs(residuals / fit.fitted))
    return GrowthTest(
        growth=growth,
        n=int(u.size),
        distinct=distinct,
        x_min=span[0],
        x_max=span[1],
        verdict=verdict,
        coefficients=_coefficients(fit, exact=exact, tolerance=options.exact_tolerance),
        r_squared=1.0 if exact else fit.r_squared,
        max_relative_deviation=float(relative.max()),
        max_deviation_index=-1 if exact else int(np.argmax(relative)),
        residuals=tuple(float(value) for value in residuals),
        exact=exact,
        quadratic=quadratic_test(u, response, options.exact_tolerance),
        exponent=exponent_fit(
            base,
            response,
            expected_exponent(growth, sizes),
            tolerance=options.exponent_tolerance,
            alpha=options.alpha,
        ),
        forms=compare_forms(base, response),
        specification=SpecificationTests()
        if exact
        else specification_tests(
            u,
            response,
            growth.degree,
            rainbow_fraction=options.rainbow_fraction,
            reset_power=options.reset_power,
        ),
    )


def expected_exponent(growth: Growth, x: FloatArray) -> float | None:
    """Return the exponent that theory gives in the growth's base variable on these sizes, or None.

    x log x is no power; what is expected is the exponent of the power that fits x log x best on the same sizes.
    """
    if growth.degree == 0:
        return None
    if growth.name == "nlogn":
        fitted = exponent_fit(x, growth.transform(x)).exponent
        return fitted if np.isfinite(fitted) else None
    return float(growth.degree)


def _coefficients(fit: PolynomialFit, *, exact: bool, tolerance: float) -> tuple[float, ...]:
    """Return the coefficients of powers of ``u``, those that are rounding noise of an exact fit set to zero."""
    values = [float(value) for value in fit.powers_of_u()]
    if exact:
        largest = float(np.abs(fit.y).max())
        reach = float(np.abs(fit.u).max())
        values = [v if abs(v) * reach**i > tolerance * largest else 0.0 for i, v in enumerate(values)]
    return tuple(values)
