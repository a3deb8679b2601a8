"""The folder that ``sweep`` and ``network`` write into: one of their own, and never another study's unasked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jouleloop.files import shown_path
from jouleloop.names import safe_name
from jouleloop.study.compute import Job
from jouleloop.study.occupied import claim_alone
from jouleloop.tables.layouts import LAYOUTS
from jouleloop.workload.sweep import Sweep


def own_folder(
    output: Path | None, command: str, layers: str, sweeps: Sequence[Sweep], jobs: Mapping[str, Job], *, replace: bool
) -> Path:
    """Return the folder that a command writes into: ``output``, or its own below ``results``.

    Raises `InputError` where it holds another study and is not to be replaced.
    """
    folder = output or Path("results") / command / safe_name("-".join([Path(layers).stem, *jobs]))
    tables = [layout.file for layout in LAYOUTS]
    claim_alone(folder, [one.name for one in sweeps], _settings(command, layers, jobs), tables, replace=replace)
    return folder


def _settings(command: str, layers: str, jobs: Mapping[str, Job]) -> dict[str, Any]:
    """Return what every number of a study depends on besides the content of files."""
    settings: dict[str, Any] = {"configuration": [f"jouleloop {command} {layers}"], "architectures": list(jobs)}
    for name, job in jobs.items():
        files = job.target.files
        constraints = "none" if files.constraints is None else shown_path(files.constraints)
        settings |= {
            f"constraints of {name}": f"{files.which} ({constraints})",
            f"energies of {name}": [" ".join([one.estimator, *map(shown_path, one.files())]) for one in files.sources],
            f"attributes of {name}": [f"{key}={value}" for key, value in (*files.changes, *files.variables)],
            f"factors of {name}": files.factors or "as constrained",
        }
        settings |= {} if files.space == "timeloop" else {f"space of {name}": files.space}
        settings |= {} if files.axes == "apart" else {f"axes of {name}": files.axes}
    first = next(iter(jobs.values()))
    told = first.options
    return settings | {
        "engine": first.engine.name,
        "objective": list(told.objective),
        "semantics": first.target.semantics,
        "budget": told.budget,
        "seconds": told.seconds,
    }
