"""A verdict cannot be fooled by a bend that the next power does not see."""

import numpy as np
import pytest

from jouleloop.stats.growth import Outcome, decide, fit_growth
from jouleloop.stats.misfit import misfit_test
from jouleloop.stats.regression import fit_polynomial
from simulated_growth import GRID, MISFITS, mn_grid, unseen_misfit


@pytest.mark.parametrize("shape", MISFITS)
@pytest.mark.parametrize("x", [GRID, mn_grid()], ids=["32 sizes", "grid of mn"])
def test_a_bend_that_no_quadratic_term_sees_is_never_confirmed(shape, x):
    verdict = decide(x, unseen_misfit(x, shape, 0.02), "linear")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    if x.size > 100 and shape != "sine":
        assert verdict.excess.within, "the next power alone would have confirmed it"
        assert "bends" in verdict.reason
        assert verdict.confirmation_p > 0.05


def test_a_line_with_a_little_noise_is_confirmed_within_margin_and_range():
    noise = np.random.default_rng(3).standard_normal(GRID.size)
    verdict = decide(GRID, (1 + GRID) * (1 + 0.001 * noise), "linear")
    assert verdict.outcome is Outcome.CONFIRMED
    assert "of this range" in verdict.reason
    assert verdict.confirmation_p == max(
        verdict.excess.p_value, verdict.misfit.p_value, verdict.leading.positive_p_value
    )
    assert verdict.confirmation_p < 0.05


def test_parts_hold_every_point_and_the_deviation_is_the_sum_over_the_fitted_sum():
    y = 1 + GRID + np.where(GRID > 3500, 300.0, 0.0)
    fit = fit_polynomial(GRID, y, 1)
    test = misfit_test(fit, 0.01, 0.05)
    assert test.parts == 8  # of equal width and of equal numbers of points: the same on this grid
    part = (test.u_low <= GRID) & (test.u_high >= GRID)
    assert test.deviation == pytest.approx(fit.residuals[part].sum() / fit.fitted[part].sum())
    assert not test.within


def test_too_few_points_are_said_to_be_too_few():
    x = np.array([1.0, 1, 1, 2])
    assert misfit_test(fit_polynomial(x, np.array([1.0, 1.1, 0.9, 1.0]), 0), 0.01, 0.05).note


def test_the_misfit_is_reported_with_its_part_of_the_range():
    test = fit_growth(mn_grid(), unseen_misfit(mn_grid(), "kink 90", 0.02), "linear")
    misfit = test.verdict.misfit
    assert misfit.u_low > 0.8 * mn_grid().max()
    assert misfit.low <= misfit.deviation <= misfit.high
