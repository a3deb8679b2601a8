"""The figures of a study as files: Figure 4 with its panels, growth and breakdown of every sweep, networks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from jouleloop.columns import write_table
from jouleloop.report.figures import FIGURE4_ARCHITECTURES, FIGURE4_SWEEPS, figure4, growth_figure
from jouleloop.report.figures_architecture import architecture_figure
from jouleloop.report.figures_energy import breakdown_figure
from jouleloop.report.figures_networks import network_figure
from jouleloop.report.figures_published import published_figure
from jouleloop.report.style import save_figure
from jouleloop.stats.analysis import Analysis
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse, describe, rows_of
from jouleloop.tables.layouts import VARIANTS
from jouleloop.tables.published import read_published
from jouleloop.tables.variants import variants_table
from jouleloop.workload.sweep import Sweep


def quick_options(options: StatisticsOptions) -> StatisticsOptions:
    """Return the options with the data energy as the only response: all that the growth figures show."""
    return options.model_copy(update={"responses": ["data"]})


def draw_figure4(
    energies: pd.DataFrame,
    sweeps: Sequence[Sweep],
    architectures: Sequence[str],
    folder: Path,
    formats: Sequence[str],
    options: StatisticsOptions,
) -> list[Path]:
    """Draw Figure 4 of paper 002 for ``architectures`` (the paper's first), whole and panel by panel."""
    shown = [sweep for sweep in sweeps if sweep.name in FIGURE4_SWEEPS]
    analysis = analyse(energies, shown, quick_options(options))
    first = [name for name in FIGURE4_ARCHITECTURES if name in architectures]
    names = [*first, *(name for name in architectures if name not in first)]
    paths = list(save_figure(figure4(analysis, FIGURE4_SWEEPS, names), folder, formats))
    for sweep in FIGURE4_SWEEPS:
        for name in names:
            panel = replace(growth_figure(analysis, sweep, name), name=f"{sweep}_{name}")
            paths += save_figure(panel, folder / "figure4", formats)
    return paths


def draw_sweep(
    energies: pd.DataFrame,
    sweep: Sweep,
    architectures: Sequence[str],
    folder: Path,
    formats: Sequence[str],
    options: StatisticsOptions,
) -> list[Path]:
    """Draw growth and breakdown of one sweep on each of ``architectures`` into ``folder``/<sweep>."""
    analysis = analyse(energies, [sweep], quick_options(options))
    rows = rows_of(energies, [sweep])
    paths: list[Path] = []
    for name in architectures:
        growth = growth_figure(analysis, sweep.name, name, published=_published(sweep, name, analysis))
        breakdown = breakdown_figure(rows, describe(sweep), name)
        paths += save_figure(replace(growth, name=f"growth_{name}"), folder / sweep.name, formats)
        paths += save_figure(replace(breakdown, name=f"breakdown_{name}"), folder / sweep.name, formats)
    return paths


def draw_published(published: pd.DataFrame, sweep: Sweep, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw published and own energies of one sweep with their ratio into ``folder``/<sweep>."""
    figure = published_figure(published, sweep.name, sweep.symbol or sweep.published_parameter)
    return list(save_figure(figure, folder / sweep.name, formats))


def draw_network(
    networks: pd.DataFrame, network: str, architectures: Sequence[str], folder: Path, formats: Sequence[str]
) -> list[Path]:
    """Draw the layers of one network on each of ``architectures`` into ``folder``/networks."""
    paths: list[Path] = []
    for name in architectures:
        paths += save_figure(network_figure(networks, network, name), folder / "networks", formats)
    return paths


def draw_architecture_sweep(
    energies: pd.DataFrame, sweep: Sweep, results: Path, formats: Sequence[str] = ("png", "svg", "pdf")
) -> list[Path]:
    """Write ``architecture/<sweep>.csv``, and draw energy per MAC against the attribute on every architecture.

    An architecture on which no point has a mapping gets no figure; the table says why.
    """
    table = variants_table(energies, sweep)
    stem = results / "architecture" / sweep.name
    write_table(stem, table, VARIANTS)
    paths = [stem.with_name(f"{stem.name}.csv")]
    for name in dict.fromkeys(table["architecture"]):
        if (table[table["architecture"] == name]["status"] == "ok").any():
            figure = architecture_figure(energies, sweep, str(name))
            paths += save_figure(figure, results / "figures" / sweep.name, formats)
    return paths


def _published(sweep: Sweep, architecture: str, analysis: Analysis) -> pd.DataFrame | None:
    """Return the published data energies of a sweep as the growth figure overlays them."""
    table = read_published(sweep, architecture)
    if table is None or sweep.variable != sweep.published_parameter:
        return None
    known = set(analysis.residuals["architecture"])
    if architecture not in known:
        return None
    return pd.DataFrame(
        {"architecture": architecture, "variable": table["parameter"], "value": table["published_data_pj"]}
    )
