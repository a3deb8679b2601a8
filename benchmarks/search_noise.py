"""Print how the paper's p-value and the verdict move when a search misses exact optima by a little."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from jouleloop.stats.growth import decide
from jouleloop.stats.quadratic import quadratic_test
from simulated_growth import GRID, line_with_share

SIMULATIONS = 500
LEVEL = 0.05


def main() -> int:
    print("| quadratic share | optima missed by up to | p, 5 % to 95 % | p below 0.05 | verdicts |")
    print("|---:|---:|---|---:|---|")
    for share in (0.0, 0.001):
        for excess in (0.0001, 0.001, 0.01):
            energies, generator = 3e8 * line_with_share(GRID, share), np.random.default_rng(1)
            p_values, verdicts = [], []
            for _ in range(SIMULATIONS):
                # Uniformly and independently a point.
                found = energies * (1 + generator.uniform(0, excess, GRID.size))
                p_values.append(quadratic_test(GRID, found).p_value)
                verdicts.append(decide(GRID, found, "linear").outcome.value)
            low, high = np.quantile(p_values, [0.05, 0.95])
            rates = {name: verdicts.count(name) / SIMULATIONS for name in sorted(set(verdicts))}
            shown = ", ".join(f"{name} {100 * rate:.0f} %" for name, rate in rates.items())
            below = 100 * np.mean(np.array(p_values) < LEVEL)
            print(f"| {100 * share:.2g} % | {100 * excess:g} % | {low:.2g} to {high:.2g} | {below:.0f} % | {shown} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
