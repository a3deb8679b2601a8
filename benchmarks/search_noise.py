"""Print how the paper's p-value and the verdict move when a search misses exact optima by a little."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from jouleloop.stats.search_noise import search_noise
from simulated_growth import GRID, line_with_share

SIMULATIONS = 500


def main() -> int:
    print("| quadratic share | optima missed by up to | p, 5 % to 95 % | p below 0.05 | verdicts |")
    print("|---:|---:|---|---:|---|")
    for share in (0.0, 0.001):
        for excess in (0.0001, 0.001, 0.01):
            energies = 3e8 * line_with_share(GRID, share)
            moved = search_noise(GRID, energies, "linear", excess=excess, simulations=SIMULATIONS, seed=1)
            low, _, high = moved.quantiles
            verdicts = ", ".join(f"{name} {100 * rate:.0f} %" for name, rate in moved.verdicts.items())
            cells = f"{low:.2g} to {high:.2g} | {100 * moved.below_alpha:.0f} %"
            print(f"| {100 * share:.2g} % | {100 * excess:g} % | {cells} | {verdicts} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
