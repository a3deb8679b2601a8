"""What energies are in: picojoules, or words where none are known and accesses are counted instead.

All code names energies by picojoules. Where a run counts words, its tables, figures and page say so: files are written
inside `energies_in`, which renames columns and rewords sentences at the few places where they leave the program.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

PJ, WORDS = "pJ", "words"
#: Name of the estimator that knows no energies, and of the table of what it counts.
COUNTS = "counts"

_unit: ContextVar[str] = ContextVar("unit of energies", default=PJ)

#: How names of energies end, and what stands there where accesses are counted.
_NAMED, _COUNTED = (re.compile(rf"(?<![a-z]){end}(?=_per_(?:mac|word)$|$)") for end in ("pj", "access_words"))
_SAID = (
    (re.compile(r"\benergies per access\b"), "words per access"),
    (re.compile(r"\b[pnµm]?J\b|\bjoules\b"), WORDS),
    (re.compile(r"\benergies\b"), "access counts"),
    (re.compile(r"\bEnergies\b"), "Access counts"),
    (re.compile(r"\benergy\b"), "access count"),
    (re.compile(r"\bEnergy\b"), "Access count"),
)


def unit_of(tables: Iterable[str]) -> str:
    """Return what energies by tables of these names are in."""
    return WORDS if set(tables) == {COUNTS} else PJ


def amount(value_pj: float, unit: str) -> str:
    """Return an energy as people read it: in µJ, or in words where those are counted."""
    return f"{value_pj / 1e6:,.4g} µJ" if unit == PJ else f"{value_pj:,.0f} {unit}"


def energy_unit() -> str:
    """Return the unit of all energies that are written now."""
    return _unit.get()


@contextmanager
def energies_in(unit: str) -> Iterator[None]:
    """Write energies in ``unit``, ``pJ`` or ``words``, whatever is written inside."""
    before = _unit.set(unit)
    try:
        yield
    finally:
        _unit.reset(before)


def written(name: str) -> str:
    """Return what a column, or a response, of energies is called in files."""
    return _NAMED.sub("access_words", name) if energy_unit() == WORDS else name


def renamed(data: Any) -> Any:
    """Return plain data, the keys of its energies called as in files."""
    if isinstance(data, dict):
        return {written(key): renamed(value) for key, value in data.items()}
    return [renamed(value) for value in data] if isinstance(data, (list, tuple)) else data


def read(name: str) -> str:
    """Return what a column, or a response, of a file is called here, whichever unit the file is in."""
    return _COUNTED.sub("pj", name)


def said(text: str) -> str:
    """Return a sentence about energies as one about what is counted."""
    if energy_unit() == WORDS:
        for pattern, words in _SAID:
            text = pattern.sub(words, text)
    return text
