"""Draw growth and breakdown of one sweep on every architecture."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_sweep
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    config = study.config
    energies, _ = read_table(Path(snakemake.input[0]), ENERGIES)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.wildcards.sweep)
    formats = config.outputs.figure_formats
    draw_sweep(energies, sweep, list(config.architectures), Path("results/figures"), formats, config.statistics)
