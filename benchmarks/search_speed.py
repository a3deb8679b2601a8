"""Print how fast optima are proven, and how long evaluating the same mapspaces one mapping after another would take.

Baseline: every mapping of the mapspace, as Timeloop counts them (index factorizations x permutations x spatial splits x
bypasses), evaluated without any pruning at the rate that this machine reaches in bulk for the same layers. That is the
rate of a compiled model on arrays (benchmarks/evaluation_rate.py); an exhaustive search could still skip mappings whose
tiles do not fit at less cost. Times are CPU seconds of this process on one core after a first search, which compiles.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from jouleloop.api.project import load_target, project_root
from jouleloop.engines.protocol import Target
from jouleloop.engines.registry import get_engine
from jouleloop.mapspace.space import build_mapspace
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem
from jouleloop.workload.sweep import load_network, load_sweep

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from bulk import encode_mappings, evaluate_nests
from sample import sample_mappings


def problems_of(name: str, count: int, seed: int) -> list[Problem]:
    """Return ``count`` layers of a sweep or network, drawn without repetition."""
    root = project_root() / "layers"
    path = root / "networks" / f"{name}.yaml"
    points = (load_network(path) if path.is_file() else load_sweep(root / f"{name}.yaml")).points
    layers = list({point.layer.renamed("").spec(): point.layer for point in points}.values())
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(len(layers))[:count]
    return [layers[int(index)].problem() for index in sorted(chosen)]


def rate(problems: list[Problem], target: Target, mappings: int) -> float:
    """Return mappings evaluated in a CPU second, over a few of the layers."""
    spent, done = 0.0, 0
    for problem in problems[:: max(1, len(problems) // 4)][:4]:
        space = build_mapspace(problem, target.arch, target.constraints)
        nests = encode_mappings(problem, target.arch, sample_mappings(space, mappings))
        started = time.process_time()
        evaluate_nests(problem, target.arch, target.costs, nests)
        spent += time.process_time() - started
        done += mappings
    return done / spent


def search(problems: list[Problem], target: Target) -> tuple[list[SearchResult], float]:
    """Return the results and the CPU seconds, in bulk where the engine can."""
    engine = get_engine("native")
    many = getattr(engine, "search_many", None)
    started = time.process_time()
    results = many(problems, target) if many else [engine.search(problem, target) for problem in problems]
    return results, time.process_time() - started


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("years", 31557600.0), ("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--layers",
        action="append",
        help="sweep or network; may be given several times (default: fc_weights, conv_depth, conv_inputs, resnet50)",
    )
    parser.add_argument("--arch", action="append", help="architecture; may be given several times")
    parser.add_argument("--constraints", help="set of constraints: full or arch-only; as configured without it")
    parser.add_argument("--count", type=int, default=64, help="layers drawn from each (default: 64)")
    parser.add_argument("--seed", type=int, default=1, help="of the random generator (default: 1)")
    arguments = parser.parse_args()
    print(
        "| layers | architecture | n | proven | layers/s | largest mapspace | median mapspace | "
        "one by one, all layers | times faster |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in arguments.layers or ("fc_weights", "conv_depth", "conv_inputs", "resnet50"):
        problems = [p for p in problems_of(name, arguments.count, arguments.seed) if p.shape.name == "conv_layer"]
        for arch in arguments.arch or ("eyeriss", "simba"):
            target = load_target(arch, semantics="timeloop-3.0.3", constraints=arguments.constraints).for_shape(
                problems[0].shape
            )
            search(problems[:1], target)
            results, spent = search(problems, target)
            sizes = [result.mapspace_size for result in results]
            baseline = sum(sizes) / rate([p for p, s in zip(problems, sizes, strict=True) if s], target, 5000)
            cells = (
                f"{name} | {arch} | {len(problems)} | {sum(r.optimal for r in results)} | {len(problems) / spent:.3g}",
                f"{max(sizes):.2g} | {statistics.median(sizes):.2g} | {duration(baseline)} | {baseline / spent:.2g}",
            )
            print("| " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
