"""Print the time and memory that each stage of a run takes for studies of many points, and the line through them.

Points are one layer on one of two architectures. Each has the best mapping of a small layer whose outermost loops were
made longer: legal, counted exactly, and of many laws, but not searched. Each stage is a process of its own.

    python benchmarks/table_memory.py FOLDER [--points 100000 200000] [--sweeps 1] [--stages plan table growth]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from jouleloop.config.load import Study, load_study
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.optimum.result import SearchResult
from jouleloop.study.compute import Job, search_one
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies, write_layers
from jouleloop.workflow import Workflow
from jouleloop.workload.layer import Layer
from jouleloop.workload.sizes import parse_layer

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))
#: Stages in order, results stored at once, outputs of a layer, and the size that memory is extrapolated to.
STAGES = ("store", "plan", "table", "growth", "laws", "figures", "page")
_SEGMENT, _OUTPUTS, _MANY = 2500, 250, 10**6
#: What tiles of inputs and outputs are multiples of, and how many of it at most; the rest of a size is an outer loop.
_TILES = {"C": (4, 8), "M": (4, 4)}


def configured(folder: Path, points: int, sweeps: int) -> dict[str, Any]:
    """Return the configuration of so many points, fully-connected layers in so many sweeps on two architectures."""
    inputs = points // 2 // _OUTPUTS
    paths = []
    for number in range(sweeps):
        # Simba takes channels in fours.
        first, last = (4 * (_OUTPUTS * end // sweeps) for end in (number, number + 1))
        sweep = {
            "kind": "fc",
            "ranges": {
                "C": {"start": 4, "stop": 4 * inputs, "step": 4},
                "M": {"start": first + 4, "stop": last, "step": 4},
            },
            "variable": "C*M",
            "expected": "linear",
            "most_points": 10**7,
        }
        paths.append(folder / f"many{number}.yaml")
        paths[-1].write_text(yaml.safe_dump(sweep))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    return config | {"sweeps": list(map(str, paths)), "networks": []}


def _tile(size: int, unit: int, most: int) -> int:
    return next(unit * count for count in range(most, 0, -1) if size % (unit * count) == 0)


def _searched(job: Job, layer: Layer) -> SearchResult:
    problem = layer.problem()
    return search_one(job, problem, job.target.for_shape(problem.shape))


class _Grown:
    """Results of layers whose outermost loops are longer than those of a small layer that was searched."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._small = cache(lambda c, m: _searched(job, parse_layer(f"fc:{c}x{m}")))

    def result(self, layer: Layer) -> dict[str, Any]:
        sizes = {name: layer.sizes[name] for name in _TILES}
        tiles = {name: _tile(size, *_TILES[name]) for name, size in sizes.items()}
        small = self._small(tiles["C"], tiles["M"])
        problem = layer.problem()
        outer, *inner = small.mapping.levels
        loops = dict(outer.temporal)
        loops |= {name: loops.get(name, 1) * sizes[name] // tile for name, tile in tiles.items()}
        grown = replace(outer, temporal=tuple((name, bound) for name, bound in loops.items() if bound > 1))
        mapping: Mapping = replace(small.mapping, levels=(grown, *inner))
        target = self._job.target.for_shape(problem.shape)
        evaluation = evaluate_mapping(problem, target.arch, target.costs, mapping, target.semantics)
        found = replace(small, mapping=mapping, evaluation=evaluation, lower_bound=evaluation.energy_pj, seconds=0.001)
        return found.as_json()


def fill(study: Study, store: ResultStore) -> None:
    """Store a result for every layer."""
    for job in jobs_of(study, ROOT).values():
        grown = _Grown(job)
        layers: list[Layer] = [point.layer for sweep in study.sweeps for point in sweep.points]
        for first in range(0, len(layers), _SEGMENT):
            store.write({job.key(layer): grown.result(layer) for layer in layers[first : first + _SEGMENT]})


def stage(name: str, folder: Path, points: int, sweeps: int) -> None:
    """Run one stage in this process, and print what it took."""
    config = configured(folder, points, sweeps)
    store, results = ResultStore(folder / "store"), folder / "results"
    if name == "plan":
        workflow = Workflow(config)
        for arch in workflow.architectures:
            for chunk in workflow.chunks:
                workflow.chunk_options(arch, chunk)
    else:
        study = load_study(config, ROOT)
        if name == "store":
            fill(study, store)
        elif name == "table":
            for sweep in study.sweeps:
                write_layers(sweep, results / f"layers/{sweep.name}.csv")
            write_energies(jobs_of(study, ROOT), (*study.sweeps, *study.architecture_sweeps), store, results)
        else:
            stages = {"growth": ["theory_ratio", "growth"], "laws": ["laws"]}.get(name, [])
            figures = ["growth", "breakdown", "laws", "dram_bound"] if name == "figures" else []
            page = ["laws", "law_points", "theory_ratio"] if name == "page" else []
            # One after the other in this process, so that its memory is that of each.
            from made import make  # noqa: PLC0415 - of the tests

            make(study, results, stages=stages, figures=figures, page=page)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"core s": round(time.process_time(), 1), "MB": round(memory)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 200_000], help="sizes of the studies")
    parser.add_argument("--sweeps", type=int, default=1, help="sweeps that the points are in (default: 1)")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--stage", choices=STAGES, help="one stage in this process")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    for points in arguments.points:
        folder = arguments.folder.resolve() / str(points)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.stage:
            stage(arguments.stage, folder, points, arguments.sweeps)
            return
        size = ["--points", str(points), "--sweeps", str(arguments.sweeps)]
        for name in arguments.stages:
            command = [sys.executable, __file__, str(folder.parent), *size, "--stage", name]
            output = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
            found.setdefault(name, []).append(json.loads(output.splitlines()[-1]))
            print(f"{points:>9,} points, {name:<8} {found[name][-1]}", flush=True)
    for name, taken in found.items() if len(arguments.points) > 1 else ():
        lines = {what: np.polyfit(arguments.points, [one[what] for one in taken], 1) for what in ("core s", "MB")}
        slope = ", ".join(f"{line[0] * 1e6:.0f} {what}" for what, line in lines.items())
        at = ", ".join(f"{np.polyval(line, _MANY):.0f} {what}" for what, line in lines.items())
        print(f"{name:<8} a million points more: {slope}; at {_MANY:,}: {at}")


if __name__ == "__main__":
    main()
