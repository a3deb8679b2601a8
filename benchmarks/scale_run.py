"""Run the workflow on thousands of random layers and print jobs, time, memory of every process, and overhead.

    python benchmarks/scale_run.py FOLDER [--fc 14000] [--conv 6000] [--cores 2] [--target energies]

FOLDER gets a copy of the project; results are in FOLDER/results. Linux only: memory and processor time are from /proc.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")


def project(folder: Path, fc: int, conv: int) -> None:
    """Copy the project into ``folder``, with ``fc`` and ``conv`` random layers as its sweeps."""
    for name in ("arch", "mappings", "layers", "workflow", "analysis", "profiles"):
        shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    shutil.copy(ROOT / "Snakefile", folder)
    sweeps = []
    for name, count in (("scale_fc", fc), ("scale_conv", conv)):
        if count:
            path = folder / f"layers/{name}.yaml"
            sweep = yaml.safe_load((ROOT / f"layers/{name}.yaml").read_text())
            sweep["random"]["count"] = count
            path.write_text(yaml.safe_dump(sweep))
            sweeps.append(name)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config |= {"sweeps": sweeps, "networks": [], "outputs": {"figure_formats": ["png"]}}
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config))


class Watch:
    """Peak memory of every process below one, and how many of them ran at a time."""

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.peak_mb: dict[int, tuple[str, float]] = {}
        self.parent_cpu_seconds = 0.0
        self.running: list[int] = []

    def sample(self) -> None:
        """Look at all processes once."""
        family, kinds = {self.parent}, []
        found = {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                pid = int(entry.name)
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                found[pid] = (int(fields[1]), fields[0], (int(fields[11]) + int(fields[12])) / _TICKS)
        grown = True
        while grown:
            new = {pid for pid, (parent, _, _) in found.items() if parent in family} - family
            family |= new
            grown = bool(new)
        for pid in family & found.keys():
            with contextlib.suppress(OSError, IndexError):
                status = Path(f"/proc/{pid}/status").read_text()
                mb = int(status.split("VmHWM:")[1].split()[0]) / 1024
                command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                name = "snakemake" if pid == self.parent else Path(command[-2].decode()).name.split(".", 1)[-1]
                self.peak_mb[pid] = (name, max(mb, self.peak_mb.get(pid, ("", 0.0))[1]))
                if name.startswith("map_chunk"):
                    kinds.append(pid)
        if self.parent in found:
            self.parent_cpu_seconds = found[self.parent][2]
        self.running.append(len(kinds))


def run(folder: Path, cores: int, target: str) -> tuple[float, Watch, str]:
    """Run Snakemake in ``folder``; return seconds, what was watched, and its output."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *([target] if target else [])]
    started = time.monotonic()
    log = folder / "scale_run.log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)
        watch = Watch(process.pid)
        while process.poll() is None:
            watch.sample()
            time.sleep(1.0)
    seconds = time.monotonic() - started
    if process.returncode:
        sys.exit(log.read_text()[-3000:])
    return seconds, watch, log.read_text()


def main() -> None:
    """Run, run again, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fc", type=int, default=14000, help="fully-connected layers")
    parser.add_argument("--conv", type=int, default=6000, help="convolutions")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--target", default="energies", help="Snakemake target; empty for everything")
    options = parser.parse_args()
    project(options.folder, options.fc, options.conv)
    before = os.times()
    seconds, watch, output = run(options.folder, options.cores, options.target)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    summary = json.loads((options.folder / "results/summary.json").read_text())
    jobs = sum(stage["jobs"] for stage in summary["stages"])
    start = sum(stage["start_cpu_seconds"] for stage in summary["stages"])
    busy = [count for count in watch.running if count]
    again, idle, text = run(options.folder, options.cores, options.target)
    assert "Nothing to be done" in text, text
    peaks: dict[str, float] = {}
    for name, mb in watch.peak_mb.values():
        peaks[name] = max(mb, peaks.get(name, 0.0))
    points = sum(sum(counts.values()) for counts in summary["points"].values())
    print(output[output.index("Summary of a run") :].strip())
    print(f"points {points}, jobs {jobs}, wall {seconds:.0f} s, processor {cpu:.0f} core s")
    print(f"jobs searching at a time while any did: {sum(busy) / max(1, len(busy)):.2f} of {options.cores} cores")
    print("peak memory [MB]: " + ", ".join(f"{name} {mb:.0f}" for name, mb in sorted(peaks.items())))
    overhead = watch.parent_cpu_seconds + start
    print(f"overhead: Snakemake {watch.parent_cpu_seconds:.1f} core s, starting jobs {start:.1f}: {overhead / cpu:.1%}")
    print(f"no-op rerun: {again:.1f} s, {idle.parent_cpu_seconds:.1f} core s")


if __name__ == "__main__":
    main()
