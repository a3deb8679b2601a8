"""Attack certificates as a cheat would, and print how many of which kind were refused.

python benchmarks/certificate_attacks.py --true 510 --attacks 5
"""

import argparse
import itertools
import resource
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from attacks import Tally, attacked, believed  # noqa: E402


def main() -> None:
    """Draw true certificates, verify them, attack each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--true", type=int, default=510, help="True certificates.")
    parser.add_argument("--attacks", type=int, default=5, help="Attacks on each.")
    parser.add_argument("--first", type=int, default=5000, help="First seed.")
    chosen = parser.parse_args()
    tally, made = Tally(), 0
    for name, data in believed(itertools.count(chosen.first), chosen.true, tally):
        made += attacked(name, data, chosen.attacks, tally)
    print("| attack | refused |\n|---|---:|")
    for attack, number in sorted(tally.refused.items()):
        print(f"| {attack.replace('_', ' ')} | {number} |")
    held_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(tally.kinds.items()))
    print(f"\n{sum(tally.kinds.values())} true certificates ({kinds}): {len(tally.disbelieved)} refused.")
    print(f"{made} attacks: {len(tally.accepted)} accepted.")
    print(f"Slowest: {tally.slowest_seconds:.1f} processor seconds; most memory: {held_mb:,.0f} MB.")
    for line in (*tally.disbelieved, *tally.accepted):
        print(line)
    sys.exit(bool(tally.accepted or tally.disbelieved))


if __name__ == "__main__":
    main()
