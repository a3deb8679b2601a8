"""Collect the results of all chunks from the store: the table of energies, timings, and the summary of the run."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.collect import collect

with logged(snakemake.log[0], snakemake.output):
    collect(load_study(snakemake.config), Path("results"), [Path(path) for path in snakemake.input.chunks])
