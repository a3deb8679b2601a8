"""Faults drawn at random, for a given time: nothing is lost, nothing wrong is believed, nothing hangs.

    python tests/faults/run.py [--minutes 10] [--seed N] [--only KIND …]

Each round takes one kind (`rounds.KINDS`) and one seed. A failure prints both, and what was seen; ``--only KIND
--seed N --minutes 0`` draws that round again. The counts are printed at the end; the exit code is 1 where
anything failed.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from rounds import KINDS, Bench


def main() -> int:
    """Draw rounds until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="time after which no further round begins")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="of the first round")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds to draw; all without it")
    options = parser.parse_args()
    kinds, seed, failed = options.only or list(KINDS), options.seed, 0
    counts: Counter[str] = Counter()
    print(f"faults from seed {seed}: {', '.join(kinds)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="jouleloop-faults-") as folder:
        bench = Bench.prepared(Path(folder))
        end = time.monotonic() + 60 * options.minutes
        while True:
            kind = kinds[(seed - options.seed) % len(kinds)]
            try:
                counts.update(KINDS[kind](bench, random.Random(seed)))
            except Exception:
                failed += 1
                print(f"FAILED: --only {kind} --seed {seed} --minutes 0\n{traceback.format_exc()}", flush=True)
            seed += 1
            if time.monotonic() >= end:
                break
    for what, count in sorted(counts.items()):
        print(f"{count:8,d}  {what}")
    print(f"{seed - options.seed:8,d}  rounds, of which {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
