"""Energy per action of every level of one architecture: all that the model needs to turn counts into pJ."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LevelEnergy:
    """Energy of one (vector) access to a storage level, in pJ.

    Attributes
    ----------
    read_pj
        Charged per vector read.
    write_pj
        Charged per vector fill and per vector update.
    source
        The estimator and table entry it came from.
    leak_pj
        Leakage of one instance in one cycle; versions of Timeloop before 2024 leave it out.
    """

    level: str
    read_pj: float
    write_pj: float
    source: str
    leak_pj: float = 0.0


@dataclass(frozen=True)
class EnergyCosts:
    """Energy per action of one architecture.

    Attributes
    ----------
    table
        Name of the energy table or estimator.
    levels
        One entry a storage level, outermost first.
    compute_pj
        Energy of one multiply-accumulate operation in pJ.
    """

    table: str
    levels: tuple[LevelEnergy, ...]
    compute_pj: float
    compute_source: str

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data: the identity of the energies for caches."""
        numbers: dict[str, Any] = {
            "table": self.table,
            "levels": [[level.level, level.read_pj, level.write_pj] for level in self.levels],
            "compute_pj": self.compute_pj,
        }
        if any(level.leak_pj for level in self.levels):
            numbers["leak_pj"] = [level.leak_pj for level in self.levels]
        return numbers
