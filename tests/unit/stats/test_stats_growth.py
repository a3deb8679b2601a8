"""Verdicts on single sweeps: every rule of the decision, and the inputs on which nothing can be decided."""

import gc
import tracemalloc

import numpy as np
import pytest

from jouleloop.errors import InputError
from jouleloop.stats.expected import GROWTHS, growth_named
from jouleloop.stats.growth import Outcome, decide, fit_growth
from jouleloop.stats.options import StatisticsOptions

X = np.arange(128.0, 4097.0, 128.0)
NOISE = np.random.default_rng(7).standard_normal(X.size)


@pytest.mark.parametrize(
    ("expected", "reason"),
    [("linear", "the response falls"), ("nlogn", "the response falls"), ("constant", "exceeds 1 % of the fit")],
)
def test_what_falls_towards_zero_is_refuted_though_it_has_no_share(expected: str, reason: str) -> None:
    # A line through 1/x reaches zero before the largest size, so nothing can be a share of it.
    verdict = decide(X, 1e6 / X, expected)
    assert verdict.outcome == Outcome.REFUTED
    assert reason in verdict.reason


def test_noise_around_zero_decides_nothing() -> None:
    verdict = decide(X, np.random.default_rng(3).standard_normal(X.size), "linear")
    assert verdict.outcome == Outcome.INCONCLUSIVE
    assert "may be zero" in verdict.reason


def test_x_log_x_is_for_sizes_from_one_up() -> None:
    with pytest.raises(InputError, match="numbers from one up"):
        decide([0.2, 0.4, 0.6, 0.8, 1.0], [1, 2, 3, 4, 5], "nlogn")


def test_fit_is_the_dashed_line_with_its_deviation() -> None:
    y = 5.0 + 2.0 * X
    y[10] *= 1.1
    test = fit_growth(X, y, "linear")
    slope, intercept = np.polyfit(X, y, 1)
    assert test.coefficients == pytest.approx((intercept, slope), rel=1e-9)
    assert test.max_deviation_index == 10
    assert test.max_relative_deviation == pytest.approx(y[10] / (intercept + slope * X[10]) - 1, rel=1e-9)
    assert test.predict(X) == pytest.approx(intercept + slope * X)
    assert test.specification.cook_index == 10


@pytest.mark.parametrize(
    ("y", "expected", "outcome", "words"),
    [
        (3 * X + 5, "linear", Outcome.EXACT, "exactly linear to 1e-12"),
        (0 * X + 5, "constant", Outcome.EXACT, "exactly constant"),
        (X * X + X, "quadratic", Outcome.EXACT, "exactly quadratic"),
        (X * np.log(X), "nlogn", Outcome.EXACT, "exactly linear (in x ln x)"),
        (X**4 + 3, "linear_in_square", Outcome.REFUTED, "beyond the margin"),
        (X**2 + 3, "linear_in_square", Outcome.EXACT, "exactly linear"),
        (1 / X**2 + 3, "linear_in_inverse_square", Outcome.EXACT, "exactly linear"),
        (2 / X**2 + 1 / X, "inverse_quadratic", Outcome.EXACT, "exactly quadratic"),
        (0 * X + 5, "linear", Outcome.REFUTED, "exactly constant"),
        (3 * X + 5, "quadratic", Outcome.REFUTED, "exactly linear"),
        (1e6 - 3 * X, "linear", Outcome.REFUTED, "highest coefficient is negative"),
        (X * X, "linear", Outcome.REFUTED, "beyond the margin"),
        (np.sqrt(X), "linear", Outcome.REFUTED, "beyond the margin"),
        (X * np.log(X), "linear", Outcome.REFUTED, "beyond the margin"),
        (X * (1 + 1e-3 * NOISE), "linear", Outcome.CONFIRMED, "inside the margin of ±1 %"),
        (X**2 * (1 + 1e-4 * NOISE), "quadratic", Outcome.CONFIRMED, "cubic share"),
        (X * (1 + 0.1 * NOISE), "linear", Outcome.INCONCLUSIVE, "neither clearly inside"),
        (5 + 1e-3 * NOISE, "linear", Outcome.REFUTED, "there is no such growth"),
        (1e5 - X * (1 + 1e-3 * NOISE), "linear", Outcome.REFUTED, "the response falls"),
        (1e12 * X * (1 + 1e-3 * NOISE), "linear", Outcome.CONFIRMED, "inside"),
    ],
)
def test_decision(y: np.ndarray, expected: str, outcome: Outcome, words: str) -> None:
    verdict = decide(X, y, expected)
    assert verdict.outcome is outcome
    assert words in verdict.reason
    fitted = fit_growth(X, y, expected).verdict
    assert (fitted.outcome, fitted.reason) == (verdict.outcome, verdict.reason)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([], [], "0 usable points"),
        ([1], [1], "1 usable point,"),
        ([1, 2, 3], [2, 4, 6], "3 usable points, at least 4"),
        ([5, 5, 5, 5, 5], [1, 2, 3, 4, 5], "the same size"),
        ([1, 2, 3, 4], [0, 0, 0, 0], "zero at every point"),
        ([1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], "2 different sizes"),
        ([1, 1, 1, 1, 2, 3], [1, 1.1, 0.9, 1, 2, 3.2], "alone determines"),
    ],
)
def test_points_that_cannot_decide_are_inconclusive_with_the_reason(x: list, y: list, words: str) -> None:
    verdict = fit_growth(x, y, "linear").verdict
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert words in verdict.reason


def test_exactness_is_no_claim_where_every_fit_is_perfect() -> None:
    """A line through two sizes or a parabola through three fits anything."""
    assert decide([1, 2, 3, 3], [2, 9, 5, 5], "quadratic").outcome is Outcome.INCONCLUSIVE


def test_exact_growth_has_no_p_values_and_clean_coefficients() -> None:
    test = fit_growth(X, 0.1 * X, "linear")
    assert test.exact
    assert test.coefficients[0] == 0
    assert test.coefficients[1] == pytest.approx(0.1, rel=1e-14)
    assert test.max_relative_deviation == 0
    assert not any(test.residuals)
    assert test.quadratic is not None
    assert np.isnan(test.quadratic.p_value)
    assert np.isnan(test.specification.reset_p)


def test_exactness_ends_at_its_tolerance() -> None:
    assert decide(X, X * (1 + 1e-13 * NOISE), "linear").outcome is Outcome.EXACT
    assert decide(X, X * (1 + 1e-11 * NOISE), "linear").outcome is Outcome.CONFIRMED
    loose = StatisticsOptions(exact_tolerance=1e-9)
    assert decide(X, X * (1 + 1e-11 * NOISE), "linear", loose).outcome is Outcome.EXACT


def test_margin_is_an_option() -> None:
    y = 0.95 * X / X.max() + 0.05 * (X / X.max()) ** 2 + 1e-5 * NOISE
    assert decide(X, y, "linear").outcome is Outcome.REFUTED
    assert decide(X, y, "linear", StatisticsOptions(margin=0.06)).outcome is Outcome.INCONCLUSIVE  # small sizes: 11 %
    assert decide(X, y, "linear", StatisticsOptions(margin=0.2)).outcome is Outcome.CONFIRMED


def test_nlogn_is_compared_with_the_exponent_it_has_on_these_sizes() -> None:
    exponent = fit_growth(X, X * np.log(X) * (1 + 1e-4 * NOISE), "nlogn").exponent
    assert exponent is not None
    assert 1.1 < exponent.expected < 1.2
    assert exponent.agrees == "yes"


def test_order_of_points_does_not_matter() -> None:
    y = X * (1 + 0.02 * NOISE)
    order = np.random.default_rng(0).permutation(X.size)
    one, other = decide(X, y, "linear").excess, decide(X[order], y[order], "linear").excess
    assert one is not None
    assert other is not None
    assert one.share == pytest.approx(other.share, rel=1e-9)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "growth", "words"),
    [
        ([-1, 2, 3, 4], "linear", "out of range"),
        ([0, 1, 2, 3], "nlogn", "numbers from one up"),
        ([0, 1, 2, 3], "inverse_quadratic", "positive numbers"),
        ([1, 2, 3, 4], "quadratics", "did you mean 'quadratic'"),
    ],
)
def test_sizes_outside_the_growth_and_unknown_growths_are_refused(x: list, growth: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_growth(x, [1, 2, 3, 4], growth)


def test_every_growth_is_exact_on_its_own_form() -> None:
    x = np.array([1.0, 2, 3, 4, 5, 8, 11])
    for growth in GROWTHS.values():
        y = 3 + sum(growth.regressors(x) ** power for power in range(1, growth.degree + 1)) + 0 * x
        assert decide(x, y, growth).outcome is Outcome.EXACT, growth.name
    assert growth_named("N log N").name == "nlogn"
    assert growth_named("linear-in-square").name == "linear_in_square"


def test_options_are_described_with_units() -> None:
    schema = StatisticsOptions.model_json_schema()
    assert schema["additionalProperties"] is False
    for name, entry in schema["properties"].items():
        assert entry["description"], name
        assert entry["unit"], name
        assert "default" in entry, name


@pytest.mark.slow
def test_the_vectors_of_a_test_go_with_it() -> None:
    sizes = np.arange(1.0, 5_001.0)
    response = 3 * sizes + 1000 * np.random.default_rng(1).standard_normal(sizes.size)
    fit_growth(sizes, response, "linear")  # what it imports stays
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        fit_growth(sizes, response, "linear")
        # 15 kB stay with each call, a vector is 40 kB.
        assert tracemalloc.get_traced_memory()[0] - before < sizes.nbytes // 2
    finally:
        tracemalloc.stop()
        gc.enable()
