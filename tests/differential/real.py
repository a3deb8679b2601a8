"""Runs of the real programs."""

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from differential.case import SEMANTICS, Case
from jouleloop.engines.timeloop.outputs import read_evaluation, read_mapping
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.workload.timeloop_problem import problem_from

#: Where the programs of each semantics are: folders below, or the environment variable of the engine.
HOMES = {name: f"{name}/bin" for name in SEMANTICS}
_SIZE = re.compile(r"Mapspace Dimension \[(\w+)\] Size: (\d+)")
_VALID = re.compile(r"\[\d+\] INVALID (\d+) (\d+) ")
#: Files of a moment are written here.
SCRATCH = Path("/dev/shm") if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Outcome:
    """What one program says of a case.

    Attributes
    ----------
    status
        ``ok``, ``no_mapping``, ``refused`` (with its reason), ``failed`` (crash or time limit).
    valid
        Valid mappings that were visited.
    links
        Whether neighbours hand words on to each other in the optimum.
    """

    status: str
    energy_pj: float = 0.0
    cycles: int = 0
    reason: str = ""
    mapping: Mapping | None = None
    valid: int = 0
    links: bool = False

    def value(self, objective: str) -> float:
        """Return what is minimised."""
        if objective == "energy":
            return self.energy_pj
        return float(self.cycles) if objective == "delay" else self.energy_pj * self.cycles


def homes(root: Path) -> dict[str, Path]:
    """Return the folder of the programs by semantics."""
    return {name: root / folder for name, folder in HOMES.items() if (root / folder / "timeloop-mapper").exists()}


def run_mapper(case: Case, home: Path, seconds: float = 60, *, as_given: bool = False) -> Outcome:
    """Return the optimum of ``timeloop-mapper`` over its whole mapspace.

    Parameters
    ----------
    home
        Folder of the programs.
    as_given
        Whether to give it the constraints as they are, see `differential.case.unhindered`.
    """
    folder = Path(tempfile.mkdtemp(prefix="differential-", dir=SCRATCH))
    try:
        files = case.write(folder, for_mapper=not as_given)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TIMELOOP_")}
        try:
            run = subprocess.run(
                [home / "timeloop-mapper", *(file.name for file in files)],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return Outcome("failed", reason="time limit")
        log = run.stdout
        if run.returncode:
            said = [line for line in log.splitlines() if line.startswith("ERROR") or "Assertion" in line]
            status = "refused" if run.returncode == 1 and said else "failed"
            return Outcome(status, reason=f"exit code {run.returncode}: " + "; ".join(said[-2:])[-300:])
        counted = [*map(int, match.groups())] if (match := _last(_VALID, log)) else [0, 0]
        if "no valid mappings" in log or not counted[1]:
            return Outcome("no_mapping", reason=log.strip().splitlines()[-1])
        if "search algorithm is done" not in log:
            return Outcome("failed", reason="not to the end")
        problem = problem_from(case.problem)
        try:
            evaluation = read_evaluation(folder, "timeloop-mapper", problem)
            mapping = read_mapping(folder, "timeloop-mapper")
        except JouleloopError as error:
            return Outcome("failed", reason=f"output: {error}")
        links = any(one.link_transfers for spaces in evaluation.networks.values() for one in spaces.values())
        return Outcome("ok", evaluation.energy_pj, evaluation.cycles, "", mapping, counted[1], links)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007
        pass
    return found
