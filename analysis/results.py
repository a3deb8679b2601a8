"""Make all that follows from the results of all chunks: tables, figures and the page."""

from pathlib import Path

from jouleloop.study.job import logged
from jouleloop.config.load import load_study
from jouleloop.report.results import write_results

with logged(snakemake.log[0]):
    write_results(
        load_study(snakemake.config),
        Path("results"),
        chunks=[Path(path) for path in snakemake.input.chunks],
        tables=snakemake.params.tables,
        figures=snakemake.params.captions,
        page=snakemake.params.page,
        processes=snakemake.threads,
    )
