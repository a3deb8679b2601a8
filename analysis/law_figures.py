"""Draw which law holds where in every sweep."""

from pathlib import Path

import pandas as pd

from jouleloop.config.load import load_study
from jouleloop.report.figures_laws import law_figure
from jouleloop.report.style import save_figure
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import describe

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    laws, points = (pd.read_csv(path).fillna({"law": ""}) for path in snakemake.input)
    for sweep in study.tested:
        figure = law_figure(laws, points, sweep.name, describe(sweep).label)
        save_figure(figure, Path("results/figures") / sweep.name, study.config.outputs.figure_formats)
