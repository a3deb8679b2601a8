"""What stops a sweep of a capacity before its first search: Snakemake asks at every start, so tables are not loaded."""

from collections.abc import Mapping
from dataclasses import replace

from jouleloop.config.load import Study
from jouleloop.curves.hardware import level_of
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.study.targets import TargetSet


def check_capacities(study: Study, targets: Mapping[str, TargetSet]) -> None:
    """Raise `InputError` where a sweep of a capacity cannot be run on an architecture, with the faults of all."""
    faults: list[Fault] = []
    if study.capacity_sweeps and study.config.engine != "native":
        text = "proves no curve: sweeps of a capacity need the native engine"
        faults.append(Fault(text, "config", "engine", study.config.engine, "native"))
    for sweep in study.capacity_sweeps:
        for name in filter(sweep.runs_on, targets):
            try:
                level_of(targets[name].arch, sweep.levels.get(name))
            except InputError as error:
                faults += [replace(one, source=sweep.source, field=f"levels.{name}") for one in error.faults]
    raise_all(faults)
