"""Draw DRAM words against theory's lower bound for every fully-connected sweep."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.figures_energy import dram_bound_figure
from jouleloop.report.style import save_figure
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import describe
from jouleloop.tables.layouts import THEORY_RATIO
from jouleloop.tables.theory_ratio import BOUND_COLUMN

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    table, _ = read_table(Path(snakemake.input[0]), THEORY_RATIO)
    for sweep in study.tested:
        if sweep.name in snakemake.params.sweeps:
            figure = dram_bound_figure(table, describe(sweep), BOUND_COLUMN)
            save_figure(figure, Path("results/figures") / sweep.name, study.config.outputs.figure_formats)
