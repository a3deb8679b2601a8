"""Draw which law holds where in one sweep."""

from pathlib import Path

import pandas as pd

from jouleloop.config.growth import describe
from jouleloop.config.load import load_study
from jouleloop.config.study import logged
from jouleloop.report.figures_laws import law_figure
from jouleloop.report.style import save_figure

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.wildcards.sweep)
    tables = [pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in snakemake.input]
    for table in tables:
        table["law"] = table["law"].fillna("")
    figure = law_figure(*tables, sweep.name, describe(sweep).label)
    save_figure(figure, Path(snakemake.output[0]).parent, study.config.outputs.figure_formats)
