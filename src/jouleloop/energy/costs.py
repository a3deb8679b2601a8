"""Energy per action of every level of one architecture: all that the model needs to turn counts into pJ."""

from dataclasses import dataclass
from typing import Any

from jouleloop.arch.architecture import Architecture, Network
from jouleloop.units import unit_of


@dataclass(frozen=True)
class LevelEnergy:
    """Energy of one (vector) access to a storage level, in pJ."""

    level: str
    read_pj: float
    """Charged per vector read."""
    write_pj: float
    """Charged per vector fill and per vector update."""
    source: str
    """The estimator and table entry it came from."""
    leak_pj: float = 0.0
    """Leakage of one instance in one cycle; versions of Timeloop before 2024 leave it out."""
    estimator: str = ""
    """What answered: ``tables``, ``interpolated``, ``accelergy``, ``built-in``, ``counts``, ``architecture`` for an
    energy stated there, empty for a level that stores nothing."""
    later_pj: tuple[float, ...] | None = None
    """What Timeloop 4 charges per read, fill and update, where that is not the same."""
    area_um2: float | None = None
    """Area of one instance; None where it is not known."""

    def actions(self, *, later: bool = False) -> list[tuple[str, float]]:
        """Return actions of an energy reference table by which Timeloop charges this, ``later`` Timeloop 4."""
        read_pj, fill_pj, update_pj = self.charged_pj(later=later)
        return [("read", read_pj), ("write", fill_pj), ("update", update_pj), ("leak", self.leak_pj)]

    def charged_pj(self, *, later: bool = False) -> tuple[float, ...]:
        """Return what is charged per read, fill and update, ``later`` by Timeloop 4."""
        return self.later_pj if later and self.later_pj else (self.read_pj, self.write_pj, self.write_pj)


@dataclass(frozen=True)
class NetworkEnergy:
    """What a table charges for transfers on a network."""

    name: str
    actions: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]
    """By action the energies [pJ] of a transfer, each with its multicast factor, 0 for any; the last that fits
    counts."""

    @property
    def takes(self) -> bool:
        """Whether any transfer costs energy."""
        return any(energy_pj for _, entries in self.actions for _, energy_pj in entries)

    def rows(self, network: Network, space: str) -> list[tuple[float, float]]:
        """Return what a data space is charged by: pairs of a multicast factor (0: any) and an energy [pJ].

        Source: Timeloop ``src/model/network-simple-multicast.cpp``, ``GetOpEnergyFromERT``.
        """
        action = f"{network.action}_{space}" if network.by_data_space else network.action
        entries = dict(self.actions).get(action, ())
        return [(float(multicast), float(energy_pj)) for multicast, energy_pj in entries]


@dataclass(frozen=True)
class EnergyCosts:
    """Energy per action of one architecture."""

    table: str
    """Name of the energy table or estimator."""
    levels: tuple[LevelEnergy, ...]
    """One entry a storage level, outermost first."""
    compute_pj: float
    """Energy of one multiply-accumulate operation in pJ."""
    compute_source: str
    compute_estimator: str = ""
    asked: tuple[tuple[str, str, str], ...] = ()
    """Estimators that were asked, in turn: kind, name and digest of the data behind it."""
    area_um2: float | None = None
    """Area of all instances of all components; None where one of them is not known."""
    networks: tuple[NetworkEnergy, ...] = ()
    """What the table charges on networks that it charges at all."""
    compute_area_um2: float | None = None
    """Area of one multiply-accumulate unit; None where it is not known."""

    def areas(self, arch: Architecture) -> list[dict[str, Any]]:
        """Return the area [um2] of one instance and of all, a record a component whose area is known."""
        known = [
            *((node.name, node.instances, one.area_um2) for node, one in zip(arch.levels, self.levels, strict=True)),
            (arch.compute.name, arch.compute.instances, self.compute_area_um2),
        ]
        return [
            {"component": name, "instances": instances, "area_um2": one_um2, "all_um2": one_um2 * instances}
            for name, instances, one_um2 in known
            if one_um2 is not None
        ]

    def wired(self, arch: Architecture) -> list[str]:
        """Return the levels below which a network takes energy, by statement or by table."""
        charged = {table.name for table in self.networks}
        return [one.name for one in arch.levels if one.wired or any(n.name in charged for n in one.networks)]

    @property
    def estimator(self) -> str:
        """Kinds of the estimators that answered, in the order of the components, such as ``tables+interpolated``."""
        found = [level.estimator for level in self.levels] + [self.compute_estimator]
        return "+".join(dict.fromkeys(kind for kind in found if kind))

    @property
    def unit(self) -> str:
        """Unit of all energies: words where none are known and accesses are counted."""
        return unit_of([self.estimator])

    def rows(self, compute_name: str = "compute") -> list[dict[str, Any]]:
        """Return every energy that is charged, and the estimator that produced it: a record a component and action."""
        records = []
        for level in self.levels:
            records += [
                {
                    "component": level.level,
                    "action": action,
                    "energy_pj": energy_pj,
                    "estimator": level.estimator,
                    "source": level.source,
                }
                for action, energy_pj in (("read", level.read_pj), ("write", level.write_pj))
            ]
        compute = {"component": compute_name, "action": "compute", "energy_pj": self.compute_pj}
        return [*records, {**compute, "estimator": self.compute_estimator, "source": self.compute_source}]

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data: the identity of the energies for caches."""
        numbers: dict[str, Any] = {
            "table": self.table,
            "levels": [[level.level, level.read_pj, level.write_pj] for level in self.levels],
            "compute_pj": self.compute_pj,
            "estimators": [list(entry) for entry in self.asked],
        }
        if any(level.leak_pj for level in self.levels):
            numbers["leak_pj"] = [level.leak_pj for level in self.levels]
        if self.networks:
            numbers["networks"] = [[table.name, table.actions] for table in self.networks]
        return numbers
