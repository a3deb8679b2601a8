"""Print how often each verdict is given on simulated data of known growth, as the table of docs/statistics.md."""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from jouleloop.stats.growth import Outcome
from simulated_growth import error_rates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=500, help="samples a scenario (default: 500)")
    parser.add_argument("--seed", type=int, default=20240101, help="of the random generator (default: 20240101)")
    arguments = parser.parse_args()
    shown = (Outcome.CONFIRMED, Outcome.REFUTED, Outcome.INCONCLUSIVE, Outcome.EXACT)
    print("| data | expected | " + " | ".join(shown) + " | wrong at most |")
    print("|---|---|" + "---:|" * 5)
    for rate in error_rates(arguments.simulations, arguments.seed):
        cells = [f"{100 * rate.rate(outcome):.1f}{'*' if outcome in rate.scenario.right else ''}" for outcome in shown]
        cells.append(f"{100 * rate.worst_error:.1f}")
        print(" | ".join(["| " + rate.scenario.name, rate.scenario.expected, *cells]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
