"""Numbers and tables as a reader sees them: SI units, few digits, a true minus sign; what columns are sorted by."""

import math
import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from jouleloop.units import PJ, energy_unit

_PREFIXES = {-15: "f", -12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}


def quantity(value: float | None, unit: str, digits: int = 4) -> str:
    """Return ``value`` in ``unit`` with an SI prefix; energies are given in pJ and shown in joules."""
    if value is None or not math.isfinite(value):
        return "–"
    unit = energy_unit() if unit == PJ else unit
    base, symbol = (value * 1e-12, "J") if unit == PJ else (value, unit)
    if base == 0:
        return f"0 {symbol}".strip()
    power = min(max(3 * math.floor(math.log10(abs(base)) / 3), -15), 12)
    shown = f"{base / 10.0**power:.{digits}g}"
    return f"{minus(shown)} {_PREFIXES[power]}{symbol}".strip()


def number(value: Any, digits: int = 4) -> str:
    """Return a plain number with ``digits`` significant digits; a dash where there is none."""
    if value is None or not math.isfinite(float(value)):
        return "–"
    if float(value).is_integer() and abs(float(value)) < 1e15:
        return minus(f"{int(value):,}")
    return minus(f"{float(value):.{digits}g}")


def percent(value: float | None, digits: int = 3) -> str:
    """Return a share in percent; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return minus(f"{100 * value:.{digits}g}") + "\N{NARROW NO-BREAK SPACE}%"


def minus(text: str) -> str:
    """Return ``text`` with the minus sign of print."""
    return text.replace("-", "−")


def compact(values: Any, digits: int = 7) -> list[int | float | None]:
    """Return numbers for JSON: to ``digits`` significant digits, whole ones as integers, missing ones as None."""
    found: list[int | float | None] = []
    for value in values:
        if value is None or value is not value or not math.isfinite(value):
            found.append(None)
            continue
        rounded = float(f"{float(value):.{digits}g}")
        found.append(int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded)
    return found


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and what its column is sorted by; numbers stand to the right."""

    text: str
    sort: str | float | None = None

    @property
    def numeric(self) -> bool:
        """Whether the cell is a number, or the dash in a number's place."""
        return isinstance(self.sort, float) or self.text == "–"


@dataclass(frozen=True)
class PlainTable:
    """A table with a caption that says what it answers; ``note`` where rows are not shown."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @property
    def title(self) -> str:
        """The first sentence of the caption, which stands for the table where it is folded."""
        return re.split(r"(?<=[?.])\s", self.caption, maxsplit=1)[0]


def text(value: Any) -> Cell:
    """Return a cell of words."""
    shown = "" if value is None or (not isinstance(value, (list, dict)) and pd.isna(value)) else str(value)
    return Cell(shown, shown)


def figure(value: Any, unit: str = "", digits: int = 4) -> Cell:
    """Return a cell of a number, in ``unit`` with an SI prefix where one is given."""
    if value is None or pd.isna(value):
        return Cell("–", None)
    return Cell(quantity(float(value), unit, digits) if unit else number(value, digits), float(value))
