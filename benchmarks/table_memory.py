"""Print the time and memory that planning and tables take for a study of many points, in one sweep or several.

Results are copies of a few: what they say does not matter to their number. Each stage is a process of its own.

    python benchmarks/table_memory.py FOLDER [--layers 100000] [--sweeps 10]
"""

import argparse
import gc
import resource
import subprocess
import sys
import time
from pathlib import Path

import yaml

from jouleloop.config.load import Study, load_study
from jouleloop.study.compute import run_chunk
from jouleloop.study.plan import jobs_of, plan
from jouleloop.study.store import ResultStore
from jouleloop.tables.collect import write_energies
from jouleloop.tables.derived import Derived
from jouleloop.workload.layer import Layer
from jouleloop.workload.sizes import parse_layer

ROOT = Path(__file__).resolve().parents[1]
#: Results that are copied, and so many are stored at once.
_SAMPLE, _SEGMENT = 100, 2500


def study(folder: Path, layers: int, sweeps: int) -> Study:
    """Return a study of so many fully-connected layers in so many sweeps on two architectures."""
    outputs = 250
    for number in range(sweeps):
        first, last = (1 + outputs * end // sweeps for end in (number, number + 1))
        sweep = {
            "kind": "fc",
            "ranges": {
                "C": {"start": 1, "stop": layers // outputs, "step": 1},
                "M": {"start": first, "stop": last - 1, "step": 1},
            },
            "variable": "C*M",
            "expected": "linear",
        }
        (folder / f"many{number}.yaml").write_text(yaml.safe_dump(sweep))
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    return load_study(config | {"sweeps": [str(folder / f"many{number}.yaml") for number in range(sweeps)]}, ROOT)


def fill(found: Study, store: ResultStore) -> None:
    """Store copies of a few results under the keys of all."""
    few = [parse_layer(f"fc:{n + 1}x{64 + n}") for n in range(_SAMPLE)]
    for job in jobs_of(found, ROOT).values():
        run_chunk(job, few, store)
        results = [record for _, record in store.read({job.key(layer) for layer in few})]
        layers: list[Layer] = [point.layer for sweep in found.sweeps for point in sweep.points]
        for first in range(0, len(layers), _SEGMENT):
            keys = [job.key(layer) for layer in layers[first : first + _SEGMENT]]
            store.write({key: results[i % _SAMPLE] | {"seconds": 0.001} for i, key in enumerate(keys)})


def stage(name: str, folder: Path, layers: int, sweeps: int) -> None:
    """Run one stage in this process, and print what it took."""
    gc.set_threshold(50_000, 20, 20)  # as jobs do
    found = study(folder, layers, sweeps)
    store = ResultStore(folder / "store")
    if name == "store":
        fill(found, store)
    elif name == "plan":
        plan(found)
    elif name == "table":
        write_energies(found, store, folder / "tables", root=ROOT)
    else:
        {"growth": Derived.write_growth, "laws": Derived.write_laws}[name](Derived(found, folder / "tables"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name}: {time.process_time():.1f} core s, {memory:.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=100_000, help="layers, each on two architectures")
    parser.add_argument("--stage", help="one stage in this process (default: all, each in its own)")
    parser.add_argument("--sweeps", type=int, default=1, help="sweeps that they are in (default: 1)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.stage:
        stage(arguments.stage, folder, arguments.layers, arguments.sweeps)
        return
    size = ["--layers", str(arguments.layers), "--sweeps", str(arguments.sweeps)]
    for name in ("store", "plan", "table", "growth", "laws"):
        subprocess.run([sys.executable, __file__, str(folder), *size, "--stage", name], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
