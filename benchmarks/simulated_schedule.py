"""Simulate the schedule of studies that no machine here can run: chunks, job starts, the submitting process, the end.

    python benchmarks/simulated_schedule.py results/timings.csv [--points 40000 1000000 1000000000] [--cores 2 64 1024]

The costs of points are drawn from a finished run's timings; the other costs are those that docs/scaling.md reports.
Chunks are dealt by hash, as the workflow does; jobs start in order, as soon as a core is free and the submitting
process has handed them over. Beyond a million points the costs of chunks are drawn as sums: normal, by the central
limit theorem, with the dearest point, which no chunk can split, in the last chunk: the worst place.
"""

import argparse
import heapq
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Costs:
    """What everything but the search costs; see docs/scaling.md.

    Attributes
    ----------
    job_start_s
        Starting Python and importing, on the core of the job.
    submit_s
        What Snakemake takes for one job, in the one process that submits.
    plan_s, table_s
        Reading sweeps and dealing layers out, and collecting the table, for one point: one core each.
    """

    job_start_s: float = 0.8
    submit_s: float = 0.05
    plan_s: float = 9e-5
    table_s: float = 3.7e-4


@dataclass(frozen=True)
class Schedule:
    """One simulated run."""

    wall_s: float
    search_s: float
    efficiency: float
    last_s: float


def simulate(seconds: np.ndarray, points: int, cores: int, chunks: int, costs: Costs, seed: int = 0) -> Schedule:
    """Return the schedule of ``points`` in ``chunks`` jobs on ``cores`` cores.

    Parameters
    ----------
    seconds
        Measured costs of single points; those of the study are drawn from them.
    """
    random = np.random.default_rng(seed)
    if points <= 1_000_000:
        drawn = random.choice(seconds, size=points)
        work = np.bincount(random.integers(chunks, size=points), weights=drawn, minlength=chunks)
    else:
        sizes = points / chunks
        work = random.normal(sizes * seconds.mean(), np.sqrt(sizes) * seconds.std(), size=chunks)
        work = np.maximum(work, sizes * seconds.mean() / 2)
        work[-1] += seconds.max()
    begin = costs.plan_s * points
    free = [begin] * min(cores, chunks)
    handed = begin
    for one in work:
        handed += costs.submit_s
        start = max(heapq.heappop(free), handed)
        heapq.heappush(free, start + costs.job_start_s + one)
    ends = sorted(free)
    wall = ends[-1] + costs.table_s * points
    return Schedule(wall, float(work.sum()), float(work.sum()) / (wall * cores), ends[-1] - ends[0])


def chunk_number(points: int, cores: int, mean_s: float, chunk_s: float, most: int) -> int:
    """Return how many chunks there are: each of about ``chunk_s``, at least four a core, at most ``most``."""
    return int(min(max(points * mean_s / chunk_s, 4 * cores, 1), most, points))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timings", type=Path, help="timings.csv of a finished run")
    parser.add_argument("--points", type=int, nargs="*", default=[40_000, 1_000_000, 1_000_000_000])
    parser.add_argument("--cores", type=int, nargs="*", default=[2, 64, 1024, 16384])
    parser.add_argument("--chunk", type=float, nargs="*", default=[20.0, 600.0, 3600.0], help="work of one chunk [s]")
    parser.add_argument("--most", type=int, nargs="*", default=[400, 200_000], help="most chunks of one run")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="processor time of the run over the sum of its timings"
    )
    parser.add_argument(
        "--longest", type=float, default=60.0, help="leave longer timings out: a kernel was compiled [s]"
    )
    parser.add_argument(
        "--shards", type=int, default=1, help="independent studies that the points and cores are cut into"
    )
    options = parser.parse_args()
    seconds = pd.read_csv(options.timings)["seconds"].to_numpy(dtype=float)
    seconds = seconds[seconds <= options.longest] * options.scale
    print(f"{len(seconds)} timings: mean {seconds.mean():.4f} s, largest {seconds.max():.1f} s")
    print(f"{'points':>13} {'cores':>6} {'chunk s':>8} {'chunks':>7} {'wall':>12} {'busy':>6} {'last core':>10}")
    for points in options.points:
        for cores in options.cores:
            shown = set()
            for most in options.most:
                for chunk in options.chunk:
                    own_points, own_cores = points // options.shards, max(1, cores // options.shards)
                    number = chunk_number(own_points, own_cores, seconds.mean(), chunk, most)
                    if number in shown:
                        continue
                    shown.add(number)
                    found = simulate(seconds, own_points, own_cores, number, Costs())
                    print(
                        f"{points:13,} {cores:6d} {chunk:8.0f} {number:7d} {_time(found.wall_s):>12}"
                        f" {found.efficiency:6.1%} {_time(found.last_s):>10}"
                    )


def _time(seconds: float) -> str:
    for size, unit in ((86400 * 365, "a"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    main()
