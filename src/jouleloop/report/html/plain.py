"""Tables as the page shows them: cells of words and numbers, and what they are sorted by."""

import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from jouleloop.report.html.numbers import number, quantity


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
