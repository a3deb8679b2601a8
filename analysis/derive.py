"""Make the tables of one rule from the table of energies; the rule's name says which."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.derived import Derived

with logged(snakemake.log[0], snakemake.output):
    Derived(load_study(snakemake.config), Path("results")).write(snakemake.rule)
