"""Print how many mappings of one layer are evaluated in a second on one core, and what a single evaluation takes.

The mappings are drawn at random from the layer's mapspace. "Arrays" are mappings already encoded, as a search holds
them; "objects" are `Mapping` objects, encoded on the way. "One by one" is the baseline: the engine's `evaluate` once a
mapping, as a program would call it that tries mappings itself; it also checks the mapping and makes the whole table of
accesses and energies. The last columns are how many times as many mappings a second the others do. Times are
CPU seconds after a first call, which compiles. Wanted: 20,000 convolution evaluations a second, 5 ms for a single one.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from jouleloop.api.project import load_target
from jouleloop.engines.protocol import Target
from jouleloop.engines.registry import get_engine
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import build_mapspace
from jouleloop.workload.problem import Problem
from jouleloop.workload.sizes import parse_layer

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from bulk import encode_mappings, evaluate_many, evaluate_nests
from sample import sample_mappings

LAYERS = (
    "conv:C3xM64xP55xQ55xR11xS11/stride4",
    "conv:C64xM128xP56xQ56xR3xS3",
    "conv:C192xM128xP13xQ13xR3xS3/groups2",
    "fc:1024x128",
)
SINGLE = 200


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some calls."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def fitting(problem: Problem, target: Target, mappings: list[Mapping]) -> list[Mapping]:
    """Return the first of ``mappings`` that fit the capacities."""
    found: list[Mapping] = []
    for mapping in mappings:
        try:
            get_engine("native").evaluate(problem, target, mapping)
        except MappingError:
            continue
        found.append(mapping)
        if len(found) == SINGLE:
            break
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layer", action="append", help="layer, such as fc:1024x128; may be given several times")
    parser.add_argument("--arch", action="append", help="architecture; may be given several times")
    parser.add_argument("--mappings", type=int, default=20000, help="mappings a layer (default: 20000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random generator (default: 1)")
    arguments = parser.parse_args()
    engine = get_engine("native")
    print(
        "| layer | architecture | arrays [1/s] | objects [1/s] | one by one [1/s] | one evaluation [ms] "
        "| arrays, times as many | objects, times as many |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for text in arguments.layer or LAYERS:
        problem = parse_layer(text).problem()
        for name in arguments.arch or ("eyeriss", "simba"):
            target = load_target(name, semantics="timeloop-3.0.3").for_shape(problem.shape)
            space = build_mapspace(problem, target.arch, target.constraints)
            mappings = sample_mappings(space, arguments.mappings, seed=arguments.seed)
            given = (problem, target.arch, target.costs)
            nests = encode_mappings(problem, target.arch, mappings)
            evaluate_many(*given, mappings[:10])
            arrays = seconds(lambda given=given, nests=nests: evaluate_nests(*given, nests))
            objects = seconds(lambda given=given, mappings=mappings: evaluate_many(*given, mappings))
            few = fitting(problem, target, mappings)
            single = seconds(
                lambda problem=problem, target=target, few=few: [engine.evaluate(problem, target, m) for m in few]
            ) / len(few)
            rates = [len(mappings) / arrays, len(mappings) / objects, 1 / single]
            times = " | ".join(f"{rate * single:.1f}" for rate in rates[:2])
            print(
                f"| {text} | {name} | " + " | ".join(f"{rate:,.0f}" for rate in rates),
                f"{1000 * single:.2f} | {times} |",
                sep=" | ",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
