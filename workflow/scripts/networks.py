"""Add the layers of every network up."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.networks import network_table
from jouleloop.tables.write import read_parquet, write_csv

with logged(snakemake.log[0]):
    energies, _ = read_parquet(Path(snakemake.input[0]))
    write_csv(Path(snakemake.output.csv), network_table(energies, load_study(snakemake.config).networks))
