"""Collect the results of all chunks in the table of energies, and sum the run up."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import LOGS, logged
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import write_summary
from jouleloop.tables.collect import study_summary, write_energies

with logged(snakemake.log[0]):
    store = ResultStore(Path(snakemake.params.store))
    table, timings = write_energies(load_study(snakemake.config), store, Path("results"))
    chunks = map(Path, [*snakemake.input.chunks, *snakemake.input.variants])
    write_summary(Path(snakemake.output.summary), study_summary(table, timings, chunks, LOGS))
