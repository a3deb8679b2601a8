"""Collect the results of all chunks in the table of energies, and sum the run up."""

from pathlib import Path

from jouleloop.columns import write_csv
from jouleloop.config.load import load_study
from jouleloop.study.runlog import LOGS, logged
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import write_summary
from jouleloop.tables.collect import study_summary, write_energies
from jouleloop.tables.energies import layer_table
from jouleloop.tables.layouts import LAYERS

with logged(snakemake.log[0]):
    store = ResultStore(Path(snakemake.params.store))
    study = load_study(snakemake.config)
    for sweep in study.sweeps:
        write_csv(Path("results/layers") / f"{sweep.name}.csv", layer_table(sweep), LAYERS)
    table, timings = write_energies(study, store, Path("results"))
    chunks = map(Path, [*snakemake.input.chunks, *snakemake.input.variants])
    write_summary(Path(snakemake.output.summary), study_summary(table, timings, chunks, LOGS))
