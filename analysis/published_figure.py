"""Draw published and own energies of one sweep with their ratio."""

from pathlib import Path

import pandas as pd

from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_published
from jouleloop.study.runlog import logged

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.wildcards.sweep)
    folder, formats = Path("results/figures"), study.config.outputs.figure_formats
    draw_published(pd.read_csv(snakemake.input[0]), sweep, folder, formats)
