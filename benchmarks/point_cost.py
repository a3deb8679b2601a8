"""Measure what a point costs by size of the layer, and what planning costs by number of layers, in processor time.

    python benchmarks/point_cost.py [--layers 60] [--planned 20000]

Run it in the project's folder. The wall clock is left out: it depends on what else the machine does.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

from jouleloop.config.load import Study, read_config
from jouleloop.study.chunks import distinct_layers
from jouleloop.study.compute import Job, search_one
from jouleloop.study.plan import jobs_of, plan
from jouleloop.workload.layer import Layer
from jouleloop.workload.sweep import load_sweep

#: Small layers are the scale study's own, large ones are drawn here: (kind, multiple and most channels, most output).
LARGE = {"fc, up to 16384 channels": ("fc", 64, 256, 1), "conv, up to 512 channels, output 28": ("conv", 32, 16, 28)}


def large(kind: str, multiple: int, most: int, output: int, count: int, seed: int) -> list[Layer]:
    """Draw large layers."""
    random = np.random.default_rng(seed)
    layers = []
    for _ in range(count):
        c, m = (int(x) * multiple for x in random.integers(most // 4, most + 1, size=2))
        if kind == "fc":
            layers.append(Layer.of("fc", c, m))
        else:
            kernel = int(random.choice([1, 3, 5]))
            p = int(random.choice([7, 14, output]))
            layers.append(Layer.of("conv", c, m, kernel, kernel, 1, p, p))
    return layers


def seconds_of(job: Job, layers: list[Layer]) -> np.ndarray:
    """Return the processor time of the search of each layer."""

    def search(layer: Layer) -> None:
        problem = layer.problem()
        search_one(job, problem, job.target.for_shape(problem.shape))

    search(layers[0])
    found = []
    for layer in layers:
        started = time.process_time()
        search(layer)
        found.append(time.process_time() - started)
    return np.array(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=60, help="layers of each family and architecture")
    parser.add_argument("--large", type=int, default=8, help="large layers of each family and architecture")
    parser.add_argument("--planned", type=int, nargs="*", default=[2_000, 20_000, 100_000], help="layers to plan")
    options = parser.parse_args()
    config = read_config(Path("config/config.yaml"))
    random = np.random.default_rng(7)
    families: dict[str, list[Layer]] = {}
    for name in ("scale_fc", "scale_conv"):
        layers = distinct_layers([load_sweep(Path(f"layers/{name}.yaml"))])
        order = sorted(layers, key=lambda layer: layer.macs)
        for part, label in enumerate(("smallest third", "middle third", "largest third")):
            third = order[part * len(order) // 3 : (part + 1) * len(order) // 3]
            chosen = random.choice(len(third), size=min(len(third), options.layers // 3), replace=False)
            families[f"{name}, {label}"] = [third[index] for index in chosen]
    for name, arguments in LARGE.items():
        families[name] = large(*arguments, count=options.large, seed=11)
    print(
        f"{'layers':38} {'architecture':12} {'number':>6} {'median MACs':>12} {'median s':>9} {'mean s':>9}"
        f" {'max s':>9}"
    )
    for name, layers in families.items():
        for architecture, job in jobs_of(config).items():
            found = seconds_of(job, layers)
            macs = int(np.median([layer.macs for layer in layers]))
            print(
                f"{name:38} {architecture:12} {len(layers):6d} {macs:12.3g} {np.median(found):9.4f}"
                f" {found.mean():9.4f} {found.max():9.3f}",
                flush=True,
            )
    for count in options.planned:
        started = time.process_time()
        sweep = {"kind": "fc", "variable": "macs", "expected": "linear"}
        sweep["random"] = {
            "count": count,
            "seed": 3,
            "ranges": {k: {"start": 1, "stop": 4096, "step": 1} for k in "CM"},
        }
        path = Path(f"plan-{count}.yaml")
        path.write_text(json.dumps(sweep))
        try:
            chunks = plan(Study(config, (load_sweep(path),)))
        finally:
            path.unlink()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        seconds = time.process_time() - started
        print(f"planning {count} layers: {seconds:.2f} core s, {len(chunks)} chunks, {peak:.0f} MB so far")


if __name__ == "__main__":
    main()
