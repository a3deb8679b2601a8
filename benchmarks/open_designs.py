"""Searches of designs without constraints: which are proven, how far the others are, CPU seconds and memory.

    python benchmarks/open_designs.py [--seconds 60] [--only TEXT …] [--random 200] [--beside] [--out FILE]
                                      [--against FILE …] [--timeloop FOLDER]

Groups: (a) named designs, each with 20 layers; (b) random designs of 2 to 5 levels by seed; (c) the two layers of the
authors' networks that take longest; (d) designs with energy of hops and leakage. Every search is a process of its own,
so that its memory is its own. Compiling is left out: a small search comes first. Seconds, of the limit too, are CPU
seconds of the search. With ``--out`` each row is kept as a line of JSON, and a second run searches what is missing.
``--beside`` also searches the published designs under the constraints that ship with them, and tells how many times
their optimum is what was found without: below 1 would be a fault, since they describe a part of the space.
The columns ``after 1 s`` and ``after 5 s`` say how far the best mapping of that time was above the least energy that is
known in the end: of this run, or of ``--against``, files that earlier runs have kept. ``--timeloop`` also lets
``timeloop-mapper`` draw at random (`random-pruned`) in six threads, each for at least as many CPU seconds. Timeloop has
no seeds: its threads draw apart. How many times our energy theirs is stands in the column ``random``; what a file of
``--against`` knows is not drawn again.
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import problem_of
from jouleloop.api.run import search
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.engines.timeloop.engine import TimeloopEngine
from jouleloop.engines.timeloop.options import TimeloopOptions
from jouleloop.errors import JouleloopError
from jouleloop.optimum.limit import Progress, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.workload.problem import Problem

HARDWARE = Path(__file__).parent / "hardware"
DESIGNS = ("eyeriss", "simba", "gemmini", "manticore", "tpu", "nvdla", "four_levels")
LAYERS = (
    "conv:C3xM64xP112xQ112xR7xS7/stride2",  # ResNet-50
    "conv:C64xM64xP56xQ56xR3xS3",
    "conv:C256xM64xP56xQ56xR1xS1",
    "conv:C128xM128xP28xQ28xR3xS3/stride2",
    "conv:C256xM256xP14xQ14xR3xS3",
    "conv:C512xM512xP7xQ7xR3xS3",
    "conv:C3xM64xP224xQ224xR3xS3",  # VGG-16
    "depthwise:G96xP56xQ56xR3xS3/stride2",  # MobileNetV2
    "depthwise:G384xP14xQ14xR3xS3",
    "conv:C96xM576xP14xQ14xR1xS1",
    "depthwise:G240xP28xQ28xR5xS5",  # EfficientNet
    "conv_transpose:C512xM256xP52xQ52xR2xS2/stride2",  # U-Net
    "matmul:M512xN768xK768",  # BERT
    "matmul:M512xN64xK512/batch12",
    "matmul:M3072xN128xK768",
    "matmul:M4096xN1xK4096",  # Llama
    "matmul:M1024xN2048xK4096",
    "conv:C512xM2048xP7xQ7xR1xS1",  # few factors, odd sizes, shallow inputs
    "conv:C1xM32xP341xQ79xR5xS10/stride2",
    "conv:C64xM128xP54xQ54xR3xS3",
)
AUTHORS = ("conv:C325xM143xP360xQ360xR9xS9", "conv:C295xM185xP360xQ360xR9xS9")
#: When the best mapping so far is looked at [CPU s].
EARLY_SECONDS = (1.0, 5.0)
#: Random searches beside ours.
RANDOM_THREADS = 6
#: Energies of a hop and of a router [pJ], and leakage of an instance in a cycle [pJ].
HOP_PJ, ROUTER_PJ, LEAK_PJ = 0.03, 0.06, 0.01


@dataclass(frozen=True)
class Row:
    """One search."""

    group: str
    design: str
    layer: str
    constraints: str = "none"
    seed: int = -1
    """Of a random design, else -1."""
    charged: bool = False
    """Whether hops and leakage take energy."""


@dataclass(frozen=True)
class Found:
    """What a search found."""

    status: str
    proven: bool
    energy_pj: float
    gap: float | None
    cpu_seconds: float
    memory_mb: float
    early_pj: tuple[float | None, ...] = ()
    """Energy of the best mapping after each of `EARLY_SECONDS`, None where there was none yet."""
    random_pj: float | None = None
    random_seconds: float = 0.0
    """Least energy of Timeloop's random search, None where it found none or was not asked, and its CPU seconds."""
    subset_pj: float | None = None
    """Least energy under the constraints that ship with the design, where that was asked for."""


def rows(randoms: int) -> Iterator[Row]:
    """Yield every search."""
    for design in DESIGNS:
        for layer in LAYERS:
            yield Row("a", design, layer)
    for seed in range(randoms):
        yield Row("b", f"random {seed}", random_layer(random.Random(1000 + seed)), seed=seed)
    for layer in AUTHORS:
        yield Row("c", "simba", layer, "arch-only")
    for design in ("eyeriss", "simba", "four_levels"):
        for layer in ("matmul:M512xN768xK768", "conv:C256xM256xP14xQ14xR3xS3", "depthwise:G384xP14xQ14xR3xS3"):
            yield Row("d", design, layer, charged=True)


def random_layer(rng: random.Random) -> str:
    """Return a layer of sizes as they occur in networks."""

    def size(most: int) -> int:
        return rng.choice(
            [n for n in (1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 28, 32, 56, 64, 96, 128, 256, 512) if n <= most]
        )

    kind = rng.choice(("fc", "matmul", "conv", "conv", "depthwise"))
    if kind == "fc":
        return f"fc:{size(512) * 2}x{size(512) * 2}/batch{size(64)}"
    if kind == "matmul":
        return f"matmul:M{size(512) * 2}xN{size(512)}xK{size(512) * 2}"
    output, kernel, stride = size(56), rng.choice((1, 3, 3, 5, 7)), rng.choice(("", "", "/stride2"))
    window = f"P{output}xQ{output}xR{kernel}xS{kernel}{stride}"
    return f"depthwise:G{size(512)}x{window}" if kind == "depthwise" else f"conv:C{size(256)}xM{size(256)}x{window}"


def random_design(seed: int) -> dict[str, Any]:
    """Return the architecture of a seed: 2 to 5 levels, sizes and fan-outs at random, larger ones outside."""
    rng = random.Random(seed)
    bits, levels = rng.choice((8, 16)), rng.randint(2, 5)
    nodes: list[Any] = [
        {"name": "system", "attributes": {"technology": "45nm", "global_cycle_seconds": 1e-9}, "!": "Container"},
        {"name": "DRAM", "class": "DRAM", "attributes": {"type": "LPDDR4", "width": 64, "datawidth": bits}},
    ]
    words = rng.choice((8192, 32768, 131072))
    for level in range(1, levels):
        if rng.random() < 0.7:
            nodes.append({"name": f"fan{level}", "spatial": _mesh(rng), "!": "Container"})
        kind = "smartbuffer_SRAM" if words > 4096 else "smartbuffer_RF" if words > 64 else "regfile"
        block = rng.choice((2, 4, 8)) if words > 4096 else 1
        attributes = {"depth": words // block, "width": bits * block, "datawidth": bits}
        attributes |= {} if kind == "regfile" else {"n_banks": 1}
        nodes.append({"name": f"level{level}", "class": kind, "attributes": attributes})
        words = max(1, words // rng.choice((8, 32, 128)))
    if rng.random() < 0.7:
        nodes.append({"name": "lanes", "spatial": _mesh(rng), "!": "Container"})
    nodes.append({"name": "mac", "class": "intmac", "attributes": {"multiplier_width": bits, "adder_width": 16}})
    return {"architecture": {"version": 0.4, "nodes": nodes}}


def _mesh(rng: random.Random) -> dict[str, int]:
    x = rng.choice((2, 4, 8, 12, 14, 16))
    return {"meshX": x, "meshY": rng.choice((1, 1, 2, 4, 8))} if x < 16 else {"meshX": x}


def written(design: dict[str, Any]) -> str:
    """Return a design as YAML; its nodes carry tags, which plain data has not."""
    lines = ["architecture:", "  version: 0.4", "  nodes:"]
    for node in design["architecture"]["nodes"]:
        lines.append(f"  - !{node.pop('!', 'Component')} {_flow(node)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


@cache
def _folder() -> Path:
    import tempfile  # noqa: PLC0415 - for random designs alone

    return Path(tempfile.mkdtemp())


def target_of(row: Row, problem: Problem) -> Target:
    """Return what a row is mapped onto."""
    source = str(HARDWARE / f"{row.design}.yaml") if (HARDWARE / f"{row.design}.yaml").is_file() else row.design
    if row.seed >= 0:
        path = _folder() / f"random_{row.seed}.yaml"
        path.write_text(written(random_design(row.seed)), encoding="utf-8")
        source = str(path)
    semantics = "timeloop-4" if row.charged else "timeloop-3.0.3"
    design = Architecture.read(source, constraints=row.constraints, shape=problem.shape, semantics=semantics)
    target = design.target(problem)
    return charged(target) if row.charged else target


def charged(target: Target) -> Target:
    """Return a target on which hops, routers and leakage take energy."""
    levels = tuple(
        replace(level, network=replace(level.network, hop_pj=HOP_PJ, router_pj=ROUTER_PJ))
        for level in target.arch.levels
    )
    energies = tuple(replace(level, leak_pj=LEAK_PJ) for level in target.costs.levels)
    return replace(target, arch=replace(target.arch, levels=levels), costs=replace(target.costs, levels=energies))


def one(row: Row, seconds: float, *, beside: bool = False, timeloop: Path | None = None) -> Found:
    """Search one row in a process of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_search, args=(row, seconds, beside, timeloop, there))
    child.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = Found("failed", proven=False, energy_pj=float("nan"), gap=None, cpu_seconds=0.0, memory_mb=0.0)
    child.join()
    return found


def _search(row: Row, seconds: float, beside: bool, timeloop: Path | None, answer: Connection) -> None:
    problem = problem_of(row.layer)
    target = target_of(row, problem)
    began = time.process_time()
    early: list[float | None] = []
    found = _within(problem, target, seconds, early)
    spent = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    energy = found.evaluation.energy_pj if found.evaluation else float("nan")
    gap = energy / found.lower_bound - 1 if found.evaluation and found.lower_bound > 0 else None
    constrained = row.group == "a" and not (HARDWARE / f"{row.design}.yaml").is_file()
    subset_pj = _least_of_subsets(row, problem, seconds) if beside and constrained else None
    early += [energy if found.evaluation else None] * (len(EARLY_SECONDS) - len(early))
    drawn = (None, 0.0) if timeloop is None else _drawn(timeloop, problem, target, RANDOM_THREADS * spent)
    answer.send(Found(found.status, found.optimal, energy, gap, spent, memory, tuple(early), *drawn, subset_pj))


def _drawn(home: Path, problem: Problem, target: Target, seconds: float) -> tuple[float | None, float]:
    """Return the least energy [pJ] that Timeloop draws at random in so many CPU seconds, and how many it took."""
    cores, spent, energy = os.cpu_count() or 1, 0.0, None
    wall = seconds / cores * max(1.0, (os.getloadavg()[0] + RANDOM_THREADS) / RANDOM_THREADS)
    while spent < seconds:
        how = TimeloopOptions(
            home, "random-pruned", threads=RANDOM_THREADS, mapper_seconds=wall, front_end="executables"
        )
        before = _of_children()
        found = TimeloopEngine(how).search(problem, target)
        spent = _of_children() - before
        if found.status == "failed":  # it ends at once where its mapspace has more than 2^128 mappings
            break
        energy = found.evaluation.energy_pj if found.evaluation else None
        wall *= max(1.2, 1.1 * seconds / max(spent, 0.1))
    return energy, spent


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _within(problem: Problem, target: Target, seconds: float, early: list[float | None] | None = None) -> SearchResult:
    """Search with a limit of CPU seconds; fill in what was found ``early``."""
    began, last = time.process_time(), None

    def tell(watch: Watch, progress: Callable[[], Progress]) -> None:
        nonlocal last
        spent = time.process_time() - began
        if early is not None:
            early.extend(last for mark in EARLY_SECONDS[len(early) :] if spent > mark)
            last = progress().best
        if spent >= seconds:
            watch.stop()

    engine = NativeEngine()
    engine.watch = Watch(tell=tell)
    return engine.search(problem, target, SearchOptions())


def _least_of_subsets(row: Row, problem: Problem, seconds: float) -> float | None:
    """Return the least energy under any set of constraints that ships with a design; None where none maps the layer."""
    energies = []
    for constraints in ("full", "arch-only"):
        try:
            target = target_of(replace(row, constraints=constraints), problem)
            found = _within(problem, target, seconds)
        except JouleloopError:
            continue
        if found.evaluation:
            energies.append(found.evaluation.energy_pj)
    return min(energies, default=None)


def main() -> None:
    """Print a row a search, then a summary by group and design."""
    options = _options()
    for warm in ("fc:64x64", "conv:C4xM4xP8xQ8xR3xS3"):
        search("eyeriss", warm, constraints="arch-only")
    columns = ("proven", "energy [pJ]", "gap", "CPU [s]", "memory [MB]", *_early_columns())
    print("| group | design | layer | " + " | ".join((*columns, "random", "constrained, times it")) + " |")
    print("|---|---|---|---|" + "---:|" * (len(columns) + 1))
    spent: dict[tuple[str, str], list[tuple[Found, float]]] = {}
    known = _known([options.out] if options.out else [])
    before = _known(options.against or [])
    for row in rows(options.random):
        text = f"{row.group} {row.design} {row.layer}"
        if options.only and not any(word in text for word in options.only):
            continue
        had = before.get(row)
        home = None if had is not None and had.random_seconds else options.timeloop
        found = known.get(row) or one(row, options.seconds, beside=options.beside, timeloop=home)
        if had is not None and had.random_seconds:
            found = replace(found, random_pj=had.random_pj, random_seconds=had.random_seconds)
        if options.out and row not in known:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps([asdict(row), asdict(found)]) + "\n")
        end = found.energy_pj if had is None else min(found.energy_pj, had.energy_pj)
        spent.setdefault((row.group, "random" if row.seed >= 0 else row.design), []).append((found, end))
        gap = "" if found.proven or found.gap is None else f"{found.gap:.1%}"
        proven = "yes" if found.proven else found.status if found.status != "ok" else "no"
        early = ["none" if one is None else f"{one / end - 1:.1%}" for one in found.early_pj]
        drawn = "" if not found.random_seconds else _times(found.random_pj, found.energy_pj)
        times = "" if found.subset_pj is None else _times(found.subset_pj, found.energy_pj)
        numbers = (f"{found.energy_pj:.6e}", gap, f"{found.cpu_seconds:.2f}", f"{found.memory_mb:.0f}")
        cells = (row.group, row.design, row.layer, proven, *numbers, *early, drawn, times)
        print("| " + " | ".join(cells) + " |", flush=True)
    print_summary(spent)


def _early_columns() -> list[str]:
    return [f"after {seconds:.0f} s" for seconds in EARLY_SECONDS]


def _times(other_pj: float | None, own_pj: float) -> str:
    return "none" if other_pj is None else f"{other_pj / own_pj:.3f}"


def _known(paths: Sequence[Path]) -> dict[Row, Found]:
    """Return the least that earlier runs have found, and that Timeloop has drawn."""
    found: dict[Row, Found] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            data = json.loads(line)
            row, new = Row(**data[0]), Found(**data[1])
            old = found.get(row, new)
            drawn = new if new.random_seconds else old
            least = new if new.energy_pj < old.energy_pj else old
            found[row] = replace(least, random_pj=drawn.random_pj, random_seconds=drawn.random_seconds)
    return found


def print_summary(spent: dict[tuple[str, str], list[tuple[Found, float]]]) -> None:
    """Print how many are proven, and gaps, seconds, memory and what was found early, by group and design."""
    columns = ("proven", "no mapping", "median gap", "largest gap", "median [s]", "slowest [s]", "most [MB]")
    columns += tuple(f"{column}, median" for column in _early_columns())
    print("\n| group | design | searches | " + " | ".join(columns) + " | random is less |")
    print("|---|---|---:|" + "---:|" * (len(columns) + 1))
    for (group, design), pairs in spent.items():
        found = [one for one, _ in pairs]
        gaps = [0.0 if one.proven else one.gap for one in found if one.status == "ok" and one.gap is not None]
        seconds = [one.cpu_seconds for one in found]
        cells: list[str | int] = [group, design, len(found), sum(one.proven for one in found)]
        cells.append(sum(one.status != "ok" for one in found))
        cells += [f"{statistics.median(gaps or [0.0]):.1%}", f"{max(gaps, default=0.0):.1%}"]
        cells += [f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}"]
        cells.append(f"{max(one.memory_mb for one in found):.0f}")
        for n in range(len(EARLY_SECONDS)):
            above = [one.early_pj[n] / end - 1 if one.early_pj[n] else math.inf for one, end in pairs if one.early_pj]
            cells.append(f"{statistics.median(above):.1%}" if above else "")
        cells.append(sum(one.random_pj is not None and one.random_pj < one.energy_pj for one in found))
        print("| " + " | ".join(map(str, cells)) + " |")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one search [CPU s]")
    parser.add_argument("--only", nargs="*", help="rows that hold one of these texts")
    parser.add_argument("--beside", action="store_true", help="search under the designs' own constraints, too")
    parser.add_argument("--random", type=int, default=200, help="how many random designs")
    parser.add_argument("--against", nargs="*", type=Path, help="files of what earlier runs have found")
    parser.add_argument("--timeloop", type=Path, help="folder of timeloop-mapper, which draws at random beside")
    parser.add_argument("--out", type=Path, help="file of what was found")
    return parser.parse_args()


if __name__ == "__main__":
    main()
