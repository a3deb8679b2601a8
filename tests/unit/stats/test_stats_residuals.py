"""Divisibility counts against brute force, and the lower envelope against a construction with known best layers."""

from itertools import product
from math import prod

import numpy as np
import pytest
from scipy import stats

from jouleloop.division import divisors
from jouleloop.errors import InputError
from jouleloop.stats.growth import fit_growth
from jouleloop.stats.residuals import factorisation_count, lower_envelope, rank_correlation, residual_structure


@pytest.mark.parametrize("number", [*range(1, 40), 128, 360, 997])
def test_factorisations_by_brute_force(number: int) -> None:
    for levels in (1, 2, 3):
        count = sum(prod(factors) == number for factors in product(divisors(number), repeat=levels))
        assert factorisation_count(number, levels) == count


@pytest.mark.parametrize("n", [4, 7, 60])
@pytest.mark.parametrize("decimals", [0, 2, 9])
def test_rank_correlations_are_those_of_scipy(n: int, decimals: int) -> None:
    draw = np.random.default_rng(n + decimals)
    x, y = np.round(3 * draw.normal(size=n), decimals), draw.integers(1, 9, size=n)
    expected = stats.spearmanr(x, y)
    assert rank_correlation(x, y) == (expected.statistic, expected.pvalue)
    assert rank_correlation(y, -y) == tuple(stats.spearmanr(y, -y))


def test_energy_that_falls_with_divisors_is_seen() -> None:
    x = np.arange(16, 272)
    penalty = np.array([1 + 0.5 / len(divisors(int(v))) for v in x])
    test = fit_growth(x, 10.0 * x * penalty, "linear")
    structure = residual_structure(test, x, {"C": x})
    assert structure.correlation < -0.9
    assert structure.p_value < 1e-10
    assert list(structure.divisors) == [len(divisors(int(v))) for v in x]
    exact = fit_growth(x, 10.0 * x, "linear")
    assert np.isnan(residual_structure(exact, x, {"C": x}).correlation)
    with pytest.raises(InputError, match="differ in length"):
        residual_structure(test, x, {"C": x[:5]})
    with pytest.raises(InputError, match="nothing was fitted"):
        residual_structure(fit_growth(x[:2], x[:2], "linear"), x[:2], {"C": x[:2]})


def test_lower_envelope_finds_the_best_layers() -> None:
    x = np.arange(1.0, 129.0)
    y = 5 * x * np.where(x % 8 == 3, 1.0, 1.2)
    envelope = lower_envelope(x, y, "linear")
    assert envelope is not None
    assert all(x[i] % 8 == 3 for i in envelope.indices)
    assert list(envelope.indices) == sorted(envelope.indices)
    assert envelope.test.verdict.outcome.value == "exact"
    assert envelope.test.coefficients == pytest.approx((0, 5))
    assert lower_envelope(x[:5], y[:5], "linear") is None
    assert lower_envelope(x, 0 * x, "linear") is None
