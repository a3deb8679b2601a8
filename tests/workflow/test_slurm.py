"""The workflow on a Slurm cluster whose nodes are drained and lost meanwhile: the same bytes as locally."""

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paths import ROOT
from waiting import LIMIT_S, until

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

#: The plug-in and what it needs beyond this project's dependencies (extra "slurm" in pyproject.toml).
_PLUGINS = (
    "snakemake-executor-plugin-slurm>=2.4,<3",
    "snakemake-executor-plugin-slurm-jobstep>=0.6,<1",
    "throttler>=1.2.2,<2",
)


def load(path: Path) -> Any:
    """Return a module beside this one."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


slurm_cluster = load(Path(__file__).with_name("slurm_cluster.py"))


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with the executor plug-in; the environment of the tests stays as it is."""
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is not None:
        return ""
    folder = tmp_path_factory.mktemp("plugins")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *_PLUGINS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        pytest.skip(f"snakemake-executor-plugin-slurm is neither installed nor to be had: {done.stderr.strip()[-300:]}")
    return str(folder)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    reason = slurm_cluster.missing_programs()
    if reason:
        pytest.skip(reason)
    # Not pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with slurm_cluster.Cluster(Path(folder)) as running:
            yield running


def submitted(study: Callable[..., Any], cluster: Any, plugins: str, folder: Path) -> Any:
    mine = study(folder, chunks={"least": 6})
    path = f"{cluster.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    src = ROOT / "src"
    mine.environment.update(cluster.variables, PATH=path, PYTHONPATH=f"{src}:{plugins}", OMP_NUM_THREADS="1")
    return mine


ARGUMENTS = (
    *("--executor", "slurm", "--workflow-profile", "profiles/slurm", "--slurm-no-account"),
    *(
        "--seconds-between-status-checks",
        "2",
        "--slurm-status-command",
        "squeue",
        "--slurm-init-seconds-before-status-checks",
        "2",
        "--latency-wait",
        "15",
    ),
    *("--default-resources", "slurm_partition=work", "mem_mb=1000", "runtime=20", "--retries", "0"),
)
TARGETS = ("energies",)


def done(cluster: Any, state: str = "COMPLETED") -> list[tuple[str, str, str, str]]:
    return [job for job in cluster.jobs() if job[1] == state and "map_chunk" in job[3]]


class Protocol:
    """What a test saw of the cluster, written to the file that JOULELOOP_SLURM_LOG names, if any."""

    def __init__(self, cluster: Any, title: str) -> None:
        self.cluster = cluster
        self.started = time.monotonic()
        self.lines = [f"== {title}"]

    def note(self, what: str) -> None:
        nodes = ", ".join(f"{node} {state}" for node, state in sorted(self.cluster.nodes().items()))
        self.lines.append(f"{time.monotonic() - self.started:6.1f} s  {what}  [{nodes}]")

    def write(self, output: str, folder: Path) -> None:
        path = os.environ.get("JOULELOOP_SLURM_LOG")
        if not path:
            return
        jobs = [f"  job {job[0]:>5}  {job[1]:<10} on {job[2] or '-':<6} {job[3]}" for job in self.cluster.jobs()]
        wanted = re.compile(
            r"^(Job \d+ has been submitted|Submitted array job|Finished jobid|\d+ of \d+ steps|Select jobs)"
        )
        lines = [f"  {line}" for line in output.splitlines() if wanted.match(line) and "Select" not in line]
        text = "\n".join(
            [*self.lines, "Slurm's jobs at the end:", *jobs, "What Snakemake printed of its jobs:", *lines, ""]
        )
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(text.replace(str(folder), "STUDY").replace(str(self.cluster.folder), "CLUSTER") + "\n")


def test_nodes_are_drained_and_lost(
    study: Callable[..., Any],
    undisturbed: Any,
    cluster: Any,
    plugins: str,
    tmp_path: Path,
) -> None:
    mine = submitted(study, cluster, plugins, tmp_path / "s")
    seen = Protocol(cluster, "nodes are drained and lost")
    cluster.hold("node1", "node2")
    cluster.admit("node1")
    cluster.admit("node2")
    run = mine.start(*ARGUMENTS, *TARGETS)
    seen.note("snakemake --executor slurm is started")
    # Node 1 gets no more jobs once two chunks are through, as when an administrator takes it out of service.
    until(lambda: len(done(cluster)) >= 2 or not run.alive())
    assert run.alive(), run.text()
    seen.note("two chunks are through")
    cluster.update("node1", "DRAIN")
    seen.note("node1 is told to drain")
    assert cluster.nodes()["node1"].startswith("drain")
    cluster.release("node1")
    until(lambda: cluster.nodes()["node1"] == "drained" or not run.alive())
    seen.note("node1 is drained")
    before = {job[0] for job in cluster.jobs() if job[2]}

    def later() -> set[str]:
        return {job[2] for job in cluster.jobs() if job[0] not in before and job[2]}

    cluster.admit("node2")
    until(lambda: later() or not run.alive())
    assert later() == {"node2"}
    # Node 2 is lost with the job that runs there; Slurm queues it again, and node 1 comes back.
    until(lambda: {job[0] for job in done(cluster, "RUNNING")} - before or not run.alive())
    (lost,) = [job for job in done(cluster, "RUNNING") if job[0] not in before]
    # Drained as well, because a node that reports again comes back by itself, and would take the job it lost.
    cluster.update("node2", "DRAIN")
    cluster.update("node2", "DOWN")
    cluster.update("node2", "DRAIN")
    cluster.update("node1", "RESUME")
    seen.note(f"node2 is lost with job {lost[0]}, node1 comes back")
    code, text = run.wait()
    seen.note(f"snakemake has ended with exit code {code}")
    seen.write(text, mine.folder)
    assert code == 0, text
    assert ("COMPLETED", "node1") in {(job[1], job[2]) for job in cluster.jobs() if job[0] == lost[0]}
    assert len(re.findall(r"Finished jobid: \d+ \(Rule: map_chunk\)", text)) == 6
    assert mine.tables() == undisturbed.tables()
    cluster.release("node2")
    with contextlib.suppress(subprocess.CalledProcessError):
        cluster.update("node2", "RESUME")


def test_chunks_as_an_array(
    study: Callable[..., Any], undisturbed: Any, cluster: Any, plugins: str, tmp_path: Path
) -> None:
    mine = submitted(study, cluster, plugins, tmp_path / "s")
    seen = Protocol(cluster, "chunks as an array")
    code, text = mine.run(*ARGUMENTS, "--slurm-array-jobs", "map_chunk", *TARGETS)
    seen.note(f"snakemake has ended with exit code {code}")
    seen.write(text, mine.folder)
    assert code == 0, text
    assert "Submitted array job" in text
    assert mine.tables() == undisturbed.tables()
