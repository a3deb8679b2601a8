"""What every column of a table holds: the definitions that writers and readers of tables follow.

``columns.csv`` declares the columns of all tables of a study, in their order, and ``tables.csv`` the tables.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

Kind = Literal["text", "whole", "number", "truth", "any"]


@dataclass(frozen=True)
class Column:
    """One column, or a family of columns."""

    name: str
    """As in the table; ``<…>`` stands for any text, so that ``<level>_<data space>_pj`` is a family."""
    kind: Kind
    """``text``, ``whole`` (numbers that may be missing), ``number``, ``truth``; ``any`` is decided by the values."""
    unit: str
    """Such as ``pJ``, ``words``; empty for text and shares."""
    meaning: str
    """One sentence for the reader of the table."""
    exported: bool = True
    """Whether the CSV has it; Parquet has all."""

    @property
    def is_family(self) -> bool:
        """Whether it stands for several columns."""
        return "<" in self.name

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(".+".join(map(re.escape, re.split(r"<[^>]+>", self.name))), re.DOTALL)

    def covers(self, name: str) -> bool:
        """Whether ``name`` is this column or one of the family."""
        return self._pattern.fullmatch(name) is not None


@dataclass(frozen=True)
class Layout:
    """The columns of one table."""

    file: str
    """Its file below ``results/`` without ending; ``<…>`` where there are several."""
    meaning: str
    """What a row is."""
    columns: tuple[Column, ...]
    open: bool = False
    """Whether it may hold columns that nothing defines; their values decide what they are."""

    @cached_property
    def _known(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns if not column.is_family}

    def column(self, name: str) -> Column | None:
        """Return what defines the column ``name``: itself before any family; None where nothing does."""
        families = (column for column in self.columns if column.is_family and column.covers(name))
        found = self._known.get(name) or next(families, None)
        return Column(name, "any", "", "") if found is None and self.open else found


#: The columns of all tables.
DECLARED = Path(__file__).with_name("columns.csv")


@cache
def declared() -> Mapping[str, Layout]:
    """Return the declared tables by their files."""
    columns: dict[str, list[Column]] = {}
    for row in _rows("columns"):
        column = Column(row["column"], row["type"], row["unit"], row["meaning"], row["exported"] == "yes")
        for table in row["tables"].split():
            columns.setdefault(table, []).append(column)
    return {row["table"]: Layout(row["table"], row["meaning"], tuple(columns[row["table"]])) for row in _rows("tables")}


def _rows(name: str) -> list[dict[str, Any]]:
    with Path(__file__).with_name(f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
