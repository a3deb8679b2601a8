"""Energies from reference tables: component class and attributes to energy per action, nothing guessed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jouleloop.arch.architecture import ComputeLevel, StorageLevel
from jouleloop.arch.attributes import canonical
from jouleloop.arch.tree_v04 import DUMMY_CLASS
from jouleloop.energy.costs import LevelEnergy
from jouleloop.energy.ert import is_area
from jouleloop.errors import EnergyTableError, Fault, raise_all, unknown
from jouleloop.files import read_yaml

#: Names under which Timeloop looks the energy of one multiply-accumulate up, in this order
#: (``include/model/topology.hpp``, ``arithmeticOperationMappings``).
COMPUTE_ACTIONS = ("mac_random", "mult_random", "mac", "mult", "compute")

_TABLE_KEYS = ("version", "name", "units", "charge", "provenance", "defaults", "components")
_ENTRY_KEYS = ("class", "attributes", "measured_as", "area_um2", "actions", "charged", "charged_because")

#: Attributes that mean the same in the v0.3 and the v0.4 component classes.
_SAME = (("memory_depth", "depth"), ("memory_width", "width"), ("n_ports", "num_ports"), ("n_rdwr_ports", "n_ports"))


@dataclass(frozen=True)
class TableEntry:
    """One component of a table."""

    klass: str
    attributes: Mapping[str, Any]
    """Values that a component's attributes must have."""
    energy_pj: Mapping[str, float]
    """Energy charged by action, in pJ."""
    measured_as: str = ""
    reason: str = ""
    """Why something else than the table's own number is charged; empty where it is not."""
    area_um2: float | None = None
    """Area of one; None where the table does not say."""

    def __str__(self) -> str:
        return f"{self.klass}({', '.join(f'{key}={value}' for key, value in self.attributes.items())})"


@dataclass(frozen=True)
class EnergyTable:
    """A table of energies per action, with the attributes that apply where an architecture gives none."""

    name: str
    entries: tuple[TableEntry, ...]
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def find(self, node: StorageLevel | ComputeLevel) -> TableEntry | None:
        """Return the entry for a component, or None."""
        return next((e for e in self.entries if e.klass == node.klass and not self.differences(e, node)), None)

    def differences(self, entry: TableEntry, node: StorageLevel | ComputeLevel) -> list[str]:
        """Return how a component differs from an entry, one text an attribute."""
        given = known_attributes(node, self.defaults.get(entry.klass, {}))
        texts = [] if entry.klass == node.klass else [f"class {node.klass}"]
        for key, value in entry.attributes.items():
            mine = given.get(key)
            if not _same(mine, value):
                texts.append(f"{key} {'not given' if mine is None else mine}, not {value}")
        return texts

    def nearest(self, node: StorageLevel | ComputeLevel, count: int = 3) -> list[str]:
        """Return the entries that differ least from a component, each with its differences."""
        ranked = sorted(
            (entry.klass != node.klass, len(self.differences(entry, node)), index)
            for index, entry in enumerate(self.entries)
        )
        close = [self.entries[index] for other, _, index in ranked if not other] or [
            self.entries[index] for _, _, index in ranked
        ]
        return [f"{entry}: {'; '.join(self.differences(entry, node))}" for entry in close[:count]]


def known_attributes(node: StorageLevel | ComputeLevel, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a component's attributes under the names that tables use, defaults filled in."""
    given = canonical(node.attributes)
    for name, other in _SAME:
        if given.get(name) is None and given.get(other) is not None:
            given[name] = given[other]
    given = {**defaults, **{key: value for key, value in given.items() if value is not None}}
    given["word_bits"] = node.word_bits
    if isinstance(node, StorageLevel):
        given["block_words"], given["cluster_size"] = node.block_words, node.cluster_size
    return given


def _same(mine: Any, wanted: Any) -> bool:
    if isinstance(mine, (int, float)) and isinstance(wanted, (int, float)):
        return mine == wanted
    return str(mine).strip().lower().removesuffix("nm") == str(wanted).strip().lower().removesuffix("nm")


def read_table(path: Path) -> EnergyTable:
    """Return the energy table in a YAML file.

    Raises `EnergyTableError` where the file is no such table; all faults are listed.
    """
    data = read_yaml(path)
    source = str(path)
    top = data.get("energy_table") if isinstance(data, dict) else None
    if not isinstance(top, dict):
        raise EnergyTableError(Fault("is no energy table", source, allowed="a mapping under 'energy_table'"))
    faults = _strange(top, _TABLE_KEYS, source, "energy_table")
    for key, wanted in (("version", 1), ("units", "pJ"), ("charge", "largest")):
        if top.get(key) != wanted:
            faults.append(Fault("is not supported", source, f"energy_table.{key}", top.get(key), str(wanted)))
    components = top.get("components")
    if not isinstance(components, list) or not components:
        faults.append(Fault("must be a list of components", source, "energy_table.components"))
        components = []
    defaults = top.get("defaults") or {}
    if not isinstance(defaults, dict):
        faults.append(Fault("must be a mapping", source, "energy_table.defaults", defaults))
        defaults = {}
    entries = [_entry(item, f"components[{index}]", source, faults) for index, item in enumerate(components)]
    raise_all(faults, EnergyTableError)
    return EnergyTable(
        str(top.get("name") or path.stem),
        tuple(entry for entry in entries if entry is not None),
        {str(key): dict(value) for key, value in defaults.items() if isinstance(value, dict)},
        top.get("provenance") or {},
    )


def _strange(given: dict[Any, Any], known: tuple[str, ...], source: str, where: str) -> list[Fault]:
    return [unknown(str(key), known, "key", source=source, field=where) for key in given if key not in known]


def _entry(item: Any, where: str, source: str, faults: list[Fault]) -> TableEntry | None:
    if not isinstance(item, dict):
        faults.append(Fault("must be a mapping", source, where, item))
        return None
    faults += _strange(item, _ENTRY_KEYS, source, where)
    klass, actions = item.get("class"), item.get("actions")
    if not isinstance(klass, str) or not isinstance(actions, dict):
        faults.append(Fault("needs a class and its actions", source, where))
        return None
    for key in ("attributes", "charged"):
        if not isinstance(item.get(key) or {}, dict):
            faults.append(Fault("must be a mapping", source, f"{where}.{key}", item[key]))
            return None
    area_um2 = item.get("area_um2")
    if area_um2 is not None and not is_area(area_um2):
        faults.append(Fault("is no area in um2", source, f"{where}.area_um2", area_um2, "0 or more"))
        return None
    energies: dict[str, float] = {}
    for action, value in [*actions.items(), *(item.get("charged") or {}).items()]:
        listed = value if isinstance(value, list) else [value]
        numbers: list[Any] = [entry.get("energy") if isinstance(entry, dict) else entry for entry in listed]
        bad = [n for n in numbers if isinstance(n, bool) or not isinstance(n, (int, float)) or not 0 <= n < 1e12]
        if bad or not numbers:
            faults.append(Fault("is no energy in pJ", source, f"{where}.{action}", bad[0] if bad else None))
            continue
        energies[str(action)] = float(max(numbers))
    return TableEntry(
        klass,
        dict(item.get("attributes") or {}),
        energies,
        str(item.get("measured_as") or ""),
        str(item.get("charged_because") or ""),
        None if area_um2 is None else float(area_um2),
    )


def stated_energy(level: StorageLevel) -> LevelEnergy | None:
    """Return the energies that need no estimator: those that the architecture states, or 0 for empty levels."""
    stated = canonical(level.attributes).get("vector_access_energy")
    if isinstance(stated, (int, float)) and not isinstance(stated, bool):
        return LevelEnergy(
            level.name, float(stated), float(stated), "attribute vector-access-energy", estimator="architecture"
        )
    if level.klass == DUMMY_CLASS:
        return LevelEnergy(level.name, 0.0, 0.0, "stores nothing", area_um2=0.0)
    return None
