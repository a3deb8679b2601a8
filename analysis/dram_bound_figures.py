"""Draw DRAM words against theory's lower bound for every fully-connected sweep."""

from pathlib import Path

import pandas as pd

from jouleloop.config.load import load_study
from jouleloop.report.figures_energy import dram_bound_figure
from jouleloop.report.style import save_figure
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import describe
from jouleloop.tables.theory_ratio import BOUND_COLUMN

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    table = pd.read_csv(snakemake.input[0])
    for sweep in study.tested:
        if sweep.name in snakemake.params.sweeps:
            figure = dram_bound_figure(table, describe(sweep), BOUND_COLUMN)
            save_figure(figure, Path("results/figures") / sweep.name, study.config.outputs.figure_formats)
