"""Faults drawn at random, for a given time: nothing is lost, nothing wrong is believed, nothing hangs.

    python tests/faults/run.py [--minutes 10] [--processes 2] [--seed N] [--only KIND …]

Each round takes one kind (`rounds.KINDS`) and one seed. A failure prints both, and what was seen; ``--only KIND
--seed N --minutes 0`` draws that round again. The counts are printed at the end; the exit code is 1 where
anything failed. Most rounds keep one core busy, so as many are drawn at once as there are processes.
"""

import argparse
import itertools
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from rounds import KINDS, Bench

#: What a round counted, and how it failed.
Drawn = tuple[Counter[str], str | None]


def main() -> int:
    """Draw rounds until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="time after which no further round begins")
    parser.add_argument("--processes", type=int, default=2, help="rounds that are drawn at once")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="of the first round")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds to draw; all without it")
    options = parser.parse_args()
    kinds, rounds, failed = options.only or list(KINDS), 0, 0
    counts: Counter[str] = Counter()
    print(f"faults from seed {options.seed}: {', '.join(kinds)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="jouleloop-faults-") as name:
        folder = Path(name)
        first = Bench.prepared(folder / "first", workflow="outputs" in kinds)
        asked = zip(itertools.cycle(kinds), itertools.count(options.seed))
        with ProcessPoolExecutor(options.processes, initializer=take_bench, initargs=(first,)) as pool:
            for drawn, failure in drawn_for(60 * options.minutes, pool, options.processes, asked):
                rounds += 1
                counts.update(drawn)
                if failure:
                    failed += 1
                    print(failure, flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:8,d}  {what}")
    print(f"{rounds:8,d}  rounds, of which {failed} failed")
    return int(failed > 0)


def drawn_for(
    seconds: float, pool: ProcessPoolExecutor, at_once: int, asked: Iterator[tuple[str, int]]
) -> Iterator[Drawn]:
    """Yield the rounds as they end; begin one for each that ends until the time is over, and one at least."""
    end = time.monotonic() + seconds
    running: set[Future[Drawn]] = {pool.submit(draw, *next(asked))}
    while running:
        while len(running) < at_once and time.monotonic() < end:
            running.add(pool.submit(draw, *next(asked)))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (one.result() for one in done)


def take_bench(first: Bench) -> None:
    """Give this process a bench of its own."""
    global BENCH
    BENCH = first.copied(Path(tempfile.mkdtemp(dir=first.folder.parent)))


def draw(kind: str, seed: int) -> Drawn:
    """Draw one round on this process's bench."""
    try:
        return KINDS[kind](BENCH, random.Random(seed)), None
    except Exception:
        return Counter(), f"FAILED: --only {kind} --seed {seed} --minutes 0\n{traceback.format_exc()}"


if __name__ == "__main__":
    sys.exit(main())
