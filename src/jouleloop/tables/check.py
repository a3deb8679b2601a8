"""What stops a study before its first search: Snakemake asks at every start, so that pandas is loaded where need be."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from jouleloop.arch.change import change
from jouleloop.config.load import Study
from jouleloop.documents.load import load_document
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.files import is_file
from jouleloop.study.targets import TargetSet
from jouleloop.workload.sweep import Sweep


def check_responses(study: Study, targets: Mapping[str, TargetSet]) -> None:
    """Raise `InputError` where growth is stated, or a test asked for, of a response that the energies do not have."""
    named = [(sweep.source, name) for sweep in study.tested for name, _ in sweep.response_growth]
    if not named and "responses" not in study.config.statistics.model_fields_set:
        return
    from jouleloop.stats.table import ALL_RESPONSES, find_responses  # noqa: PLC0415
    from jouleloop.tables.energies import no_energies  # noqa: PLC0415

    head = no_energies(targets, (*study.sweeps, *study.architecture_sweeps))
    known = {response.name for response in find_responses(head, ALL_RESPONSES)}
    faults = [
        unknown(name, known, "response", source=source, field="response_growth")
        for source, name in named
        if name not in known
    ]
    try:
        find_responses(head, study.config.statistics.responses)
    except InputError as error:
        faults += error.at("config").faults
    raise_all(faults)


def check_published(sweeps: Iterable[Sweep]) -> None:
    """Raise `InputError` where a table of published energies that a sweep names is not there."""
    named = [(sweep.source, architecture, path) for sweep in sweeps for architecture, path in sweep.published]
    raise_all(
        [Fault("no such file", at, f"published.{name}", path) for at, name, path in named if not is_file(Path(path))]
    )


def check_attributes(study: Study, targets: Mapping[str, TargetSet]) -> None:
    """Raise `InputError` where none of the architectures of a sweep has all the attributes that it sets."""
    faults: list[Fault] = []
    for sweep in study.architecture_sweeps:
        wrong: list[Fault] = []
        for name in filter(sweep.runs_on, targets):
            try:
                change(load_document(targets[name].files.arch), sweep.points[0].variant)
                break
            except InputError as error:
                wrong += [
                    replace(one, source=sweep.source, message=f"on {name}: {one.message}") for one in error.faults
                ]
        else:
            faults += wrong
    raise_all(faults)
