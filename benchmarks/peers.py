"""Our search beside the peers', in one run: seconds, and energy counted by our model.

    python benchmarks/peers.py [--accelforge VENV] [--zigzag VENV] [--timeloop FOLDER] [--layers N] [--imperfect]

VENV is an environment of its own with ``accelforge`` or ``zigzag-dse`` and ``six`` (Python 3.12); FOLDER holds
``timeloop-mapper`` and ``timeloop-model``. What is not given is left out. Every search is a process of its own; seconds
are its CPU seconds, start and imports included, ours as well. The design is one that all can read: three levels and
16 x 16 units, without constraints. ZigZag searches even mappings, which are Timeloop's. accelforge takes no windows,
and may unroll one dimension along both axes, which no mapping of Timeloop's does: beside it we search with axes free,
and compare the energies that either reports.
``timeloop-mapper`` draws at random, until 500 valid mappings in turn are no better, a minute at most.

With ``--imperfect`` factors need not divide, on other layers. Ours is searched for a minute. accelforge explores
imperfect loops of both kinds, of dimensions that no window has. ZigZag lets only what it unrolls not divide
(``SpatialMappingGeneratorStage``): ``LomaEngine`` makes its loops in time of the primes of what is left, rounded up.
Timeloop's mappers are left out: 3.0.3 has perfect factors alone.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from jouleloop.api.hardware import Architecture
from jouleloop.api.layers import problem_of
from jouleloop.division import divisors
from jouleloop.engines.accelforge.engine import AccelforgeEngine, AccelforgeOptions
from jouleloop.engines.accelforge.outputs import as_often_as_needed
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import SearchOptions, Target
from jouleloop.engines.timeloop.engine import TimeloopEngine
from jouleloop.engines.timeloop.options import TimeloopOptions
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.workload.problem import Problem
from open_spaces import SYSTOLIC

LAYERS = (  # noqa: SIM905 - easier to read
    "fc:64x64 fc:256x256 fc:1024x1024 fc:1024x128 fc:128x1024 fc:4096x1000 fc:9216x4096 fc:96x84 fc:768x768/batch8 "
    "fc:1024x128/batch4 fc:512x512/batch64 fc:768x3072/batch384 conv:C64xM64xP28xQ28xR3xS3 conv:C3xM64xP56xQ56xR3xS3 "
    "conv:C128xM256xP14xQ14xR3xS3 conv:C256xM256xP14xQ14xR1xS1 conv:C64xM128xP28xQ28xR3xS3/stride2 "
    "conv:C512xM512xP7xQ7xR3xS3 conv:C48xM96xP27xQ27xR5xS5 conv:C16xM32xP16xQ16xR3xS3 "
    # Projections and scores of attention over 512 tokens; a depthwise layer.
    "fc:768x768/batch512 fc:64x512/batch512 fc:512x64/batch512 depthwise:G96xP28xQ28xR3xS3"
).split()
#: With factors that need not divide: products, scores and context of attention over 197 tokens, 1 x 1, windows,
#: depthwise.
IMPERFECT = (  # noqa: SIM905 - easier to read
    "fc:127x509 fc:97x89/batch13 fc:64x197/batch197 fc:197x64/batch197 conv:C97xM31xP13xQ13xR1xS1 "
    "conv:C17xM31xP13xQ1xR3xS1 conv:C5xM7xP7xQ7xR3xS3 conv:C16xM31xP13xQ13xR3xS3 depthwise:G97xP14xQ14xR3xS3"
).split()
SAME = 1e-6
#: How far accelforge's count of a mapping is from ours, at most (single precision among others).
COUNTED_ALIKE = 1e-4
#: ZigZag's names of our dimensions, and its operands of our data spaces.
_NAMES = {"B": "N", "G": "G", "K": "M", "C": "C", "OY": "Q", "OX": "P", "FY": "S", "FX": "R"}
_EQUATIONS = {
    True: "O[b][g][k][oy][ox]+=W[g][k][c][fy][fx]*I[b][g][c][iy][ix]",
    False: "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
}
_ALL_OPERANDS = [f"{operand}, {way}" for operand in ("I1", "I2") for way in ("fh", "tl")]
_ALL_OPERANDS += [f"O, {way}" for way in ("fh", "fl", "th", "tl")]

#: What a peer finds: a mapping or none, and a remark.
Peer = Callable[[Problem, Target], tuple[Mapping | None, str]]


def main() -> None:
    """Print a row a layer and program, then who was faster to the same energy."""
    options = _options()
    peers = _peers(options)
    lost = []
    print("| layer | program | CPU [s] | ours : theirs | energy by our model [pJ] | above ours | remark |")
    print("|---|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "systolic.yaml"
        path.write_text(SYSTOLIC, encoding="utf-8")
        _search(path, "fc:8x8", "--factors", "imperfect" if options.imperfect else "perfect")  # compiles, if need be
        for layer in (IMPERFECT if options.imperfect else LAYERS)[: options.layers]:
            problem = problem_of(layer)
            target = Architecture.read(path, shape=problem.shape).target(problem)
            best_pj, seconds = _our_rows(path, layer, imperfect=options.imperfect)
            both_pj, spent = best_pj, seconds
            if "accelforge" in peers and not options.imperfect:
                both_pj, spent = _our_row(path, layer, "axes free", "--axes", "free")
            for name, peer in peers.items():
                found_pj, theirs, remark = _theirs(peer, problem, target)
                if name == "accelforge" and " pJ " in remark:
                    own_pj = float(remark.split()[0])
                    which = "" if options.imperfect else f" with axes free ({spent / theirs:.3f})"
                    remark = f"{own_pj / both_pj - 1:+.3%} to ours{which}; {remark}"
                    if own_pj < both_pj * (1 - COUNTED_ALIKE):
                        lost.append(f"{name} on {layer}: less energy by its own model")
                    elif own_pj <= both_pj * (1 + COUNTED_ALIKE) and theirs < spent:
                        lost.append(f"{name} on {layer}, axes free")
                above = "" if found_pj is None else f"{found_pj / best_pj - 1:+.3%}"
                shown = "" if found_pj is None else f"{found_pj:.6e}"
                ratio = f"{seconds / theirs:.3f}" if found_pj is not None or " pJ " in remark else ""
                print(f"| {layer} | {name} | {theirs:.1f} | {ratio} | {shown} | {above} | {remark} |", flush=True)
                if found_pj is not None and found_pj <= best_pj * (1 + SAME) and theirs < seconds:
                    lost.append(f"{name} on {layer}")
                if found_pj is not None and found_pj < best_pj * (1 - SAME):
                    lost.append(f"{name} on {layer}: less energy")
    print(f"\nfaster to the same energy, or to less: {', '.join(lost) or 'none'}")


def _our_rows(path: Path, layer: str, *, imperfect: bool) -> tuple[float, float]:
    """Print our search, and return its energy [pJ] and CPU seconds.

    With imperfect factors a window may take too much memory. Perfect ones, which are among them, stand in then.
    """
    if not imperfect:
        return _our_row(path, layer, "jouleloop")
    found_pj, seconds = _our_row(path, layer, "jouleloop", "--factors", "imperfect", "--seconds", "60")
    perfect_pj, spent = _our_row(path, layer, "perfect factors")
    return (found_pj, seconds) if found_pj < math.inf else (perfect_pj, seconds + spent)


def _our_row(path: Path, layer: str, name: str, *options: str) -> tuple[float, float]:
    """Print a search of ours, and return its energy [pJ], infinite where nothing is found, and CPU seconds."""
    found, seconds = _search(path, layer, *options)
    if not found.get("evaluation"):
        print(f"| {layer} | {name} | {seconds:.1f} | | | | {found['reason'][:80]} |", flush=True)
        return math.inf, seconds
    energy_pj = float(found["evaluation"]["energy_pj"])
    remark = "proven" if found["optimal"] else f"gap {found['gap']:.2%}"
    print(f"| {layer} | {name} | {seconds:.1f} | | {energy_pj:.6e} | | {remark} |", flush=True)
    return energy_pj, seconds


def _search(path: Path, layer: str, *options: str) -> tuple[dict[str, Any], float]:
    """Return what a search in a process of its own found, and its CPU seconds."""
    command = [sys.executable, "-m", "jouleloop", "map", "--arch", str(path), "--layer", layer, "--json", *options]
    before = _spent()
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    return json.loads(ran.stdout), _spent() - before


def _theirs(peer: Peer, problem: Problem, target: Target) -> tuple[float | None, float, str]:
    """Return the energy [pJ] of a peer's mapping by our model, the CPU seconds of its processes, and a remark."""
    before = _spent()
    try:
        mapping, remark = peer(problem, target)
        seconds = _spent() - before
        if mapping is None:
            return None, seconds, remark
        return NativeEngine().evaluate(problem, target, mapping).energy_pj, seconds, remark
    except (JouleloopError, subprocess.SubprocessError) as error:
        return None, _spent() - before, str(error).splitlines()[0][:120]


def _peers(options: argparse.Namespace) -> dict[str, Peer]:
    found: dict[str, Peer] = {}
    if options.accelforge:
        os.environ["JOULELOOP_ACCELFORGE"] = str(options.accelforge.absolute())
        found["accelforge"] = lambda problem, target: _engine(
            AccelforgeEngine(AccelforgeOptions(seconds=600, imperfect=options.imperfect)), problem, target
        )
    if options.zigzag:
        home, imperfect = options.zigzag.absolute(), options.imperfect
        found["ZigZag"] = lambda problem, target: _zigzag(home, problem, target, imperfect=imperfect)
    if options.timeloop and not options.imperfect:
        how = TimeloopOptions(
            home=options.timeloop.absolute(),
            algorithm="random-pruned",
            victory_condition=500,
            mapper_seconds=60.0,
            front_end="executables",
        )
        found["Timeloop"] = lambda problem, target: _engine(TimeloopEngine(how), problem, target)
    return found


def _engine(engine: Any, problem: Problem, target: Target) -> tuple[Mapping | None, str]:
    found = engine.search(problem, target, SearchOptions())
    own = f"{found.evaluation.energy_pj:.6e} pJ by its own model" if found.evaluation else ""
    return found.mapping, own if found.mapping else f"{own} {found.reason[:100]}"


def _zigzag(home: Path, problem: Problem, target: Target, *, imperfect: bool) -> tuple[Mapping | None, str]:
    """Let ZigZag search even mappings; what its own model says of the best is the remark."""
    bound = problem.bound
    grouped = bound.get("G", 1) > 1
    names = {theirs: ours for theirs, ours in _NAMES.items() if grouped or ours != "G"}
    with tempfile.TemporaryDirectory() as folder:
        steps = {name: step for (name, _), step in zip(problem.shape.coefficients, problem.coefficients, strict=True)}
        layer = {
            "id": 0,
            "name": "layer",
            "operator_type": "Conv",
            "equation": _EQUATIONS[grouped],
            "dimension_relations": [f"ix={steps['Wstride']}*ox+1*fx", f"iy={steps['Hstride']}*oy+1*fy"],
            "loop_dims": list(names),
            "loop_sizes": [bound.get(ours, 1) for ours in names.values()],
            "operand_precision": {"O": 16, "O_final": 16, "W": 16, "I": 16},
            "operand_source": {"I": 0, "W": 0},
        }
        links = {"name": "default", "memory_operand_links": {"O": "O", "W": "I2", "I": "I1"}}
        for name, content in (("accelerator", _accelerator(target)), ("workload", [layer]), ("mapping", [links])):
            (Path(folder) / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        command = [str(home / "bin" / "python"), str(Path(__file__).parent / "zigzag" / "run.py"), folder, "even"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if ran.returncode:
            return None, ran.stderr.strip().splitlines()[-1][:120]
        found = json.loads(ran.stdout)
    remark = f"{found['energy_pj']:.6e} pJ by its own model"
    levels = _levels(found, target)
    return (as_often_as_needed(problem, levels) if imperfect else Mapping(tuple(levels))), remark


def _accelerator(target: Target) -> dict[str, Any]:
    """Return our architecture in ZigZag's words; an access there is one of ours, of as many words."""
    memories: dict[str, Any] = {}
    for level, costs in reversed(list(zip(target.arch.levels, target.costs.levels, strict=True))):
        bits = level.block_words * level.word_bits
        memories[level.name] = {
            "size": (level.effective_words or 10**12) * level.word_bits,
            "r_cost": costs.read_pj,
            "w_cost": costs.write_pj,
            "area": 0,
            "latency": 1,
            "operands": ["I1", "I2", "O"],
            "ports": [
                {
                    "name": "rw_port_1",
                    "type": "read_write",
                    "bandwidth_min": level.word_bits,
                    "bandwidth_max": bits,
                    "allocation": _ALL_OPERANDS,
                }
            ],
            "served_dimensions": [] if level.instances > 1 else ["D1", "D2"],
        }
    innermost = target.arch.levels[-1]
    return {
        "name": "systolic",
        "memories": memories,
        "operational_array": {
            "input_precision": [16, 16],
            "unit_energy": target.costs.compute_pj,
            "unit_area": 1,
            "dimensions": ["D1", "D2"],
            "sizes": [innermost.mesh_x, innermost.mesh_y],
        },
    }


def _levels(found: dict[str, Any], target: Target) -> list[LevelMapping]:
    """Return the levels of ZigZag's even mapping, outermost first.

    It may unroll a dimension along both axes, as Timeloop never does. Sizes that do not divide are rounded up.
    """
    temporal, spatial = found["temporal"]["O"], found["spatial"]["O"]
    everything = frozenset(("Weights", "Inputs", "Outputs"))
    levels = []
    for index, level in enumerate(reversed(target.arch.levels)):
        loops = tuple((_NAMES[d], size) for d, size in reversed(temporal[index]) if size > 1)
        room = target.arch.levels[-1].mesh_x
        placed: list[tuple[str, int, str]] = []
        for d, size in spatial[index]:
            along_x = max(factor for factor in divisors(size) if factor <= room)
            if size // along_x > target.arch.levels[-1].mesh_y:
                along_x = room
            room //= along_x
            placed += [(_NAMES[d], n, axis) for n, axis in ((along_x, "X"), (-(-size // along_x), "Y")) if n > 1]
        levels.append(LevelMapping(level.name, loops, tuple(placed), everything))
    return levels[::-1]


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("accelforge", "zigzag", "timeloop"):
        parser.add_argument(f"--{name}", type=Path, help="where it is installed")
    parser.add_argument("--imperfect", action="store_true", help="factors need not divide, on other layers")
    parser.add_argument("--layers", type=int, default=len(LAYERS), help="only the first so many")
    return parser.parse_args()


if __name__ == "__main__":
    main()
