"""What would decide an inconclusive verdict: a number of sizes that does, and none where none does."""

import math

import numpy as np
import pytest

from jouleloop.stats.deciding import POWER, sizes_needed
from jouleloop.stats.growth import Outcome, fit_growth
from shares import slow_after


def line(count: int, scatter: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.linspace(128.0, 4096.0, count)
    return sizes, (500 + 3 * sizes) * (1 + scatter * np.random.default_rng(seed).standard_normal(count))


@pytest.mark.parametrize("scatter", slow_after(1, [0.004, 0.01]))
def test_as_many_sizes_confirm_a_line_most_times(scatter: float) -> None:
    few = [fit_growth(*line(32, scatter, seed), "linear") for seed in range(40)]
    needed = [sizes_needed(test) for test in few if test.verdict.outcome is Outcome.INCONCLUSIVE]
    typical = int(np.nanmedian(needed))
    assert typical > 32
    confirmed = [
        fit_growth(*line(typical, scatter, seed), "linear").verdict.outcome is Outcome.CONFIRMED
        for seed in range(100, 160)
    ]
    assert np.mean(confirmed) == pytest.approx(POWER, abs=0.2)


def test_no_number_of_sizes_confirms_what_bends() -> None:
    sizes = np.linspace(1.0, 100.0, 600)
    noise = 1 + 0.001 * np.random.default_rng(1).standard_normal(sizes.size)
    test = fit_growth(sizes, (sizes + 8 * np.sin(sizes / 8)) * noise, "linear")
    assert test.verdict.outcome is Outcome.INCONCLUSIVE
    assert math.isnan(sizes_needed(test))


def test_other_verdicts_need_none() -> None:
    sizes = np.arange(1.0, 33.0)
    for response in (3 * sizes + 5, sizes**2 + 1):
        assert math.isnan(sizes_needed(fit_growth(sizes, response, "linear")))
