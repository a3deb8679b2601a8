"""Write the HTML report of the tables that this run has made."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.config.load import load_study
from jouleloop.report.html.page import write_report
from jouleloop.report.html.sources import read_tables
from jouleloop.study.runlog import logged

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

with logged(snakemake.log[0]):
    statistics = load_study(snakemake.config).config.statistics
    tables = read_tables(Path("results"), statistics, optional=snakemake.params.optional)
    write_report(tables, Path(snakemake.output[0]))
