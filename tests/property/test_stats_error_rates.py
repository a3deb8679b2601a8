"""Simulated data with known truth: verdicts are right, and wrong at most at the level of the tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jouleloop.stats.analysis import holm
from jouleloop.stats.equivalence import equivalence_test
from jouleloop.stats.growth import Outcome, decide
from jouleloop.stats.quadratic import quadratic_test
from simulated_growth import GRID, ErrorRate, autoregressive, error_rates, line_with_share

SIMULATIONS = 500
ALPHA = 0.05
# Three standard errors of a rate of 5 % in 500 simulations.
HIGHEST_ERROR = ALPHA + 3 * (ALPHA * (1 - ALPHA) / SIMULATIONS) ** 0.5


@pytest.fixture(scope="module")
def rates() -> tuple[ErrorRate, ...]:
    return error_rates(SIMULATIONS)


@pytest.mark.slow
def test_errors_occur_at_most_at_the_level(rates: tuple[ErrorRate, ...]) -> None:
    too_many = {(r.scenario.name, r.scenario.expected): r.counts for r in rates if r.worst_error > HIGHEST_ERROR}
    assert too_many == {}


@pytest.mark.slow
def test_right_verdicts_are_given_where_the_points_suffice(rates: tuple[ErrorRate, ...]) -> None:
    too_few = {(r.scenario.name, r.scenario.expected): r.counts for r in rates if r.right_rate < r.scenario.power}
    assert too_few == {}
    assert sum(r.scenario.power > 0 for r in rates) > 15


@pytest.mark.slow
def test_tests_at_the_margin_are_not_merely_timid(rates: tuple[ErrorRate, ...]) -> None:
    """Where the truth lies on the margin, an honest 5 % test errs in about 5 % of the samples, not never."""
    at_margin = {r.scenario.name: r.rate(Outcome.CONFIRMED) for r in rates if "at the margin" in r.scenario.name}
    assert at_margin["quadratic share at the margin"] > 0.02


def test_paper_test_rejects_a_true_line_at_its_level() -> None:
    generator = np.random.default_rng(11)
    y = 5 + GRID + 20 * generator.standard_normal((SIMULATIONS, GRID.size))
    rejected = np.mean([quadratic_test(GRID, sample).p_value < ALPHA for sample in y])
    assert 0.02 < rejected < HIGHEST_ERROR


@settings(max_examples=60, deadline=None)
@given(
    slope=st.floats(1e-6, 1e6),
    intercept=st.floats(0, 1e6),
    step=st.integers(1, 1000),
    points=st.integers(4, 60),
)
def test_every_exact_line_is_exact(slope: float, intercept: float, step: int, points: int) -> None:
    x = np.arange(1, points + 1) * float(step)
    if slope * np.ptp(x) > 1e-9 * intercept:  # a slope that is not lost in the rounding of the response
        assert decide(x, intercept + slope * x, "linear").outcome is Outcome.EXACT


@settings(max_examples=60, deadline=None)
@given(
    y=st.lists(st.one_of(st.just(0.0), st.floats(1e-50, 1e12)), max_size=20),
    growth=st.sampled_from(["constant", "linear", "nlogn", "quadratic", "linear_in_square", "inverse_quadratic"]),
)
def test_any_numbers_get_a_verdict(y: list[float], growth: str) -> None:
    verdict = decide(np.arange(1, len(y) + 1), y, growth)
    assert verdict.outcome in Outcome
    assert verdict.reason


@pytest.mark.parametrize("correlation", [0.9, 0.97])
def test_a_line_is_not_refuted_for_scatter_that_persists(correlation: float) -> None:
    """Errors of independent points refuted a third of these lines; at most one in twenty may be."""
    generator = np.random.default_rng([31, int(100 * correlation)])
    refuted = 0
    for _ in range(SIMULATIONS):
        y = line_with_share(GRID, 0.0) * (1 + 0.01 * autoregressive(generator, GRID.size, correlation))
        refuted += equivalence_test(GRID, y, 2).beyond
    assert refuted / SIMULATIONS < HIGHEST_ERROR


@pytest.mark.slow
def test_a_study_of_parabolas_at_the_margin_is_confirmed_somewhere_at_most_at_the_level() -> None:
    """Every test has its p-value whatever came out, so Holm's correction is over all and not over those that passed."""
    generator = np.random.default_rng(20)
    studies, false = 200, 0
    for _ in range(studies):
        p_values = []
        for _ in range(20):
            y = line_with_share(GRID, 0.01) * (1 + 0.002 * generator.standard_normal(GRID.size))
            p_values.append(decide(GRID, y, "linear").confirmation_p)
        assert not np.isnan(p_values).any()
        false += bool((holm(p_values) <= ALPHA).any())
    assert false / studies < ALPHA + 3 * (ALPHA * (1 - ALPHA) / studies) ** 0.5
