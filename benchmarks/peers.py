"""Our search beside the peers', in one run: seconds, and energy counted by our model.

    python benchmarks/peers.py [--accelforge VENV] [--zigzag VENV] [--timeloop FOLDER] [--layers N]

VENV is an environment of its own with ``accelforge`` or ``zigzag-dse`` and ``six`` (Python 3.12); FOLDER holds
``timeloop-mapper`` and ``timeloop-model``. What is not given is left out. Every search is a process of its own; seconds
are its CPU seconds, start and imports included, ours as well. The design is one that all can read: three levels and
16 x 16 units, without constraints. ZigZag searches even mappings, which are Timeloop's. accelforge takes no windows,
and may unroll one dimension along both axes, which no mapping of Timeloop's does: beside it we search with axes free,
and compare the energies that either reports.
``timeloop-mapper`` draws at random, until 500 valid mappings in turn are no better, a minute at most.
"""

import argparse
import json
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
SAME = 1e-6
#: How far accelforge's count of a mapping is from ours, at most (single precision among others).
COUNTED_ALIKE = 1e-4
#: ZigZag's names of our dimensions, and its operands of our data spaces.
_NAMES = {"B": "N", "K": "M", "C": "C", "OY": "Q", "OX": "P", "FY": "S", "FX": "R"}
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
        _ours(path, "fc:8x8")  # compiles, if need be
        for layer in LAYERS[: options.layers]:
            problem = problem_of(layer)
            target = Architecture.read(path, shape=problem.shape).target(problem)
            best_pj, seconds = _ours(path, layer)
            print(f"| {layer} | jouleloop | {seconds:.1f} | | {best_pj:.6e} | | proven |", flush=True)
            if "accelforge" in peers:
                both_pj, spent = _ours(path, layer, "--axes", "free")
                print(f"| {layer} | axes free | {spent:.1f} | | {both_pj:.6e} | | proven |", flush=True)
            for name, peer in peers.items():
                found_pj, theirs, remark = _theirs(peer, problem, target)
                if name == "accelforge" and " pJ " in remark:
                    own_pj = float(remark.split()[0])
                    remark = f"{own_pj / both_pj - 1:+.3%} to ours with axes free ({spent / theirs:.3f}); {remark}"
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


def _ours(path: Path, layer: str, *options: str) -> tuple[float, float]:
    """Return the proven optimum [pJ] of a process of its own, and its CPU seconds."""
    command = [sys.executable, "-m", "jouleloop", "map", "--arch", str(path), "--layer", layer, "--json", *options]
    before = _spent()
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=_environment()).stdout)
    if not found["optimal"]:
        sys.exit(f"{layer} is not proven")
    return float(found["evaluation"]["energy_pj"]), _spent() - before


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
            AccelforgeEngine(AccelforgeOptions(seconds=600)), problem, target
        )
    if options.zigzag:
        found["ZigZag"] = lambda problem, target: _zigzag(options.zigzag.absolute(), problem, target)
    if options.timeloop:
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


def _zigzag(home: Path, problem: Problem, target: Target) -> tuple[Mapping | None, str]:
    """Let ZigZag search even mappings; what its own model says of the best is the remark."""
    bound = problem.bound
    if bound.get("G", 1) > 1:
        return None, "groups are not translated"
    with tempfile.TemporaryDirectory() as folder:
        steps = {name: step for (name, _), step in zip(problem.shape.coefficients, problem.coefficients, strict=True)}
        layer = {
            "id": 0,
            "name": "layer",
            "operator_type": "Conv",
            "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
            "dimension_relations": [f"ix={steps['Wstride']}*ox+1*fx", f"iy={steps['Hstride']}*oy+1*fy"],
            "loop_dims": list(_NAMES),
            "loop_sizes": [bound.get(ours, 1) for ours in _NAMES.values()],
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
    return _mapping(found, target), remark


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


def _mapping(found: dict[str, Any], target: Target) -> Mapping:
    """Return ZigZag's even mapping as ours; it may unroll a dimension along both axes, as Timeloop never does."""
    temporal, spatial = found["temporal"]["O"], found["spatial"]["O"]
    everything = frozenset(("Weights", "Inputs", "Outputs"))
    levels = []
    for index, level in enumerate(reversed(target.arch.levels)):
        loops = tuple((_NAMES[d], size) for d, size in reversed(temporal[index]) if size > 1)
        room = target.arch.levels[-1].mesh_x
        placed: list[tuple[str, int, str]] = []
        for d, size in spatial[index]:
            along_x = max(factor for factor in divisors(size) if factor <= room)
            room //= along_x
            placed += [(_NAMES[d], n, axis) for n, axis in ((along_x, "X"), (size // along_x, "Y")) if n > 1]
        levels.append(LevelMapping(level.name, loops, tuple(placed), everything))
    return Mapping(tuple(reversed(levels)))


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("accelforge", "zigzag", "timeloop"):
        parser.add_argument(f"--{name}", type=Path, help="where it is installed")
    parser.add_argument("--layers", type=int, default=len(LAYERS), help="only the first so many")
    return parser.parse_args()


if __name__ == "__main__":
    main()
