"""The best mapping of every layer as files: YAML that timeloop-model reads, and the loop nest beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import write_text
from jouleloop.mapping.formats import from_levels, to_timeloop_mapping
from jouleloop.mapping.nest import print_nest
from jouleloop.names import safe_name
from jouleloop.study.compute import Job
from jouleloop.study.store import ResultStore
from jouleloop.terminal.console import print_note, print_text
from jouleloop.units import unit_of
from jouleloop.workload.sweep import Sweep, SweepPoint


def check_folder(folder: Path | None) -> None:
    """Raise `InputError` where mappings cannot go into a folder, before anything is searched."""
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(Fault("is a file, a folder is wanted", "--write-mappings", value=str(folder)))


def write_mappings(sweeps: Sequence[Sweep], jobs: Mapping[str, Job], store: ResultStore, folder: Path) -> None:
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
