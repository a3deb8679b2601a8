"""Seconds, memory and optimum of searches in mapspaces that constraints leave wide open.

    python benchmarks/open_spaces.py [--exercises FOLDER] [--only TEXT …] [--seconds 60]

``--exercises`` is ``workspace/example_designs`` of timeloop-accelergy-exercises (commit 2d55108), whose designs and
layers are not part of this repository; without it those rows are left out. One row a search: CPU seconds of this
process without compiling, whether the optimum is proven, the gap where it is not, and the largest memory so far.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from jouleloop.api.hardware import Architecture  # noqa: E402
from jouleloop.api.layers import problem_of  # noqa: E402
from jouleloop.api.run import search  # noqa: E402
from jouleloop.workload.sweep import load_network, load_sweep  # noqa: E402

#: A systolic array without any constraint: three levels, 16 x 16 units.
SYSTOLIC = """architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {technology: "45nm", global_cycle_seconds: 1e-9}}
  - !Component {name: DRAM, class: DRAM, attributes: {type: "LPDDR4", width: 64, datawidth: 16}}
  - !Component
    name: buffer
    class: smartbuffer_SRAM
    attributes: {depth: 32768, width: 64, n_banks: 16, datawidth: 16}
  - !Container {name: array, spatial: {meshX: 16, meshY: 16}}
  - !Component {name: registers, class: regfile, attributes: {depth: 16, width: 16, datawidth: 16}}
  - !Component {name: mac, class: intmac, attributes: {multiplier_width: 16, adder_width: 16}}
"""
BERT = ("fc:768x768/batch384", "fc:768x3072/batch384", "fc:3072x768/batch384")
DESIGNS = ("eyeriss_like", "simba_like", "simple_weight_stationary", "simple_output_stationary")
#: Draws of random layers for Simba without its mapspace constraints.
RANDOM_LAYERS, SEED = 12, 1
Row = tuple[str, str, str, str | None]


def main() -> None:
    """Print a row a search, then a summary by group."""
    options = _options()
    worst: dict[str, tuple[float, str]] = {}
    unproven: dict[str, int] = {}
    print("| group | architecture | layer | proven | energy [pJ] | CPU [s] | gap | memory so far [MB] |")
    print("|---|---|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        search("eyeriss", "fc:8x8")
        for group, arch, layer, constraints in rows(Path(folder), options.exercises):
            if options.only and not any(text in f"{group} {arch} {layer}" for text in options.only):
                continue
            seconds = one(group, arch, layer, constraints, options.seconds, unproven)
            worst[group] = max(worst.get(group, (0.0, "")), (seconds, f"{Path(arch).parent.name or arch} {layer}"))
    print("\n| group | slowest [CPU s] | which | not proven |\n|---|---:|---|---:|")
    for group, (seconds, which) in worst.items():
        print(f"| {group} | {seconds:.2f} | {which} | {unproven.get(group, 0)} |")


def one(group: str, arch: str, layer: str, constraints: str | None, limit: float, unproven: dict[str, int]) -> float:
    """Search one layer and print its row; return the CPU seconds."""
    problem = problem_of(layer)
    # The interpolated energies know 40 and 45 nm; the example of Eyeriss asks for 65.
    changes = {"eyeriss.technology": "45nm"} if "eyeriss_like" in arch else None
    hardware = Architecture.read(arch, constraints=constraints, changes=changes, shape=problem.shape)
    began = time.process_time()
    result = search(hardware, problem, seconds=limit)
    seconds = time.process_time() - began
    unproven[group] = unproven.get(group, 0) + (not result.optimal)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    energy = f"{result.energy_pj:.6e}" if result.ok else result.reason
    gap = "" if result.optimal or result.gap is None else f"{result.gap:.2%}"
    name = Path(arch).parent.name if "/" in arch else arch
    print(
        f"| {group} | {name} | {problem.name or layer} | {'yes' if result.optimal else 'no'} | {energy} "
        f"| {seconds:.2f} | {gap} | {megabytes} |",
        flush=True,
    )
    return seconds


def rows(folder: Path, exercises: Path | None) -> Iterator[Row]:
    """Yield group, architecture, layer and set of constraints of every search."""
    systolic = folder / "systolic" / "arch.yaml"
    systolic.parent.mkdir()
    systolic.write_text(SYSTOLIC, encoding="utf-8")
    yield "systolic array", str(systolic), "fc:1024x1024/batch64", None
    for arch in ("gemmini", "manticore"):
        for network in ("alexnet", "vgg16", "resnet50"):
            for point in load_network(ROOT / "layers" / "networks" / f"{network}.yaml").points:
                yield arch, arch, point.layer.spec(), None
        for layer in BERT:
            yield arch, arch, layer, None
    points = load_sweep(ROOT / "layers" / "conv_random.yaml").points
    for point in random.Random(SEED).sample(list(points), RANDOM_LAYERS):
        yield "simba arch-only", "simba", point.layer.spec(), "arch-only"
    yield "random, eyeriss", "eyeriss", "conv:C216xM148xP32xQ32xR5xS5/stride3", None
    if exercises is not None:
        for design in DESIGNS:
            for path in sorted((exercises / "layer_shapes" / "resnet18").glob("*.yaml")):
                yield "resnet18", str(exercises / "example_designs" / design / "arch.yaml"), str(path), None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exercises", type=Path, help="workspace/example_designs of timeloop-accelergy-exercises")
    parser.add_argument("--only", nargs="*", help="rows that hold one of these texts")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one search")
    return parser.parse_args()


if __name__ == "__main__":
    main()
