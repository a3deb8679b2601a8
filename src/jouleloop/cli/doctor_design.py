"""What becomes of every key of a design, its energies included: an attribute is changed to see whether they change."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jouleloop.api.hardware import Architecture
from jouleloop.arch.resolve import load_design
from jouleloop.cli.notes import misspelt
from jouleloop.errors import JouleloopError
from jouleloop.mapspace.inventory import NO_EFFECT, REFUSED, Entry, inventory

COUNTS_FOR_ENERGY = "counts for energy"
_ATTRIBUTES = ".attributes."
#: A text that no estimator knows.
_NO_VALUE = "?"


def examine_design(paths: Sequence[Path], variables: dict[str, str]) -> list[Entry]:
    """Return what becomes of every key: by the model, and by what says its energies; what is refused comes last.

    What ``jouleloop map`` refuses of the architecture alone is refused here.
    """
    entries = inventory(paths, variables)
    for path in paths:
        if not _has_architecture(path, variables):
            continue
        try:
            hardware = Architecture.read(path, variables=variables)
        except JouleloopError as error:
            told = {entry.why for entry in entries}
            new = [fault for fault in error.faults if fault.message not in told]
            entries += [
                Entry(REFUSED, str(fault.field or fault.source or ""), "", fault.message)
                for fault in new
                if not any(entry.verdict == REFUSED for entry in entries) or "energy" in fault.message
            ]
            continue
        entries = [_with_energy(entry, hardware) for entry in entries]
    return sorted(entries, key=lambda entry: entry.verdict == REFUSED)


def _has_architecture(path: Path, variables: dict[str, str]) -> bool:
    try:
        data = load_design(path, variables)
    except JouleloopError:
        return False
    return isinstance(data, dict) and "architecture" in data


def _with_energy(entry: Entry, hardware: Architecture) -> Entry:
    """Return an entry without effect on the model as one that counts for energies, or is like one that is read."""
    name, is_attribute, key = entry.where.partition(_ATTRIBUTES)
    if entry.verdict != NO_EFFECT or not is_attribute:
        return entry
    for component, said in misspelt(hardware.targets.arch):
        if component == name and said.startswith(f"{key} "):
            return replace(entry, why=said)
    compute = hardware.targets.arch.compute
    components = {one.name: one.attributes for one in hardware.levels} | {compute.name: compute.attributes}
    given = components.get(name, {}).get(key)
    if given is None:
        return entry
    other: Any = given * 2 if isinstance(given, (int, float)) and not isinstance(given, bool) else _NO_VALUE
    try:
        costs = hardware.with_({f"{name}.{key}": other}).targets.costs
    except JouleloopError as error:
        return replace(entry, verdict=COUNTS_FOR_ENERGY) if "energy" in str(error) else entry
    same = costs.as_dict()["levels"] == hardware.targets.costs.as_dict()["levels"]
    same = same and costs.compute_pj == hardware.targets.costs.compute_pj
    return entry if same else replace(entry, verdict=COUNTS_FOR_ENERGY)
