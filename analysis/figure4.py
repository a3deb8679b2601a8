"""Draw Figure 4 of paper 002, whole and panel by panel."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_figure4
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    config = study.config
    energies, _ = read_table(Path(snakemake.input[0]), ENERGIES)
    formats = config.outputs.figure_formats
    draw_figure4(
        energies, study.tested, list(config.architectures), Path("results/figures"), formats, config.statistics
    )
