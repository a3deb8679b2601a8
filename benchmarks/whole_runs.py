"""Print what whole runs of the default study cost: from empty results, with nothing to do, and after edits.

Core seconds are those of all processes, on the cores that ``--cores`` names; run it with nothing else running, kernels
compiled.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

#: Wall clock [s] and core seconds of the first measurement; None where it was not taken.
BASELINE: dict[str, tuple[float | None, float | None]] = {
    "from empty results": (41, 68),
    "nothing to do": (3, None),
    "one range edited (4 new searches)": (None, 31),
    "a margin edited": (None, None),
}
_LEFT_OUT = shutil.ignore_patterns("results", ".snakemake", ".git", ".venv*", "tests", "docs", "site")


def run(folder: Path, cores: int) -> tuple[float, float]:
    """Run the workflow in ``folder``; return wall clock [s] and core seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, spent


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return an edit of one file."""

    def edit(folder: Path) -> None:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            sys.exit(f"{name}: not once there: {old}")
        path.write_text(text.replace(old, new), encoding="utf-8")

    return edit


EDITS: dict[str, Callable[[Path], None]] = {
    "from empty results": lambda _: None,
    "nothing to do": lambda _: None,
    # Two inputs more: two layers on two architectures.
    "one range edited (4 new searches)": replaced(
        "layers/fc_inputs.yaml", "C: {start: 128, stop: 4096,", "C: {start: 128, stop: 4352,"
    ),
    "a margin edited": replaced(
        "config/config.yaml", "engine: native\n", "engine: native\nstatistics: {margin: 0.02}\n"
    ),
}


def compared(value: float, baseline: float | None) -> str:
    """Return a number with its baseline and their ratio."""
    return f"{value:.1f}" if baseline is None else f"{value:.1f} ({baseline:g}, {value / baseline:.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores (default: all)")
    parser.add_argument("--stages", action="store_true", help="core seconds and memory by rule, too")
    arguments = parser.parse_args()
    root = Path(__file__).resolve().parents[1]
    print("| run | wall clock [s] (baseline, ratio) | core s (baseline, ratio) |")
    print("|---|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "study"
        shutil.copytree(root, folder, ignore=_LEFT_OUT)
        for name, edit in EDITS.items():
            edit(folder)
            wall, spent = run(folder, arguments.cores)
            print(
                f"| {name} | {compared(wall, BASELINE[name][0])} | {compared(spent, BASELINE[name][1])} |", flush=True
            )
            if arguments.stages:
                for stage in json.loads((folder / "results/summary.json").read_text(encoding="utf-8"))["stages"]:
                    row = f"{stage['stage']}, {stage['jobs']} jobs, {stage['peak_memory_mb']:.0f} MB"
                    print(f"| – {row} | {stage['seconds']:.1f} | {stage['cpu_seconds']:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
