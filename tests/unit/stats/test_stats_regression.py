"""The closed forms agree with statsmodels and with each other."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize
from statsmodels.stats.diagnostic import het_breuschpagan, linear_rainbow, linear_reset
from statsmodels.stats.outliers_influence import OLSInfluence
from statsmodels.stats.stattools import durbin_watson

from jouleloop.errors import InputError
from jouleloop.stats.analysis import holm
from jouleloop.stats.equivalence import equivalence_test
from jouleloop.stats.exponent import exponent_fit
from jouleloop.stats.forms import compare_forms
from jouleloop.stats.quadratic import quadratic_test
from jouleloop.stats.regression import fit_polynomial
from jouleloop.stats.specification import specification_tests

X = np.arange(128.0, 4097.0, 128.0)


def noisy(seed: int = 1, scale: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return scale * (1000 + 3 * X + 1e-4 * X**2) * (1 + 0.02 * generator.standard_normal(X.size))


def design(x: np.ndarray, degree: int) -> np.ndarray:
    return np.vander(x / x.max(), degree + 1, increasing=True)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_coefficients_leverages_and_hc3_are_statsmodels(degree: int) -> None:
    y = noisy()
    fit = fit_polynomial(X, y, degree)
    reference = sm.OLS(y, design(X, degree)).fit(cov_type="HC3")
    assert fit.powers_of_u() * X.max() ** np.arange(degree + 1) == pytest.approx(reference.params, rel=1e-8)
    assert fit.leverages == pytest.approx(OLSInfluence(sm.OLS(y, design(X, degree)).fit()).hat_matrix_diag, rel=1e-9)
    variance = fit.covariance_hc3(fit.leading(X.max())[None, :])[0, 0]
    assert variance == pytest.approx(reference.cov_params()[degree, degree], rel=1e-7)
    assert fit.r_squared == pytest.approx(reference.rsquared, abs=1e-12)


@pytest.mark.parametrize(("degree", "margin"), [(1, 0.9), (2, 0.05), (2, 0.01), (3, 0.5)])
def test_two_one_sided_tests_are_statsmodels_t_tests(degree: int, margin: float) -> None:
    y = noisy()
    result = sm.OLS(y, design(X, degree)).fit(cov_type="HC3", use_t=True)
    leading = np.eye(degree + 1)[-1]
    upper = result.t_test(leading - margin)  # the design is one in every column at the largest size
    lower = result.t_test(leading + margin)
    below = float(upper.pvalue) / 2 if float(upper.effect[0]) < 0 else 1 - float(upper.pvalue) / 2
    above = float(lower.pvalue) / 2 if float(lower.effect[0]) > 0 else 1 - float(lower.pvalue) / 2
    ours = equivalence_test(X, y, degree, margin)
    assert ours.p_value == pytest.approx(max(below, above), rel=1e-6)
    assert ours.within == (ours.p_value < 0.05)
    assert ours.share == pytest.approx(result.params[-1] / result.params.sum(), rel=1e-8)


def test_interval_and_p_value_decide_alike_at_its_ends() -> None:
    y = noisy()
    interval = equivalence_test(X, y, 2, 0.01)
    edge = max(abs(interval.low), abs(interval.high))
    assert equivalence_test(X, y, 2, edge).p_value == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("degree", [1, 2])
def test_specification_tests_are_statsmodels(degree: int) -> None:
    y = noisy()
    result = sm.OLS(y / y.max(), design(X, degree)).fit()
    ours = specification_tests(X, y, degree)
    assert ours.reset_p == pytest.approx(float(linear_reset(result, 3, "fitted", use_f=True).pvalue), rel=1e-5)
    assert ours.rainbow_p == pytest.approx(linear_rainbow(result, frac=0.5, order_by=np.arange(X.size))[1], rel=1e-8)
    assert ours.breusch_pagan_p == pytest.approx(het_breuschpagan(result.resid, design(X, degree))[1], rel=1e-8)
    assert ours.durbin_watson == pytest.approx(durbin_watson(result.resid), rel=1e-9)
    cooks = OLSInfluence(result).cooks_distance[0]
    assert (ours.cook_max, ours.cook_index) == (pytest.approx(cooks.max(), rel=1e-8), int(np.argmax(cooks)))


def test_durbin_watson_p_value_by_simulation() -> None:
    generator = np.random.default_rng(5)
    basis = np.linalg.qr(design(X, 1))[0]
    draws = generator.standard_normal((20000, X.size))
    draws -= draws @ basis @ basis.T
    statistics = (np.diff(draws, axis=1) ** 2).sum(axis=1) / (draws**2).sum(axis=1)
    ours = specification_tests(X, X + 100 * generator.standard_normal(X.size).cumsum(), 1)
    less = float((statistics <= ours.durbin_watson).mean())
    assert ours.durbin_watson_p == pytest.approx(2 * min(less, 1 - less), abs=0.01)


def test_tests_do_not_depend_on_the_order_of_rows() -> None:
    generator = np.random.default_rng(2)
    x = np.repeat(np.arange(1.0, 9.0), 4)
    y = x + generator.normal(0, 0.1, x.size)
    order = generator.permutation(x.size)
    first, second = specification_tests(x, y, 1), specification_tests(x[order], y[order], 1)
    for name in ("reset_p", "rainbow_p", "breusch_pagan_p", "durbin_watson", "cook_max"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=1e-9), name


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_exponent_of_an_exact_power_law(power: float) -> None:
    fitted = exponent_fit(X, 7 + 2e-3 * X**power, power)
    assert fitted.exponent == pytest.approx(power, abs=1e-6)
    assert fitted.low <= power + 1e-6
    assert fitted.high >= power - 1e-6
    assert fitted.agrees == "yes"
    assert fitted.c0 == pytest.approx(7, abs=1e-8 * float(X.max() ** power))


def test_exponent_is_the_nonlinear_least_squares_one() -> None:
    y = noisy()
    w = X / X.max()
    parameters, _ = optimize.curve_fit(lambda v, c0, c1, k: c0 + c1 * v**k, w, y, p0=[y.min(), np.ptp(y), 1])
    fitted = exponent_fit(X, y)
    assert fitted.exponent == pytest.approx(parameters[2], rel=1e-5)
    assert fitted.c0 == pytest.approx(parameters[0], rel=1e-4)
    assert fitted.low < fitted.exponent < fitted.high


def test_exponent_interval_covers_the_truth_at_its_level() -> None:
    generator = np.random.default_rng(3)
    truth = 5 + X**1.2
    inside = 0
    for _ in range(200):
        fitted = exponent_fit(X, truth + 0.01 * truth.max() * generator.standard_normal(X.size))
        inside += fitted.low <= 1.2 <= fitted.high
    assert 0.90 <= inside / 200 <= 0.99


@pytest.mark.parametrize(
    ("y", "best"),
    [
        (0 * X + 5, "constant"),
        (3 * X + 5, "linear"),
        (X * np.log(X), "nlogn"),
        (X * X + X, "quadratic"),
        (2 + X**1.5, "power"),
    ],
)
def test_forms_name_the_true_one(y: np.ndarray, best: str) -> None:
    forms = compare_forms(X, y)
    assert forms[0].name == best
    assert sum(form.weight for form in forms) == pytest.approx(1)


def test_aicc_of_a_line_is_statsmodels_aic_with_the_variance_counted() -> None:
    y = noisy()
    reference = sm.OLS(y, design(X, 1)).fit()
    line = next(form for form in compare_forms(X, y) if form.name == "linear")
    n, k = X.size, 3
    constant = n * (np.log(2 * np.pi) + 1)  # statsmodels keeps the constants of the normal likelihood
    assert line.aicc == pytest.approx(-2 * reference.llf - constant + 2 * k + 2 * k * (k + 1) / (n - k - 1))


def test_holm_is_statsmodels_and_skips_tests_not_made() -> None:
    values = np.array([0.01, 0.04, 0.03, np.nan, 0.005, 0.9])
    made = ~np.isnan(values)
    expected = sm.stats.multipletests(values[made], method="holm")[1]
    corrected = holm(values)
    assert corrected[made] == pytest.approx(expected)
    assert np.isnan(corrected[3])
    assert holm([]).size == 0
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([0.5, 1.5])


def test_p_value_does_not_move_with_the_scale_of_x_or_y() -> None:
    p_value = quadratic_test(X, noisy()).p_value
    for x_scale, y_scale in ((1e-9, 1.0), (1e9, 1.0), (1.0, 1e-9), (1024.0, 1e12)):
        assert quadratic_test(x_scale * X, noisy(scale=y_scale)).p_value == pytest.approx(p_value, rel=1e-8)


def test_rounding_noise_has_no_p_value() -> None:
    for scale in (1.0, 1024.0, 1 / 3):
        test = quadratic_test(X * scale, 0.1 * X + 1234.5)
        assert test.exact
        assert np.isnan(test.p_value)
        assert "exactly linear" in test.note
        assert test.a == 0
    assert "exactly quadratic" in quadratic_test(X, 0.1 * X * X + 7 * X).note


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2], "3 values, y has 2"),
        ([1, 2, np.nan, 4], [1, 2, 3, 4], "missing or infinite value at position 2"),
        ([1, 2, 3, 4], [1, 2, 3, np.inf], "position 3"),
        ([1, 2, 3, 4], ["a", "b", "c", "d"], "not a vector of numbers"),
        ([[1, 2], [3, 4]], [1, 2], "not a vector"),
        ([1, 2, 3, 4], [1, 2, 3, 1e200], "squares cannot be represented"),
    ],
)
def test_values_that_are_no_numbers_are_refused(x: list, y: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quadratic_test(x, y)


def test_options_of_the_equivalence_test_are_checked_together() -> None:
    with pytest.raises(InputError) as caught:
        equivalence_test(X, X, 0, margin=2, alpha=0.7)
    assert len(caught.value.faults) == 3


def test_a_point_that_alone_determines_the_fit_leaves_no_robust_error() -> None:
    test = equivalence_test([1, 1, 1, 1, 2, 3], [1, 1.1, 0.9, 1, 2, 3], 2)
    assert "alone determines" in test.note
    assert not test.within
    assert not test.beyond
