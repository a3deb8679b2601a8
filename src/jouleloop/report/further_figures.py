"""The figures beyond the default run: residuals, architectures compared, energy per operation over (n, m)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from jouleloop.errors import InputError, unknown
from jouleloop.report.figures import architectures_figure
from jouleloop.report.figures_energy import heat_map_figure
from jouleloop.report.figures_residuals import residual_figure
from jouleloop.report.study_figures import quick_options
from jouleloop.report.style import ReportFigure, save_figure
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse, rows_of
from jouleloop.workload.sweep import Sweep

Drawer = Callable[[pd.DataFrame, Sweep, Sequence[str], StatisticsOptions], list[ReportFigure]]


def _residuals(
    energies: pd.DataFrame, sweep: Sweep, architectures: Sequence[str], options: StatisticsOptions
) -> list[ReportFigure]:
    analysis = analyse(energies, [sweep], quick_options(options))
    return [replace(residual_figure(analysis, sweep.name, name), name=f"residuals_{name}") for name in architectures]


def _architectures(
    energies: pd.DataFrame, sweep: Sweep, _: Sequence[str], options: StatisticsOptions
) -> list[ReportFigure]:
    analysis = analyse(energies, [sweep], quick_options(options))
    figure = architectures_figure(rows_of(energies, [sweep]), analysis, sweep.name)
    return [replace(figure, name="architectures")]


def _heat_maps(
    energies: pd.DataFrame, sweep: Sweep, architectures: Sequence[str], _: StatisticsOptions
) -> list[ReportFigure]:
    return [replace(heat_map_figure(energies, sweep.name, name), name=f"heat_map_{name}") for name in architectures]


KINDS: dict[str, Drawer] = {
    "residuals": _residuals,
    "architectures": _architectures,
    "heat_map": _heat_maps,
}
"""How each kind of figure is drawn from the table of energies."""


def draw_further(
    kind: str,
    energies: pd.DataFrame,
    sweep: Sweep,
    architectures: Sequence[str],
    folder: Path,
    formats: Sequence[str],
    options: StatisticsOptions,
) -> list[Path]:
    """Draw one kind of figure of one sweep into ``folder``/<sweep> and return the files.

    Raises
    ------
    InputError
        For an unknown kind, or a table that lacks what the figure shows.
    """
    if kind not in KINDS:
        raise InputError(unknown(kind, KINDS, "kind of figure"))
    figures = KINDS[kind](energies, sweep, architectures, options)
    return [path for figure in figures for path in save_figure(figure, folder / sweep.name, formats)]
