"""CPU seconds, memory and optimum of the searches that have goals, each beside its goal.

    python benchmarks/open_spaces.py [--exercises FOLDER] [--only TEXT …] [--seconds 60] [--random 500]

``--exercises`` is ``workspace/example_designs`` of timeloop-accelergy-exercises (commit 2d55108), whose designs and
layers are not part of this repository; without it those rows are left out. ``--random`` draws that many of the random
convolutions (half of them for Simba without its mapspace constraints). One row a search of an open mapspace; the others
are in the summary alone. CPU seconds of this process; compiling (run it twice) and reading the design are left out.
"""

import argparse
import itertools
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from jouleloop.api.hardware import Architecture  # noqa: E402
from jouleloop.api.layers import problem_of  # noqa: E402
from jouleloop.api.run import search  # noqa: E402
from jouleloop.config.load import published_sweeps  # noqa: E402
from jouleloop.engines.protocol import SEMANTICS  # noqa: E402
from jouleloop.workload.problem import ProblemShape  # noqa: E402
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
NETWORKS = ("alexnet", "vgg16", "resnet50")
BERT = ("fc:768x768/batch384", "fc:768x3072/batch384", "fc:3072x768/batch384")
DESIGNS = ("eyeriss_like", "simba_like", "simple_weight_stationary", "simple_output_stationary")
RANDOM_LAYERS, SEED = 500, 1
#: CPU seconds that a group should take, of all searches together or of the slowest.
GOALS = {
    "Figure 4": (6.0, "all"),
    "published points, both sets": (10.0, "all"),
    "random, eyeriss": (1.0, "slowest"),
    "random, simba": (1.0, "slowest"),
    "random, simba arch-only": (5.0, "slowest"),
    "resnet18 on the exercises' designs": (10.0, "slowest"),
    "gemmini": (10.0, "slowest"),
    "manticore": (10.0, "slowest"),
    "systolic array": (10.0, "slowest"),
    "one map from the shell": (0.8, "slowest"),
}
#: Groups of many small searches: no row of their own.
SMALL = ("Figure 4", "published", "random")


class Row(NamedTuple):
    """One search; the rules are those of its semantics."""

    group: str
    arch: str
    layer: str
    constraints: str | None = None
    semantics: str = SEMANTICS[0]


@dataclass
class Spent:
    """CPU seconds of a group, by layer, and how many optima are not proven."""

    seconds: list[tuple[float, str]] = field(default_factory=list)
    unproven: int = 0


def main() -> None:
    """Print the rows, then the groups beside their goals."""
    options = _options()
    spent: dict[str, Spent] = {}
    print("| group | architecture | layer | proven | energy [pJ] | CPU [s] | gap | memory so far [MB] |")
    print("|---|---|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        search("eyeriss", "fc:8x8")
        search("simba", "conv:C8xM8xP4xQ4xR3xS3", constraints="arch-only")
        for row in rows(Path(folder), options.exercises, options.random):
            if not options.only or any(text in " ".join(map(str, row)) for text in options.only):
                one(row, options.seconds, spent.setdefault(row.group, Spent()))
    if not options.only or "shell" in options.only:
        spent["one map from the shell"] = Spent([(from_the_shell(), "fc:1024x128 on eyeriss")])
    print(
        "\n| work | searches | CPU of all [s] | median [s] | slowest [s] | which | not proven | goal [s] | times it |"
    )
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|")
    for group, found in spent.items():
        seconds = [one for one, _ in found.seconds]
        slowest, which = max(found.seconds)
        goal, of = GOALS[group]
        ratio = (sum(seconds) if of == "all" else slowest) / goal
        print(
            f"| {group} | {len(seconds)} | {sum(seconds):.2f} | {statistics.median(seconds):.3f} | {slowest:.2f} "
            f"| {which} | {found.unproven} | {goal:g}, {of} | {ratio:.2f} |"
        )


def one(row: Row, limit: float, spent: Spent) -> None:
    """Search one layer, print its row where it has one, and add what it took."""
    problem = problem_of(row.layer)
    hardware = hardware_of(row.arch, row.constraints, row.semantics, problem.shape)
    began = time.process_time()
    result = search(hardware, problem, seconds=limit)
    seconds = time.process_time() - began
    name = Path(row.arch).parent.name if "/" in row.arch else row.arch
    spent.seconds.append((seconds, f"{problem.name or row.layer} on {name}"))
    spent.unproven += result.ok and not result.optimal
    if row.group.startswith(SMALL):
        return
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    energy = f"{result.energy_pj:.6e}" if result.ok else result.reason
    gap = "" if result.optimal or result.gap is None else f"{result.gap:.2%}"
    print(
        f"| {row.group} | {name} | {problem.name or row.layer} | {'yes' if result.optimal else 'no'} | {energy} "
        f"| {seconds:.2f} | {gap} | {megabytes} |",
        flush=True,
    )


@cache
def hardware_of(arch: str, constraints: str | None, semantics: str, shape: ProblemShape) -> Architecture:
    """Return a design for layers of a shape."""
    # The interpolated energies know 40 and 45 nm; the example of Eyeriss asks for 65.
    changes = {"eyeriss.technology": "45nm"} if "eyeriss_like" in arch else None
    return Architecture.read(arch, constraints=constraints, changes=changes, semantics=semantics, shape=shape)


def from_the_shell() -> float:
    """Return the CPU seconds of one search as a command, its kernels compiled."""
    command = [sys.executable, "-m", "jouleloop", "map", "--arch", "eyeriss", "--layer", "fc:1024x128"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(folder: Path, exercises: Path | None, random_layers: int) -> Iterator[Row]:
    """Yield every search."""
    systolic = folder / "systolic" / "arch.yaml"
    systolic.parent.mkdir()
    systolic.write_text(SYSTOLIC, encoding="utf-8")
    yield Row("systolic array", str(systolic), "fc:1024x1024/batch64")
    networks = [load_network(ROOT / "layers" / "networks" / f"{name}.yaml") for name in NETWORKS]
    layers = dict.fromkeys([*(point.layer.spec() for network in networks for point in network.points), *BERT])
    for group, arch in (("systolic array", str(systolic)), ("gemmini", "gemmini"), ("manticore", "manticore")):
        for layer in layers:
            yield Row(group, arch, layer)
    if exercises is not None:
        for design in DESIGNS:
            for path in sorted((exercises / "layer_shapes" / "resnet18").glob("*.yaml")):
                arch = exercises / "example_designs" / design / "arch.yaml"
                yield Row("resnet18 on the exercises' designs", str(arch), str(path))
    for arch in ("eyeriss", "simba"):
        for inputs, outputs in itertools.product(range(32, 1025, 32), repeat=2):
            yield Row("Figure 4", arch, f"fc:{inputs}x{outputs}")
    for sweep in published_sweeps(ROOT):
        for (arch, _), constraints in itertools.product(sweep.published, ("full", "arch-only")):
            for point in sweep.points:
                yield Row("published points, both sets", arch, point.layer.spec(), constraints, "timeloop-2023-04")
    points = load_sweep(ROOT / "layers" / "conv_random.yaml").points
    drawn = [point.layer.spec() for point in random.Random(SEED).sample(list(points), min(random_layers, len(points)))]
    for arch in ("eyeriss", "simba"):
        for layer in drawn:
            yield Row(f"random, {arch}", arch, layer)
    for layer in drawn[: (len(drawn) + 1) // 2]:
        yield Row("random, simba arch-only", "simba", layer, "arch-only")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exercises", type=Path, help="workspace/example_designs of timeloop-accelergy-exercises")
    parser.add_argument("--only", nargs="*", help="rows that hold one of these texts; or shell")
    parser.add_argument("--random", type=int, default=RANDOM_LAYERS, help="how many of the random convolutions")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one search")
    return parser.parse_args()


if __name__ == "__main__":
    main()
