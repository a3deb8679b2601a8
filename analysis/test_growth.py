"""Test every sweep of the table of energies for the growth that theory expects."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.growth import analyse, write_analysis
from jouleloop.tables.layouts import ENERGIES, THEORY_RATIO

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input.energies), ENERGIES)
    theory, _ = read_table(Path(snakemake.input.theory), THEORY_RATIO)
    analysis = analyse(energies, study.tested, study.config.statistics, theory)
    write_analysis(analysis, Path("results"), provenance)
