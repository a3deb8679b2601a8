"""The points that the page charts: of a large run evenly spaced ones, whose rows alone are in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.columns import read_parts
from jouleloop.layouts import Layout
from jouleloop.parquet import PART_ROWS, Where
from jouleloop.stats.columns import RESIDUALS
from jouleloop.stats.table import IDENTIFIERS, SETTINGS

#: What tells the tests of a sweep apart, and what is said of all points of a large run.
GROUP = ["sweep", "architecture", "engine", "energy_table"]
OF_ALL = {*IDENTIFIERS, *SETTINGS, "table_version", "total_pj", "data_pj", "count", "optimal", "lower_bound_pj"}

MOST_POINTS = PART_ROWS
"""Points of all sweeps together; beyond, every sweep and architecture shows evenly spaced sizes."""


@dataclass(frozen=True)
class Charted:
    """The charted points of a large run."""

    layers: Mapping[tuple[str, str], set[str]]
    """By sweep and architecture."""
    total: int
    """How many points were tested."""

    def rows(self, path: Path, layout: Layout, where: Where | None = None) -> pd.DataFrame:
        """Return the rows of a Parquet table that belong to these points."""
        found = []
        for part in read_parts(path, layout, where):
            names = zip(part["sweep"], part["architecture"], part["layer"], strict=True)
            found.append(part[[layer in self.layers.get((sweep, arch), ()) for sweep, arch, layer in names]])
        return pd.concat(found, ignore_index=True)


def charted_points(residuals: Path, first: Mapping[tuple[str, ...], str]) -> Charted:
    """Choose the points that are charted from the table of residuals.

    ``first`` is the first response of each test by `GROUP`: its points stand for those of all.
    """
    sizes: dict[tuple[str, ...], list[pd.DataFrame]] = {key: [] for key in first}
    wanted = {*GROUP, "response", "layer", "variable"}
    for part in read_parts(residuals, RESIDUALS, {"response": set(first.values())}, wanted.__contains__):
        for key, rows in part.groupby([*GROUP, "response"], sort=False):
            group = tuple(map(str, key[:-1]))
            if first.get(group) == key[-1]:
                sizes[group].append(rows[["variable", "layer"]])
    total = sum(len(rows) for parts in sizes.values() for rows in parts)
    layers: dict[tuple[str, str], set[str]] = {}
    for group, parts in sizes.items():
        points = pd.concat(parts or [pd.DataFrame(columns=["variable", "layer"])], ignore_index=True)
        points = points.sort_values(["variable", "layer"], kind="stable")
        kept = even(len(points), max(50, int(min(1.0, MOST_POINTS / max(1, total)) * len(points))))
        layers.setdefault((group[0], group[1]), set()).update(points["layer"].iloc[kept])
    return Charted(layers, total)


def even(length: int, wanted: int) -> list[int]:
    """Return so many evenly spaced positions, the first and the last among them."""
    if wanted >= length:
        return list(range(length))
    return sorted({int(i) for i in np.linspace(0, length - 1, wanted).round()})


def select(table: pd.DataFrame, key: Iterable[Any]) -> pd.DataFrame:
    """Return the rows of one of `GROUP`."""
    match = np.ones(len(table), dtype=bool)
    for name, value in zip(GROUP, key, strict=True):
        match &= (table[name].fillna("") == ("" if pd.isna(value) else value)).to_numpy()
    return table[match]
