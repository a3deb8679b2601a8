"""Add the layers of every network up."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES, NETWORKS
from jouleloop.tables.network_bound import with_theory
from jouleloop.tables.networks import network_table

with logged(snakemake.log[0]):
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    study = load_study(snakemake.config)
    bounded = with_theory(energies, jobs_of(study), study.networks)
    table = network_table(bounded, study.networks)
    write_table(Path("results") / NETWORKS.file, table, NETWORKS, provenance)
