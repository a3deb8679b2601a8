"""What one mapping costs: accesses, energy and cycles per level and data space, as frozen plain data."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DataStats:
    """Counts of one data space at one level; per instance unless said otherwise."""

    tile_words: int
    partition_words: float
    """Words held at a time; words ever seen by one instance. By exact counts these and all accesses are means, which
    need not be whole."""
    instances: int
    clusters: int
    """Utilized instances, and utilized clusters of instances."""
    reads: float
    updates: float
    fills: float
    """Scalar accesses in words."""
    reductions: float
    """Temporal reductions."""
    energy_pj: float
    """Total over all instances, in pJ."""


@dataclass(frozen=True)
class LevelStats:
    """One storage level; ``data`` holds only the data spaces kept there."""

    name: str
    cycles: int
    throttle: float
    data: dict[str, DataStats] = field(hash=False)

    @property
    def energy_pj(self) -> float:
        """Energy over all instances and data spaces, in pJ."""
        return sum(stats.energy_pj for stats in self.data.values())


@dataclass(frozen=True)
class NetworkStats:
    """Traffic of one data space from a level to the next inner one."""

    fanout: int
    ingress: tuple[tuple[int, int, float], ...]
    """(multicast factor, scatter factor, words) of each group of transfers."""
    link_transfers: float
    reductions: float
    energy_pj: float = 0.0
    """Over all instances, in pJ."""
    kind: str = "mesh"
    """What the network is, see `jouleloop.arch.architecture.Network`; a tree tells its additions alone, as does
    Timeloop, and what a table charges has no links."""


@dataclass(frozen=True)
class Evaluation:
    """The full answer of the model for one mapping.

    Attributes
    ----------
    levels
        Storage levels, outermost first.
    networks
        By ``outer<==>inner`` and data space, for every level that fans out or whose network takes energy; what words
        come back on, where that is another network, by ``outer<==>inner back``.
    compute_instances, computes, compute_energy_pj
        Utilized units, multiply-accumulate operations, their energy in pJ.
    cycles, utilization, energy_pj
        Totals.
    """

    levels: tuple[LevelStats, ...]
    networks: dict[str, dict[str, NetworkStats]] = field(hash=False)
    compute_name: str
    compute_instances: int
    computes: int
    compute_cycles: int
    compute_energy_pj: float
    cycles: int
    utilization: float
    energy_pj: float

    @property
    def data_energy_pj(self) -> float:
        """Energy of all storage accesses in pJ: total less compute."""
        return sum(level.energy_pj for level in self.levels)

    def level(self, name: str) -> LevelStats:
        """Return the statistics of the level called ``name``."""
        return next(level for level in self.levels if level.name == name)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        # By hand: `dataclasses.asdict` copies deeply, which takes a tenth of the time of a whole search.
        plain = dict(vars(self))
        plain["levels"] = tuple(
            vars(level) | {"data": {name: dict(vars(stats)) for name, stats in level.data.items()}}
            for level in self.levels
        )
        plain["networks"] = {
            name: {space: dict(vars(stats)) for space, stats in spaces.items()}
            for name, spaces in self.networks.items()
        }
        return plain
