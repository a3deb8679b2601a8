"""Draw published and own energies of one sweep with their ratio."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_published
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import PUBLISHED

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.wildcards.sweep)
    folder, formats = Path("results/figures"), study.config.outputs.figure_formats
    published, _ = read_table(Path(snakemake.input[0]), PUBLISHED)
    draw_published(published, sweep, folder, formats)
