"""The figures of a study as the registry names them: each is drawn from the tables of a run, for one place in it."""

import pandas as pd

from jouleloop.report.figures import architectures_figure, figure4, growth_figure, residual_figure
from jouleloop.report.figures_architecture import architecture_figure
from jouleloop.report.figures_buffers import buffers_figure
from jouleloop.report.figures_capacity import capacity_figure
from jouleloop.report.figures_conv_energy import conv_energy_figure, imperfect_figure
from jouleloop.report.figures_energy import breakdown_figure, dram_bound_figure, heat_map_figure
from jouleloop.report.figures_laws import law_figure
from jouleloop.report.figures_networks import network_figure
from jouleloop.report.figures_published import floor_figure, published_figure
from jouleloop.report.figures_transformers import crossover_figure
from jouleloop.report.registry import FIGURE4_ARCHITECTURES, FIGURE4_SWEEPS, imperfect_pairs
from jouleloop.report.run_tables import RunTables
from jouleloop.report.style import ReportFigure
from jouleloop.tables.growth import describe
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    CAPACITY,
    CAPACITY_SUMMARY,
    ENERGIES,
    LAW_POINTS,
    LAWS,
    NETWORKS,
    PUBLISHED,
    THEORY_CONV_ENERGY,
    THEORY_RATIO,
)
from jouleloop.tables.published import read_published
from jouleloop.tables.theory_ratio import BOUND_COLUMN
from jouleloop.tables.transformers import family_of, parts_table
from jouleloop.tables.variants import variants_table
from jouleloop.units import PJ


def draw_growth(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw the data energy of a sweep with the fitted growth, and published values where the sweep has them."""
    return growth_figure(run.analysis(sweep), sweep, architecture, _published(run, sweep, architecture))


def draw_breakdown(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw where the energy of a sweep goes."""
    return breakdown_figure(run.table(ENERGIES, sweep), describe(run.sweep(sweep)), architecture)


def draw_figure4(run: RunTables) -> ReportFigure:
    """Draw Figure 4 of paper 002 for all architectures, the paper's first."""
    first = [name for name in FIGURE4_ARCHITECTURES if name in run.architectures]
    names = [*first, *(name for name in run.architectures if name not in first)]
    return figure4(run.analysis(*FIGURE4_SWEEPS), names)


def draw_laws(run: RunTables, sweep: str) -> ReportFigure:
    """Draw which law holds where."""
    return law_figure(run.table(LAWS, sweep), run.table(LAW_POINTS, sweep), sweep, describe(run.sweep(sweep)).label)


def draw_dram_bound(run: RunTables, sweep: str) -> ReportFigure:
    """Draw DRAM words against theory's lower bound."""
    return dram_bound_figure(run.table(THEORY_RATIO, sweep), describe(run.sweep(sweep)), BOUND_COLUMN)


def draw_network(run: RunTables, network: str, architecture: str) -> ReportFigure:
    """Draw the layers of a network."""
    return network_figure(run.table(NETWORKS, network), network, architecture)


def draw_crossover(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw where attention overtakes the rest of a transformer."""
    family = [one.name for one in family_of(run.study.sweeps, sweep).values()]
    parts = parts_table(run.table(ENERGIES, *family), run.study.sweeps, sweep, architecture)
    return crossover_figure(parts, sweep, architecture, describe(run.sweep(sweep)).label)


def draw_capacity(run: RunTables, capacity_sweep: str, architecture: str) -> ReportFigure | None:
    """Draw the optimum of a sweep's layers against the capacity of a level."""
    steps, curves = (run.table(layout, capacity_sweep) for layout in (CAPACITY, CAPACITY_SUMMARY))
    return capacity_figure(steps, curves, capacity_sweep, architecture)


def draw_published(run: RunTables, sweep: str) -> ReportFigure:
    """Draw published and own energies of a sweep with their ratio."""
    found = run.sweep(sweep)
    return published_figure(run.table(PUBLISHED, sweep), sweep, found.symbol or found.published_parameter)


def draw_floor(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw data energy per operation beside the published one, layer by layer."""
    return floor_figure(run.table(ENERGIES, sweep), sweep, architecture)


def draw_conv_energy(run: RunTables, sweep: str) -> ReportFigure:
    """Draw DRAM words of convolutions beside the theory of their energy."""
    return conv_energy_figure(run.table(THEORY_CONV_ENERGY, sweep), describe(run.sweep(sweep)))


def draw_imperfect(run: RunTables, sweep: str) -> ReportFigure | None:
    """Draw what imperfect factors save; nothing where no layer has a row of theory."""
    rows = run.table(THEORY_CONV_ENERGY, sweep)
    return imperfect_figure(rows, imperfect_pairs(run.study), describe(run.sweep(sweep)))


def draw_residuals(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw what is left of the data energy without the expected growth."""
    return residual_figure(run.analysis(sweep), sweep, architecture)


def draw_architectures(run: RunTables, sweep: str) -> ReportFigure:
    """Draw the architectures side by side."""
    return architectures_figure(run.table(ENERGIES, sweep), run.analysis(sweep), sweep)


def draw_heat_map(run: RunTables, sweep: str, architecture: str) -> ReportFigure:
    """Draw the energy per operation over (n, m)."""
    return heat_map_figure(run.table(ENERGIES, sweep), sweep, architecture)


def draw_variants(run: RunTables, variant_sweep: str, architecture: str) -> ReportFigure | None:
    """Draw energy per operation against an attribute; nothing where no variant has a mapping: the table says why."""
    sweep = run.sweep(variant_sweep)
    table = variants_table(run.table(ENERGIES, variant_sweep), sweep)
    if not (table[table["architecture"] == architecture]["status"] == "ok").any():
        return None
    return architecture_figure(run.table(ENERGIES, variant_sweep), sweep, architecture)


def draw_buffers(run: RunTables, variant_sweep: str) -> ReportFigure:
    """Draw where the linear law breaks as the buffer shrinks."""
    return buffers_figure(
        run.table(THEORY_RATIO, variant_sweep), run.table(BUFFER_GROWTH, variant_sweep), variant_sweep
    )


def _published(run: RunTables, sweep: str, architecture: str) -> pd.DataFrame | None:
    """Return the published energies of a sweep that the growth figure overlays."""
    found = run.sweep(sweep)
    table = read_published(found, architecture)
    if run.unit != PJ or table is None or found.variable != found.published_parameter:
        return None
    return table if architecture in set(run.analysis(sweep).residuals["architecture"]) else None
