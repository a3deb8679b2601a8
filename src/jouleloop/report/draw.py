"""Draws kinds of figures of a run into files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from jouleloop.columns import write_table
from jouleloop.report.figures_architecture import architecture_figure
from jouleloop.report.registry import FigureKind
from jouleloop.report.run_tables import RunTables
from jouleloop.report.style import FORMATS, save_figure
from jouleloop.tables.layouts import VARIANTS
from jouleloop.tables.variants import variants_table
from jouleloop.workload.sweep import Sweep


def draw(
    kind: FigureKind, run: RunTables, place: Mapping[str, str], folder: Path, formats: Sequence[str]
) -> list[Path]:
    """Draw one figure into ``folder`` and return its files; none where there is nothing to draw.

    Raises
    ------
    InputError
        Where the run lacks a table, or the table what the figure shows.
    """
    figure = kind.figure(run, place)
    if figure is None:
        return []
    path = folder / kind.stem.format(**place)
    return list(save_figure(replace(figure, name=path.name), path.parent, formats))


def write_architecture_sweep(
    energies: pd.DataFrame, sweep: Sweep, results: Path, formats: Sequence[str] = FORMATS
) -> None:
    """Write the table of a sweep's variants, and draw energy per MAC on every architecture that has a mapping."""
    table = variants_table(energies, sweep)
    write_table(results / "architecture" / sweep.name, table, VARIANTS)
    for name in dict.fromkeys(table["architecture"][table["status"] == "ok"]):
        save_figure(architecture_figure(energies, sweep, str(name)), results / "figures" / sweep.name, formats)
