"""Collect the results of all chunks in the table of energies, and sum the run up."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import LOGS, logged
from jouleloop.study.store import ResultStore
from jouleloop.study.summary import write_summary
from jouleloop.tables.collect import study_summary, write_energies, write_layers

with logged(snakemake.log[0]):
    store = ResultStore(Path(snakemake.params.store))
    study = load_study(snakemake.config)
    for sweep in study.sweeps:
        write_layers(sweep, Path(f"results/layers/{sweep.name}.csv"))
    table, timings = write_energies(study, store, Path("results"))
    chunks = map(Path, [*snakemake.input.chunks, *snakemake.input.variants])
    write_summary(Path(snakemake.output.summary), study_summary(table, timings, chunks, LOGS))
