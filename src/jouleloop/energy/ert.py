"""Accelergy's energy reference tables: read as Timeloop reads them, and written for Timeloop to charge our energies."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture, StorageLevel
from jouleloop.arch.tree_v04 import DUMMY_CLASS
from jouleloop.energy.costs import EnergyCosts, LevelEnergy
from jouleloop.energy.tables import COMPUTE_ACTIONS
from jouleloop.errors import EnergyTableError, Fault, raise_all
from jouleloop.files import read_yaml

_EXPONENT = re.compile(r"\d+(\.\d*)?[eE][-+]?\d{1,3}")
_RANGE = re.compile(r"\[\d+\.\.\d+\]")


def read_ert(path: Path) -> dict[str, dict[str, float]]:
    """Return the largest energy in pJ of each action by component name, from a file with an ``ERT``.

    Raises
    ------
    EnergyTableError
        Where the file holds no energy reference table of version 0.2, 0.3 or 0.4.
    """
    data = read_yaml(path)
    top = data.get("ERT") if isinstance(data, Mapping) else None
    if not isinstance(top, Mapping):
        raise EnergyTableError(Fault("holds no energy reference table", str(path), allowed="a mapping under 'ERT'"))
    version, tables = str(top.get("version", "")), top.get("tables")
    if version not in ("0.2", "0.3", "0.4"):
        raise EnergyTableError(Fault("unsupported version", str(path), "ERT.version", version, "0.2, 0.3, 0.4"))
    faults: list[Fault] = []
    result: dict[str, dict[str, float]] = {}
    if isinstance(tables, Mapping):
        tables = [
            {"name": name, "actions": [{"name": a, **e} for a, given in actions.items() for e in _listed(given)]}
            for name, actions in tables.items()
            if isinstance(actions, Mapping)
        ]
    if not isinstance(tables, list):
        raise EnergyTableError(Fault("must be a list", str(path), "ERT.tables", tables))
    for index, component in enumerate(tables):
        if not isinstance(component, Mapping) or not isinstance(component.get("actions"), list):
            faults.append(Fault("needs a name and actions", str(path), f"ERT.tables[{index}]"))
            continue
        actions = result.setdefault(short_name(str(component.get("name"))), {})
        for action in component["actions"]:
            energy: Any = action.get("energy") if isinstance(action, Mapping) else None
            energy = _number(energy)
            wrong = isinstance(energy, bool) or not isinstance(energy, (int, float)) or not 0 <= energy < 1e12
            if wrong or "name" not in action:
                faults.append(Fault("is no action with an energy in pJ", str(path), f"ERT.tables[{index}]", action))
                continue
            name = str(action["name"])
            actions[name] = max(actions.get(name, 0.0), float(energy))
    raise_all(faults, EnergyTableError)
    return result


def _number(value: Any) -> Any:
    """Return the number of a text such as ``7e-05``, as Accelergy 0.4 writes it; YAML 1.1 takes it for text."""
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _listed(given: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in (given if isinstance(given, list) else [given]) if isinstance(entry, Mapping)]


def short_name(full: str) -> str:
    """Return the component's own name from ``system.PE[0..3].buffer[0..1]``."""
    return _RANGE.sub("", full).split(".")[-1]


def load_ert(path: Path, arch: Architecture) -> EnergyCosts:
    """Return the energies that Timeloop 3.0.3 charges with an energy reference table.

    The largest entry of each action counts; reads use ``read``, fills and updates ``write``, compute the first of
    `COMPUTE_ACTIONS`. A storage level whose table has neither keeps the number of Timeloop's built-in technology model.

    Raises
    ------
    EnergyTableError
        Where a component has no table, or charges updates and fills differently.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseAccelergyERT``; ``src/model/buffer.cpp``,
    ``UpdateOpEnergyViaERT``.
    """
    tables = read_ert(path)
    faults: list[Fault] = []
    levels: list[LevelEnergy] = []
    for level in arch.levels:
        actions = tables.get(level.name)
        if level.klass == DUMMY_CLASS and actions is None:
            levels.append(LevelEnergy(level.name, 0.0, 0.0, "stores nothing"))
        elif actions is None:
            allowed = ", ".join(sorted(tables))
            faults.append(Fault("has no energy reference table", str(path), level.name, allowed=allowed))
        else:
            levels.append(_level(level, actions, path, faults))
    unit = tables.get(arch.compute.name, {})
    action = next((name for name in COMPUTE_ACTIONS if name in unit), None)
    if action is None:
        allowed = ", ".join(COMPUTE_ACTIONS)
        faults.append(Fault("has no energy of a computation", str(path), arch.compute.name, allowed=allowed))
    raise_all(faults, EnergyTableError)
    return EnergyCosts(path.stem, tuple(levels), unit[action or ""], f"{path.name}: {arch.compute.name} {action}")


def _level(level: StorageLevel, actions: Mapping[str, float], path: Path, faults: list[Fault]) -> LevelEnergy:
    write = actions.get("write", actions.get("update"))
    if "update" in actions and "write" in actions and actions["update"] != actions["write"]:
        text = (
            f"charges {actions['update']} pJ an update and {actions['write']} pJ a fill; the model charges both alike"
        )
        faults.append(Fault(text, str(path), level.name))
    source, leak = f"{path.name}: {level.name}", actions.get("leak", 0.0)
    if "read" not in actions or write is None:
        built_in = built_in_energy_pj(level)
        source += " (Timeloop's built-in technology model, for want of the actions read and write)"
        return LevelEnergy(
            level.name, actions.get("read", built_in), built_in if write is None else write, source, leak
        )
    return LevelEnergy(level.name, actions["read"], write, source, leak)


def built_in_energy_pj(level: StorageLevel) -> float:
    """Return the energy of one vector access in pJ by Timeloop's built-in technology model.

    A DRAM costs 12.5 pJ a bit. An SRAM costs, for 16 bits, 1 pJ at 0.5 KB and 6 pJ at 100 KB, on a straight line; a
    wider one proportionally more; clusters share it.

    Source: Timeloop ``pat-public/src/pat/pat.cpp``, ``SRAMEnergy`` and ``DRAMEnergy``.
    """
    if "DRAM" in level.klass:
        return 200.0 * level.word_bits * level.block_words / 16
    if not level.capacity_words:
        return 0.0
    width = level.word_bits * level.block_words * level.cluster_size
    height = -(-level.capacity_words // level.block_words)
    kilobytes = width * height / (8 * 1024)
    return ((6 - 1) / (100 - 0.5) * (kilobytes - 0.5) + 1) * (width / 16) / level.cluster_size


def to_ert(arch: Architecture, costs: EnergyCosts) -> dict[str, Any]:
    """Return data of an ERT and an ART with which Timeloop charges ``costs`` and calls no estimator; areas are 0."""
    tables = []
    for level, energy in zip(arch.levels, costs.levels, strict=True):
        actions = [("read", energy.read_pj), ("write", energy.write_pj), ("update", energy.write_pj)]
        tables.append((level.name, level.instances, [*actions, ("leak", energy.leak_pj)]))
    tables.append((arch.compute.name, arch.compute.instances, [("compute", costs.compute_pj), ("leak", 0.0)]))
    names = [f"system.{name}[0..{count - 1}]" for name, count, _ in tables]
    return {
        "ERT": {
            "version": 0.3,
            "tables": [
                {"name": name, "actions": [{"name": a, "arguments": None, "energy": pj} for a, pj in actions]}
                for name, (_, _, actions) in zip(names, tables, strict=True)
            ],
        },
        "ART": {"version": 0.3, "tables": [{"name": name, "area": 0} for name in names]},
    }
