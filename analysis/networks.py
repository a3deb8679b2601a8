"""Add the layers of every network up."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES, NETWORKS
from jouleloop.tables.networks import network_table

with logged(snakemake.log[0]):
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    table = network_table(energies, load_study(snakemake.config).networks)
    write_table(Path("results") / NETWORKS.file, table, NETWORKS, provenance)
