"""Write the page of the run: its tables, with charts."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.html.page import write_report
from jouleloop.report.html.sources import read_tables
from jouleloop.study.runlog import logged

with logged(snakemake.log[0], snakemake.output):
    statistics = load_study(snakemake.config).config.statistics
    tables = read_tables(Path("results"), statistics, optional=snakemake.params.shown)
    write_report(tables, Path(snakemake.output[0]))
