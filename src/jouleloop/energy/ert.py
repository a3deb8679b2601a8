"""Accelergy's energy reference tables: read as Timeloop reads them, and written for Timeloop to charge our energies."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import Architecture, Network, StorageLevel
from jouleloop.energy.costs import EnergyCosts, NetworkEnergy
from jouleloop.errors import EnergyTableError, Fault, raise_all
from jouleloop.files import is_whole, read_yaml

#: How many there are of a component, as part of its name.
_COUNTED = re.compile(r"\[[^\]]*\]")
_EXPONENT = re.compile(r"\d+(\.\d*)?[eE][-+]?\d{1,3}")

#: Components whose table Timeloop takes for the energy of all wires, and the action that it looks up there.
_WIRES, _TRANSFER = ("wire", "Wire"), "transfer_random"

#: Actions by which Timeloop charges a storage level's reads, fills and updates: the first that its table has.
STORAGE_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "read": ("random_read", "read"),
    "fill": ("random_fill", "write"),
    "update": ("random_update", "random_fill", "write"),
}

#: The same of Timeloop 4. Source: ``include/model/topology.hpp``, ``storageOperationMappings`` (commit 4cf6d4c).
LATER_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "read": ("random_read", "read"),
    "fill": ("random_fill", "random_write", "fill", "write"),
    "update": ("random_update", "random_write", "update", "write"),
}


def is_area(value: Any) -> bool:
    """Whether a value is an area."""
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= value < 1e15


def read_areas(path: Path, data: Any = None) -> dict[str, float]:
    """Return the area [um2] of one instance by component name, from the ``ART`` of a file with an ``ERT`` or beside it.

    The file beside it has ``ART`` for ``ERT`` in its name, as Accelergy and Timeloop write them. ``data`` is what the
    file holds, where it was read before.

    Raises
    ------
    EnergyTableError
        Where an area is none.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseAccelergyART``.
    """
    beside = path.with_name(path.name.replace("ERT", "ART"))
    data = read_yaml(path) if data is None else data
    if "ART" not in data and beside != path and beside.is_file():
        path, data = beside, read_yaml(beside)
    top = data.get("ART") if isinstance(data, Mapping) else None
    tables = top.get("tables") if isinstance(top, Mapping) else None
    found: dict[str, float] = {}
    faults = []
    for table in tables if isinstance(tables, list) else ():
        if not isinstance(table, Mapping) or not is_area(table.get("area")):
            value = table.get("area") if isinstance(table, Mapping) else table
            faults.append(Fault("is no area in um2", str(path), "ART.tables", value, "0 or more"))
            continue
        found[_COUNTED.sub("", str(table.get("name"))).rpartition(".")[2]] = float(table["area"])
    raise_all(faults, EnergyTableError)
    return found


def read_ert(path: Path, data: Any = None) -> dict[str, dict[str, float]]:
    """Return the largest energy in pJ of each action by component name, from a file with an ``ERT``.

    ``data`` is what the file holds, where it was read before.

    Raises
    ------
    EnergyTableError
        Where the file holds no energy reference table of version 0.2, 0.3 or 0.4, two components have one name, or
        wires cost energy.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseAccelergyERT``.
    """
    data = read_yaml(path) if data is None else data
    top = data.get("ERT") if isinstance(data, Mapping) else None
    if not isinstance(top, Mapping):
        raise EnergyTableError(Fault("holds no energy reference table", str(path), allowed="a mapping under 'ERT'"))
    version, tables = str(top.get("version", "")), top.get("tables")
    if version not in ("0.2", "0.3", "0.4"):
        raise EnergyTableError(Fault("unsupported version", str(path), "ERT.version", version, "0.2, 0.3, 0.4"))
    faults: list[Fault] = []
    result: dict[str, dict[str, float]] = {}
    names: dict[str, str] = {}
    tables = _components(tables)
    if not isinstance(tables, list):
        raise EnergyTableError(Fault("must be a list", str(path), "ERT.tables", tables))
    for index, component in enumerate(tables):
        if not isinstance(component, Mapping) or not isinstance(component.get("actions"), list):
            faults.append(Fault("needs a name and actions", str(path), f"ERT.tables[{index}]"))
            continue
        full = str(component.get("name"))
        name = short_name(full)
        if names.setdefault(name, full) != full:
            text = f"stands for {name} as {names[name]} does; Timeloop takes parts of both tables"
            faults.append(Fault(text, str(path), f"ERT.tables[{index}].name", full, "one table a name"))
        actions = result.setdefault(name, {})
        for action in component["actions"]:
            energy: Any = action.get("energy") if isinstance(action, Mapping) else None
            energy = _number(energy)
            wrong = isinstance(energy, bool) or not isinstance(energy, (int, float)) or not 0 <= energy < 1e12
            if wrong or "name" not in action:
                faults.append(Fault("is no action with an energy in pJ", str(path), f"ERT.tables[{index}]", action))
                continue
            done = str(action["name"])
            actions[done] = max(actions.get(done, 0.0), float(energy))
    for name in _WIRES:
        transfer_pj = result.pop(name, {_TRANSFER: 0.0}).get(_TRANSFER)
        if transfer_pj is None:
            faults.append(Fault(f"has no action {_TRANSFER}: Timeloop ends with an error", str(path), f"ERT.{name}"))
        elif transfer_pj:
            where = f"ERT.{name}.{_TRANSFER}"
            faults.append(Fault("energy of wires is not counted by the model", str(path), where, transfer_pj, "0"))
    raise_all(faults, EnergyTableError)
    return result


def _components(tables: Any) -> Any:
    """Return the tables as later versions list them, whichever form they have."""
    if not isinstance(tables, Mapping):
        return tables
    return [
        {"name": name, "actions": [{"name": a, **e} for a, given in actions.items() for e in _listed(given)]}
        for name, actions in tables.items()
        if isinstance(actions, Mapping)
    ]


def read_charges(path: Path, networks: Mapping[str, Network]) -> tuple[NetworkEnergy, ...]:
    """Return what a file with an ``ERT`` charges on networks; one that it charges nothing is left out.

    Raises
    ------
    EnergyTableError
        Where there is no table of a network, or several energies of an action whose multicast factors are not told.

    Source: Timeloop ``src/model/network-simple-multicast.cpp``, ``GetOpEnergyFromERT``.
    """
    listed = _components(read_yaml(path)["ERT"]["tables"])
    actions_of = {short_name(str(component["name"])): component["actions"] for component in listed}
    faults: list[Fault] = []
    found = []
    for name, network in networks.items():
        if not actions_of.get(name):
            text = "has no table of a network that levels name, where Timeloop ends"
            faults.append(Fault(text, str(path), name))
            continue
        entries: dict[str, list[tuple[Any, float]]] = {}
        for action in actions_of[name]:
            factor = (action.get("arguments") or {}).get(network.argument)
            entries.setdefault(str(action["name"]), []).append((factor, float(_number(action["energy"]))))
        wanted = {a: e for a, e in entries.items() if a == network.action or a.startswith(f"{network.action}_")}
        for action, pairs in wanted.items():
            if len(pairs) == 1:
                pairs[0] = (0, pairs[0][1])
            for factor, energy_pj in pairs:
                if not is_whole(factor):
                    text = "has several energies of an action, and no multicast_factor_argument tells which"
                    faults.append(Fault(text, str(path), f"{name}.{action}", energy_pj, "an argument of each"))
        table = NetworkEnergy(name, tuple((action, tuple(pairs)) for action, pairs in wanted.items()))
        found += [table] if table.takes else []
    raise_all(faults, EnergyTableError)
    return tuple(found)


def _number(value: Any) -> Any:
    """Return the number of a text such as ``7e-05``, as Accelergy 0.4 writes it; YAML 1.1 takes it for text."""
    return float(value) if isinstance(value, str) and _EXPONENT.fullmatch(value) else value


def _listed(given: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in (given if isinstance(given, list) else [given]) if isinstance(entry, Mapping)]


def short_name(full: str) -> str:
    """Return the level that Timeloop charges with the table of ``system.PE[0..3].buffer[0..1]``: here ``buffer``.

    Source: Timeloop ``src/model/topology.cpp``, ``ParseAccelergyERT``, which takes a last range off only where that
    starts with one digit.
    """
    dots = full.rfind("..")
    stem = full[: max(dots - 2, 0)] if dots >= 0 and full.rfind(".") == dots + 1 else full
    return stem.rpartition(".")[2]


def built_in_energy_pj(level: StorageLevel) -> float:
    """Return the energy of one vector access in pJ by Timeloop's built-in technology model.

    A DRAM costs 12.5 pJ a bit. An SRAM costs, for 16 bits, 1 pJ at 0.5 KB and 6 pJ at 100 KB, on a straight line; a
    wider one proportionally more; clusters share it.

    Source: Timeloop ``pat-public/src/pat/pat.cpp``, ``SRAMEnergy`` and ``DRAMEnergy``.
    """
    if level.is_dram:
        return 200.0 * level.word_bits * level.block_words / 16
    if not level.capacity_words:
        return 0.0
    width = level.word_bits * level.block_words * level.cluster_size
    height = -(-level.capacity_words // level.block_words)
    kilobytes = width * height / (8 * 1024)
    return ((6 - 1) / (100 - 0.5) * (kilobytes - 0.5) + 1) * (width / 16) / level.cluster_size


def to_ert(arch: Architecture, costs: EnergyCosts, *, later: bool = False) -> dict[str, Any]:
    """Return data of an ERT and an ART with which Timeloop charges ``costs`` and calls no estimator; areas are 0.

    ``later``: whether Timeloop since September 2023 is to read it.
    """
    tables = []
    for level, energy in zip(arch.levels, costs.levels, strict=True):
        tables.append((level.name, level.instances, energy.actions(later=later)))
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
