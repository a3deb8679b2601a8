"""Sweeps of a capacity on the page: each curve in short, its figure, and the steps with their mappings."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from jouleloop.report.figures_capacity import capacity_figure
from jouleloop.report.html.numbers import Cell, PlainTable, figure, text
from jouleloop.report.html.picture import Picture, picture, plain
from jouleloop.report.html.sections import MOST_ROWS, not_all
from jouleloop.report.html.sources import ReportTables

_STEPS = "From which capacity on has a layer which value, and by which mapping? All: capacity.csv."
_STEP_COLUMNS = ("sweep", "architecture", "layer", "words", "value", "proven", "theory_ratio", "mapping")
#: Pictures of the page.
_MOST_PICTURES = 12


@dataclass(frozen=True)
class CapacitySection:
    """What the page shows of sweeps of a capacity."""

    curves: PlainTable
    pictures: tuple[Picture, ...]
    steps: PlainTable


def capacity_section(tables: ReportTables) -> CapacitySection | None:
    """Return the section of sweeps of a capacity, or None without any."""
    steps, curves = tables.capacity, tables.capacity_summary
    if steps is None or curves is None or curves.empty:
        return None
    places = curves[["sweep", "architecture"]].drop_duplicates().itertuples(index=False)
    drawn = (
        capacity_figure(steps[steps["sweep"] == sweep], curves[curves["sweep"] == sweep], sweep, architecture)
        for sweep, architecture in list(places)[:_MOST_PICTURES]
    )
    return CapacitySection(
        _curves(curves),
        tuple(picture(one) for one in drawn if one is not None),
        plain(_STEPS, steps[list(_STEP_COLUMNS)], MOST_ROWS),
    )


def _curves(curves: pd.DataFrame) -> PlainTable:
    numbers = ("steps", "words", *(f"words_within_{percent}_percent" for percent in (10, 5, 1, 0)), "least_value")
    rows = tuple(
        (
            *(text(row[name]) for name in ("sweep", "architecture", "layer", "level", "objective")),
            *(figure(row[name]) for name in numbers),
            text(row["unit"]),
            _exponent(row),
            text("yes" if row["proven"] is True else row["reason"] or "no"),
        )
        for _, row in curves.head(MOST_ROWS).astype(object).iterrows()
    )
    return PlainTable(
        "How large a memory does a layer deserve? Least capacities, in words that a tile may fill, within some percent "
        "of the least value; the largest that helps is that at 0 %. Exponent of DRAM words between the corners, with "
        "its 95 % interval, beside theory's.",
        (
            *("Sweep", "Architecture", "Layer", "Level", "Objective", "Steps", "From", "Within 10 %", "5 %", "1 %"),
            *("Largest that helps", "Least value", "Unit", "Exponent", "Proven"),
        ),
        rows,
        not_all(len(curves), "curves", "capacity_summary"),
    )


def _exponent(row: Any) -> Cell:
    if pd.isna(row["exponent"]):
        return Cell("–", None)
    low, high, expected = (row[f"exponent_{name}"] for name in ("low", "high", "expected"))
    shown = f"{row['exponent']:.3f} [{low:.3f}, {high:.3f}], theory {expected:g}: {row['exponent_agrees']}"
    return Cell(shown, float(row["exponent"]))
