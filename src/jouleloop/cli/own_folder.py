"""Where ``sweep`` and ``network`` write: a folder of their own, never another study's unasked, and mappings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from jouleloop.cli import options
from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import shown_path, write_text
from jouleloop.mapping.formats import from_levels, to_timeloop_mapping
from jouleloop.mapping.nest import print_nest
from jouleloop.names import safe_name
from jouleloop.study.compute import Job
from jouleloop.study.occupied import claim_alone
from jouleloop.study.store import ResultStore
from jouleloop.tables.layouts import LAYOUTS
from jouleloop.terminal.console import print_note, print_text
from jouleloop.units import unit_of
from jouleloop.workload.sweep import Sweep, SweepPoint


@dataclass(frozen=True)
class Destination:
    """What the options say of where tables, results and mappings go."""

    output: options.Output = None
    replace: options.Replace = False
    mappings: options.WriteMappings = None

    def folder(self, command: str, layers: str, sweeps: Sequence[Sweep], jobs: Mapping[str, Job]) -> Path:
        """Return the folder that a command writes into: ``output``, or its own below ``results``.

        Raises `InputError` where it holds another study and is not to be replaced, or mappings have no folder.
        """
        if self.mappings is not None and self.mappings.exists() and not self.mappings.is_dir():
            raise InputError(Fault("is a file, a folder is wanted", "--write-mappings", value=str(self.mappings)))
        folder = self.output or Path("results") / command / safe_name("-".join([Path(layers).stem, *jobs]))
        tables = [layout.file for layout in LAYOUTS]
        settings = _settings(command, layers, jobs)
        claim_alone(folder, [one.name for one in sweeps], settings, tables, replace=self.replace)
        return folder

    def write_mappings(self, sweeps: Sequence[Sweep], jobs: Mapping[str, Job], folder: Path) -> None:
        """Write the mappings of a study whose results lie in ``folder``, where they are asked for."""
        if self.mappings is not None:
            _write_mappings(sweeps, jobs, ResultStore(folder / "store"), self.mappings)


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


def _write_mappings(sweeps: Sequence[Sweep], jobs: Mapping[str, Job], store: ResultStore, folder: Path) -> None:
    """Write ``<architecture>/<layer>.yaml`` and ``.txt`` below ``folder`` for every layer with a mapping; say so."""
    written = 0
    for name, job in jobs.items():
        # Layers of one shape have one result.
        keys: dict[str, list[tuple[Job, SweepPoint]]] = {}
        for point in (point for sweep in sweeps for point in sweep.points):
            varied = job.at(point.variant)
            if not isinstance(varied, JouleloopError):
                keys.setdefault(varied.key(point.layer), []).append((varied, point))
        for key, record in store.read(keys):
            for varied, point in keys[key] if record.get("mapping") else ():
                label = "-".join([point.layer.label, *(f"{path}={value}" for path, value in point.variant)])
                _write(record, varied, point, folder / safe_name(name) / safe_name(label))
                written += 1
    print_text(f"{written} mappings written to {folder}")


def _write(record: Mapping[str, object], job: Job, point: SweepPoint, stem: Path) -> None:
    problem = point.layer.problem()
    target = job.target.for_shape(problem.shape)
    levels, counted = record["mapping"], record["evaluation"]
    assert isinstance(levels, list)  # noqa: S101 - as it was stored
    assert isinstance(counted, Mapping)  # noqa: S101
    found = from_levels(levels, problem, target.arch)
    head = f"# {point.layer.label} on {target.arch.name}: {counted['energy_pj']} {unit_of([target.costs.table])}\n"
    write_text(stem.with_name(f"{stem.name}.txt"), head + print_nest(found, problem, target.arch))
    try:
        directives = to_timeloop_mapping(found, problem, target.arch)
    except JouleloopError as error:
        print_note(f"{stem.name}.yaml is not written: {error}")
        return
    text = yaml.safe_dump({"mapping": directives}, sort_keys=False, default_flow_style=None, width=120)
    write_text(stem.with_name(f"{stem.name}.yaml"), head + text)
