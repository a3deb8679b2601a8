"""Search every distinct layer of networks on both published architectures and print processor time and proof.

Kernels are compiled, or loaded, by one search before the clock starts. A layer that the mapspace constraints of Simba
do not divide (its whole vectors take four channels) is searched under the architecture's own constraints alone: these
are the layers in the column "relaxed".
"""

import argparse
import time
from pathlib import Path

from jouleloop.api.project import load_target
from jouleloop.engines.native import NativeEngine
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.sweep import load_network

FOLDER = Path(__file__).parents[1] / "layers" / "networks"
ARCHITECTURES = ("eyeriss", "simba")


def main() -> int:
    """Print a line a network and architecture; return 1 where a layer is not proven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="names of networks; all in layers/networks without any")
    parser.add_argument("--seconds", type=float, default=1.0, help="layers that take longer are printed by themselves")
    given = parser.parse_args()
    engine = NativeEngine()
    targets = {name: load_target(name, semantics="timeloop-3.0.3") for name in ARCHITECTURES}
    wider = load_target("simba", semantics="timeloop-3.0.3", constraints="arch-only")
    unproven, total = 0, 0.0
    for warm in ("conv:C4xM8xP4xQ4xR3xS3", "matmul:M4xN4xK4/batch2"):
        problem = parse_layer(warm).problem()
        for target in targets.values():
            engine.search(problem, target.for_shape(problem.shape))
    print("| network | architecture | layers | proven | relaxed | all [s] | slowest [s] | slowest layer |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    for name in given.networks or sorted(path.stem for path in FOLDER.glob("*.yaml")):
        points = load_network(FOLDER / f"{name}.yaml").points
        for architecture, target in targets.items():
            spent: dict[str, float] = {}
            proven = relaxed = 0
            for point in points:
                problem = point.layer.problem()
                started = time.process_time()
                result = engine.search(problem, target.for_shape(problem.shape))
                if result.status == "invalid" and architecture == "simba":
                    result = engine.search(problem, wider.for_shape(problem.shape))
                    relaxed += 1
                spent[point.layer.label] = time.process_time() - started
                settled = result.optimal or result.status == "no_mapping"
                proven += settled
                if spent[point.layer.label] > given.seconds or not settled:
                    words = f"{architecture} {point.layer.renamed('').spec()}: {spent[point.layer.label]:.2f} s"
                    print(f"<!-- {words}, {result.status} {result.reason} -->", flush=True)
            unproven += len(points) - proven
            total += sum(spent.values())
            slowest = max(spent, key=lambda label: spent[label])
            numbers = (
                f"{len(points)} | {proven} | {relaxed} | {sum(spent.values()):.2f} | {spent[slowest]:.2f} | {slowest}"
            )
            print(f"| {name} | {architecture} | {numbers} |", flush=True)
    print(f"\nAll together: {total:.1f} s of one core.")
    return int(unproven > 0)


if __name__ == "__main__":
    raise SystemExit(main())
