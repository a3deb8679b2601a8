"""Numbers as a reader sees them: SI units, few digits, a true minus sign."""

import math
from typing import Any

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
