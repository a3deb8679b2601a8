"""Sections with constraints: where Timeloop finds the list of targets, and what forms their entries have."""

import logging
from collections.abc import Mapping
from typing import Any

from jouleloop.documents.keywords import keywords_with
from jouleloop.errors import Fault, unknown

_LOG = logging.getLogger("jouleloop.mapspace")

#: Sections with constraints, by what they belong to.
SECTIONS = {
    "architecture_constraints": "arch",
    "constraints": "arch",
    "extra_mapping_constraints": "arch",
    "mapspace_constraints": "map",
    "mapspace": "map",
}
#: What Timeloop reads in the ``attributes`` of a constraint; all else it reads beside them.
_OF_ATTRIBUTES = keywords_with("in_attributes")


def section_targets(data: Mapping[str, Any], which: str, faults: list[Fault]) -> list[Any]:
    """Return the targets of all sections with constraints that count in a set; see `read_constraints`."""
    if "mapspace" in data and "mapspace_constraints" in data:
        text = "stands beside mapspace, which Timeloop 3.0.3 reads instead; Timeloop 4 ends"
        faults.append(Fault(text, None, "mapspace_constraints"))
    counted = [key for key in data if key in SECTIONS and (SECTIONS[key] == "arch" or which == "full")]
    return [target for key in counted for target in _targets(data[key], key, faults)]


def _targets(value: Any, where: str, faults: list[Fault]) -> list[Any]:
    """Return the targets of a section: itself a list, or the list it holds or names.

    Source: Timeloop ``src/mapping/constraints.cpp``, ``Constraints::Parse``.
    """
    targets = value
    if isinstance(value, dict):
        key = "constraints" if value.get("constraints") is not None else "targets"
        named = [f"constraints_{value[key]}"] if isinstance(value.get(key), str) else []
        targets = value.get(*named) if named else value.get(key)
        known = ("targets", "constraints", "version", "template")
        faults += [
            unknown(str(other), known, "key", field=where)
            for other in value
            if other not in known and not str(other).startswith("constraints_")
        ]
        where = f"{where}.{named[0] if named else key}"
        if named and targets is None:
            faults.append(Fault("is named and not there", None, where))
        if value.get("template", "uber") not in ("uber", "ruby"):
            text = "this kind of mapspace is not supported by the model"
            faults.append(Fault(text, None, f"{where}.template", value["template"], "uber, ruby"))
    if targets is None:
        return []
    if not isinstance(targets, list):
        faults.append(Fault("must be a list", None, where, targets))
        return []
    return [one for index, target in enumerate(targets) for one in _flat(target, f"{where}[{index}]", faults)]


def _flat(target: Any, where: str, faults: list[Fault]) -> list[Any]:
    """Return what a target says in the forms of 2019: ``constraints`` below a name, values in ``attributes``.

    Source: Timeloop ``src/mapping/constraints.cpp``, ``ParseList`` and ``ParseSingleConstraint``.
    """
    if not isinstance(target, Mapping):
        return [target]
    name = {"target": target.get("target", target.get("name"))}
    inside = target.get("constraints")
    if inside is not None and not isinstance(inside, list):
        faults.append(Fault("must be a list", None, f"{where}.constraints", inside))
        return []
    found = []
    for constraint in (target,) if inside is None else inside:
        if not isinstance(constraint, Mapping):
            faults.append(Fault("must be a mapping", None, where, constraint))
            continue
        values = constraint.get("attributes")
        if not isinstance(values, Mapping):
            found.append(constraint if inside is None else {**name, **constraint})
            continue
        beside = {key: value for key, value in constraint.items() if key != "attributes"}
        for key in (key for key in beside if key in _OF_ATTRIBUTES):
            faults.append(Fault("stands beside attributes, where Timeloop does not read it", None, f"{where}.{key}"))
        for key in (key for key in values if key not in _OF_ATTRIBUTES):
            _LOG.warning("%s.attributes.%s: passed over, as by Timeloop, which reads it beside them", where, key)
        found.append({**name, **beside, **{key: value for key, value in values.items() if key in _OF_ATTRIBUTES}})
    return found
