"""Draw which law holds where in every sweep."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.figures_laws import law_figure
from jouleloop.report.style import save_figure
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import describe
from jouleloop.tables.layouts import LAW_POINTS, LAWS

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    laws, _ = read_table(Path(snakemake.input.laws), LAWS)
    points, _ = read_table(Path(snakemake.input.points), LAW_POINTS)
    for sweep in study.tested:
        figure = law_figure(laws, points, sweep.name, describe(sweep).label)
        save_figure(figure, Path("results/figures") / sweep.name, study.config.outputs.figure_formats)
