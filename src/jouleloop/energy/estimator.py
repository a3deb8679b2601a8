"""The protocol of energy estimators, and the energies of an architecture from the first that knows each part."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jouleloop.arch.architecture import Architecture, ComputeLevel, StorageLevel
from jouleloop.energy.costs import EnergyCosts, LevelEnergy, NetworkEnergy
from jouleloop.energy.ert import LATER_ACTIONS, STORAGE_ACTIONS, built_in_energy_pj, read_areas, read_charges, read_ert
from jouleloop.energy.tables import COMPUTE_ACTIONS, EnergyTable, read_table, stated_energy
from jouleloop.errors import EnergyTableError, Fault, raise_all
from jouleloop.files import read_yaml

Node = StorageLevel | ComputeLevel


@dataclass(frozen=True)
class Estimate:
    """Energy in pJ of each action of one component, where it comes from, and what the estimator warned of."""

    energy_pj: Mapping[str, float]
    source: str
    warnings: tuple[str, ...] = ()
    file: str = ""
    """File that holds the energies; empty where they are computed."""
    area_um2: float | None = None
    """Area of one instance; None where it is not known."""


@dataclass(frozen=True)
class Refusal:
    """Why an estimator has no energy for a component."""

    reason: str


class Estimator(Protocol):
    """Something that knows the energy of components."""

    @property
    def kind(self) -> str:
        """Which estimator it is: one of `jouleloop.energy.choice.ESTIMATORS`."""

    @property
    def name(self) -> str:
        """Name in results."""

    def digest(self) -> str:
        """Return a hash of everything that its answers depend on besides the component."""

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the energies of a component's actions, or why there are none."""


@dataclass(frozen=True)
class TableEstimator:
    """Energies from a reference table: exactly what stands there or nothing."""

    table: EnergyTable

    @classmethod
    def read(cls, path: Path) -> "TableEstimator":
        """Return the estimator for the table in a file."""
        return cls(read_table(path))

    kind: str = "tables"

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.table.name

    def digest(self) -> str:
        """Return a hash of the table's content."""
        text = repr((self.table.name, self.table.entries, sorted(self.table.defaults.items())))
        return hashlib.sha256(text.encode()).hexdigest()

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the energies of the entry whose attributes the component has."""
        entry = self.table.find(node)
        if entry is None:
            return Refusal("no entry; nearest: " + (" | ".join(self.table.nearest(node)) or "the table is empty"))
        stores = isinstance(node, StorageLevel)
        absent = [action for action in ("read", "write") if stores and action not in entry.energy_pj]
        if absent:
            return Refusal(f"{entry} has no action {' and no action '.join(absent)}")
        reason = f" ({entry.reason})" if entry.reason else ""
        return Estimate(entry.energy_pj, f"{self.name}: {entry}{reason}", area_um2=entry.area_um2)


@dataclass(frozen=True)
class ErtEstimator:
    """Energies from an energy reference table that Accelergy wrote, by the names of its components."""

    name: str
    energy_pj: Mapping[str, Mapping[str, float]]
    file: str = ""
    kind: str = "tables"
    area_um2: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, data: Any) -> "ErtEstimator":
        """Return the estimator for the table in a file, which holds ``data``."""
        name = path.name.removesuffix(path.suffix)
        return cls(name, read_ert(path, data), str(path), area_um2=read_areas(path, data))

    def digest(self) -> str:
        """Return a hash of the table's content."""
        return hashlib.sha256(
            repr(sorted((k, sorted(v.items())) for k, v in self.energy_pj.items())).encode()
        ).hexdigest()

    def estimate(self, node: Node) -> Estimate | Refusal:
        """Return the energies of the component of that name."""
        found = self.energy_pj.get(node.name)
        if found is None:
            return Refusal(f"no component of that name; it has {', '.join(sorted(self.energy_pj))}")
        area_um2 = self.area_um2.get(node.name)
        return Estimate(found, f"{self.name}: {node.name}", file=self.file, area_um2=area_um2)


def read_estimator(path: Path) -> TableEstimator | ErtEstimator:
    """Return the estimator for a file with a reference table of ours, or an ERT as Accelergy writes it."""
    data = read_yaml(path)
    return ErtEstimator.of(path, data) if isinstance(data, Mapping) and "ERT" in data else TableEstimator.read(path)


def estimate_costs(
    arch: Architecture, estimators: Sequence[Estimator], *, warn: Callable[[str], object] | None = None
) -> EnergyCosts:
    """Return the energies of an architecture, each component from the first estimator that knows it.

    A storage level is charged its reads, fills and updates by the first of their `STORAGE_ACTIONS` that is known;
    where it has none, by what Timeloop charges then, the number of its built-in technology model. Compute is the first
    of `COMPUTE_ACTIONS`. No other action costs anything in Timeloop.

    Parameters
    ----------
    warn
        Called with every warning of an estimator, after the component's name; by default they are logged.

    Raises
    ------
    EnergyTableError
        Where no estimator knows a component: every one is listed with what each estimator said; or where an update of
        a level costs another energy than a fill, which the model charges alike.

    Source: Timeloop ``include/model/topology.hpp``, ``storageOperationMappings``; ``src/model/buffer.cpp``,
    ``UpdateOpEnergyViaERT``.
    """
    faults: list[Fault] = []
    levels: list[LevelEnergy] = []
    answered: list[str] = []
    tell = warn or logging.getLogger("jouleloop.energy").warning
    if _counted(estimators):
        faults += _uncounted(arch, estimators)
    for level in arch.levels:
        found = _level(level, estimators, faults, tell, answered)
        if found is not None:
            levels.append(found)
    networks = _charges(arch, estimators, faults)
    compute_pj, compute_source, compute_kind = 0.0, "", ""
    units_um2: float | None = None
    answer = _ask(arch.compute, estimators, faults, tell, answered, COMPUTE_ACTIONS)
    if answer is not None:
        estimate, compute_kind = answer
        units_um2 = estimate.area_um2
        action = next(name for name in COMPUTE_ACTIONS if name in estimate.energy_pj)
        compute_pj, compute_source = estimate.energy_pj[action], f"{estimate.source} {action}"
    raise_all(faults, EnergyTableError)
    # Named after those that answered, in the order in which they were asked.
    name = "+".join(e.name for e in estimators if e.name in answered) or "+".join(e.name for e in estimators)
    asked = tuple((e.kind, e.name, e.digest()) for e in estimators)
    areas = [*((level.area_um2, node.instances) for level, node in zip(levels, arch.levels, strict=True))]
    area_um2 = _sum_of([*areas, (units_um2, arch.compute.instances)])
    return EnergyCosts(
        name, tuple(levels), compute_pj, compute_source, compute_kind, asked, area_um2, networks, units_um2
    )


def _sum_of(areas: Sequence[tuple[float | None, int]]) -> float | None:
    """Return the area of all instances, from that of one and how many there are; None where one is not known.

    Source: Timeloop ``src/model/topology.cpp``, ``Topology::ComputeStats``; ``BufferLevel::Area``.
    """
    total_um2 = 0.0
    for area_um2, instances in areas:
        if area_um2 is None:
            return None
        total_um2 += area_um2 * instances
    return total_um2


def _counted(estimators: Sequence[Estimator]) -> bool:
    """Whether accesses are counted, in words instead of pJ."""
    return any(estimator.kind == "counts" for estimator in estimators)


def _uncounted(arch: Architecture, estimators: Sequence[Estimator]) -> list[Fault]:
    """Return a fault for all that takes energy in pJ beside accesses that are counted in words."""
    text = "accesses are counted in words, so nothing may take energy in pJ"
    faults = [
        Fault(text, field="energy", value=e.name, allowed="counts alone") for e in estimators if e.kind != "counts"
    ]
    wired = [level.name for level in arch.levels if level.wired]
    return faults + [Fault(text, arch.name, f"{name}: its network", allowed="no energy of wires") for name in wired]


def _charges(arch: Architecture, estimators: Sequence[Estimator], faults: list[Fault]) -> tuple[NetworkEnergy, ...]:
    """Return what the first energy reference table charges on networks; without one they are free."""
    path = next((Path(one.file) for one in estimators if isinstance(one, ErtEstimator) and one.file), None)
    if path is None or not arch.charged_networks:
        return ()
    try:
        found = read_charges(path, arch.charged_networks)
    except EnergyTableError as error:
        faults += error.faults
        return ()
    for table in found:
        outer = [level.name for level in arch.levels if any(one.name == table.name for one in level.networks)]
        if len(outer) > 1:
            text = f"stands at the levels {', '.join(outer)}, of which Timeloop counts the last"
            faults.append(Fault(text, str(path), table.name, allowed="a network for every level"))
    return found


def _ask(
    node: Node,
    estimators: Sequence[Estimator],
    faults: list[Fault],
    tell: Callable[[str], object],
    answered: list[str],
    wanted: Sequence[str] = (),
) -> tuple[Estimate, str] | None:
    said: list[str] = []
    for estimator in estimators:
        answer = estimator.estimate(node)
        if isinstance(answer, Refusal):
            said.append(f"{estimator.name}: {answer.reason}")
        elif wanted and not any(action in answer.energy_pj for action in wanted):
            said.append(f"{estimator.name}: has none of the actions {', '.join(wanted)}")
        else:
            for warning in answer.warnings:
                tell(f"{node.name}: {warning}")
            answered.append(estimator.name)
            return answer, estimator.kind
    asked = "; ".join(said) or "no estimator was asked"
    text = f"no estimator knows the energy of class {node.klass}: {asked}"
    allowed = "a table that lists it, such as --energy mine.yaml; or --energy built-in, --energy counts"
    faults.append(Fault(text, None, node.name, allowed=allowed))
    return None


def _level(
    level: StorageLevel,
    estimators: Sequence[Estimator],
    faults: list[Fault],
    tell: Callable[[str], object],
    answered: list[str],
) -> LevelEnergy | None:
    stated = stated_energy(level)
    if stated is not None and not _counted(estimators):
        return stated
    answer = _ask(level, estimators, faults, tell, answered)
    if answer is None:
        return None
    estimate, kind = answer
    source, built_in = estimate.source, built_in_energy_pj(level)
    absent = [operation for operation, names in STORAGE_ACTIONS.items() if not set(names) & set(estimate.energy_pj)]
    if absent:
        names = ", ".join(f"{operation}s" for operation in absent)
        source += f" (no action for {names}, so Timeloop's built-in technology model)"
    charged = _charged(estimate.energy_pj, STORAGE_ACTIONS, built_in)
    later = _charged(estimate.energy_pj, LATER_ACTIONS, built_in)
    read, fill, update = charged
    if update != fill:
        text = f"another energy than a fill's, {fill} pJ: the model charges both alike"
        faults.append(Fault(text, estimate.file or estimate.source, f"{level.name}.random_update", update, str(fill)))
    leak_pj = estimate.energy_pj.get("leak", 0.0)
    more = None if later == charged else later
    return LevelEnergy(level.name, read, fill, source, leak_pj, kind, more, estimate.area_um2)


def _charged(
    energy_pj: Mapping[str, float], actions: Mapping[str, Sequence[str]], built_in_pj: float
) -> tuple[float, ...]:
    """Return the energy in pJ of a read, fill and update: the first of its actions, or the built-in number."""
    return tuple(
        next((energy_pj[name] for name in names if name in energy_pj), built_in_pj) for names in actions.values()
    )
