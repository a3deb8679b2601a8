"""Collect the results of all chunks in the table of energies."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.config.study import logged, write_energies
from jouleloop.pipeline.store import ResultStore

with logged(snakemake.log[0]):
    write_energies(
        load_study(snakemake.config), ResultStore(Path(snakemake.params.store)), Path(snakemake.output.parquet).parent
    )
