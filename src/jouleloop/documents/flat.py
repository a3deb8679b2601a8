"""Timeloop's form of 2019, a flat list of levels innermost first, as the tree that later files hold.

Source: Timeloop ``src/model/engine.cpp`` (``Engine::ParseSpecs``) and ``src/model/topology.cpp``
(``Topology::ParseSpecs``): an architecture without a version has ``arithmetic`` and a list ``storage``; a level is a
DRAM where its ``technology`` says so, an SRAM otherwise. Its sections ``arch`` and ``arch_constraints`` are the older
names of ``architecture`` and ``architecture_constraints``.
"""

from collections.abc import Mapping
from typing import Any

from jouleloop.errors import Fault, InputError, raise_all, unknown

#: Sections by their older names, in the order in which Timeloop looks for constraints.
_OLDER = {"arch": "architecture", "arch_constraints": "architecture_constraints"}
#: Keys of the flat form.
_KEYS = ("arithmetic", "storage", "constraints", "version")
#: What Timeloop calls the compute level where the file does not.
_ARITHMETIC = "__ARITH__"


def as_tree(data: Any) -> Any:
    """Return loaded data with the form of 2019 put as a v0.3 tree; other data as it is.

    Raises `InputError` where both names of a section stand there, or a level cannot be read.
    """
    if not isinstance(data, Mapping):
        return data
    twice = [
        Fault(f"stands beside {new}, its later name; leave one out", None, old)
        for old, new in _OLDER.items()
        if old in data and new in data
    ]
    raise_all(twice)
    data = {_OLDER.get(key, key): value for key, value in data.items()}
    top = data.get("architecture")
    if not isinstance(top, Mapping) or "storage" not in top or "arithmetic" not in top:
        return data
    inside = top.get("constraints")
    if inside is not None:
        if "architecture_constraints" in data:
            raise InputError(Fault("stand in the architecture, too; leave one out", None, "architecture_constraints"))
        data["architecture_constraints"] = inside
    return {**data, "architecture": _tree(top)}


def _tree(top: Mapping[str, Any]) -> dict[str, Any]:
    faults = [unknown(str(key), _KEYS, "key", field="architecture") for key in top if key not in _KEYS]
    storage = top["storage"]
    if not isinstance(storage, list):
        raise InputError(Fault("must be a list", None, "architecture.storage", storage))
    levels = [_level(level, f"architecture.storage[{at}]", faults) for at, level in enumerate(storage)]
    compute = _level(top["arithmetic"], "architecture.arithmetic", faults, compute=True)
    raise_all(faults)
    return {"version": "0.3", "subtree": [{"name": "system", "local": [*reversed(levels), compute]}]}


def _level(level: Any, where: str, faults: list[Fault], *, compute: bool = False) -> dict[str, Any]:
    """Return one level as a component of a tree."""
    if not isinstance(level, Mapping):
        faults.append(Fault("must be a mapping", None, where, level))
        return {}
    inside = level.get("attributes")
    stated = dict(inside) if isinstance(inside, Mapping) else {key: level[key] for key in level if key != "name"}
    if not compute and not isinstance(level.get("name"), str):
        faults.append(Fault("has no name", None, where))
    if "instances" not in stated:
        faults.append(Fault("has to be stated in this form", None, f"{where}.instances"))
    if compute:
        return {"name": level.get("name", _ARITHMETIC), "class": "mac", "attributes": stated}
    # In later files the class tells a DRAM, and the technology is a node's size, which estimators read.
    klass = "DRAM" if stated.pop("technology", None) == "DRAM" else "SRAM"
    return {"name": level.get("name"), "class": klass, "attributes": stated}
