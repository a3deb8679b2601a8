"""One bound as data: its value and unit, where it is stated, and whether its assumptions hold here."""

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Assumption:
    """A condition under which a theorem is stated, and whether the given parameters meet it."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Bound:
    """A lower bound, an upper bound or an exact value from one of the papers."""

    name: str
    """Short machine name, such as ``general_lower_bound``."""
    source: str
    """Paper and place, such as ``002 eq. (20)``."""
    value: int | float | Fraction | None
    """The value in ``unit``; None where it is undefined for these parameters."""
    unit: str
    """Such as ``bits``, ``words``, ``pJ`` or ``accesses``."""
    assumptions: tuple[Assumption, ...] = field(default=())
    """Every condition of the statement with whether it holds."""
    note: str = ""
    """What a reader must know to use the number."""

    @property
    def assumptions_hold(self) -> bool:
        """Whether every assumption holds."""
        return all(assumption.holds for assumption in self.assumptions)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data; an exact fraction becomes an int where whole, else a float beside ``exact``."""
        record: dict[str, Any] = {
            "name": self.name,
            "source": self.source,
            "value": self.value,
            "unit": self.unit,
            "assumptions_hold": self.assumptions_hold,
            "assumptions": [asdict(assumption) for assumption in self.assumptions],
            "note": self.note,
        }
        if isinstance(self.value, Fraction):
            whole = self.value.denominator == 1
            record["value"] = int(self.value) if whole else float(self.value)
            record["exact"] = str(self.value)
        return record
