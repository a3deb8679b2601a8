"""Print how often each verdict is given on simulated data of known growth, as the table of docs/statistics.md."""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from scipy.stats import t as student

from jouleloop.stats.expected import growth_named
from jouleloop.stats.growth import Outcome
from jouleloop.stats.options import StatisticsOptions
from jouleloop.stats.regression import FloatArray, fit_polynomial
from simulated_growth import Scenario, error_rates


def refuted_by_hc3(x: FloatArray, y: FloatArray, expected: str, options: StatisticsOptions) -> bool:
    """Return whether the next power's share lies beyond the margin by HC3 errors alone, as if points were apart."""
    growth = growth_named(expected)
    u = growth.regressors(x)
    fit = fit_polynomial(u, y, growth.degree + 1)
    if not fit.robust_errors_exist or not fit.degrees_of_freedom:
        return False
    contrasts = np.vstack([fit.leading(u.max()), fit.at(u.max())])
    beyond = contrasts[0] - options.margin * np.array([[1.0], [-1.0]]) * contrasts[1]
    above, below = beyond @ fit.coefficients / np.sqrt(np.diag(fit.covariance_hc3(beyond)))
    return bool(max(above, -below) >= student.isf(options.alpha / 2, fit.degrees_of_freedom))


def share_by_hc3(scenario: Scenario, simulations: int, seed: list[int]) -> float:
    """Return how often `refuted_by_hc3` says so of the samples that `error_rates` draws."""
    generator, options = np.random.default_rng(seed), StatisticsOptions()
    samples = (scenario.draw(generator) for _ in range(simulations))
    return sum(refuted_by_hc3(x, y, scenario.expected, options) for x, y in samples) / simulations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=500, help="samples a scenario (default: 500)")
    parser.add_argument("--seed", type=int, default=20240101, help="of the random generator (default: 20240101)")
    arguments = parser.parse_args()
    shown = (Outcome.CONFIRMED, Outcome.REFUTED, Outcome.INCONCLUSIVE, Outcome.EXACT)
    print("| data | expected | " + " | ".join(shown) + " | wrong at most | beyond by HC3 alone |")
    print("|---|---|" + "---:|" * 6)
    for number, rate in enumerate(error_rates(arguments.simulations, arguments.seed)):
        cells = [f"{100 * rate.rate(outcome):.1f}{'*' if outcome in rate.scenario.right else ''}" for outcome in shown]
        cells.append(f"{100 * rate.worst_error:.1f}")
        hc3 = share_by_hc3(rate.scenario, arguments.simulations, [arguments.seed, number])
        cells.append(f"{100 * hc3:.1f}")
        print(" | ".join(["| " + rate.scenario.name, rate.scenario.expected, *cells]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
