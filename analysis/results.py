"""Make all that follows from the table of energies: further tables, figures and the page."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.config.load import load_study
from jouleloop.report.results import write_results
from jouleloop.study.runlog import logged

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

with logged(snakemake.log[0]):
    write_results(
        load_study(snakemake.config),
        Path("results"),
        tables=snakemake.params.tables,
        figures=snakemake.params.captions,
        page=snakemake.params.page,
        processes=snakemake.threads,
    )
