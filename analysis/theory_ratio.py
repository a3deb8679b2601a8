"""Put the measured DRAM words of every fully-connected layer beside theory's bounds."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.buffer_growth import buffer_growth_table
from jouleloop.tables.layouts import BUFFER_GROWTH, ENERGIES, THEORY_RATIO
from jouleloop.tables.theory_ratio import fc_hardware_table, fc_targets

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    bounds = fc_hardware_table(energies, fc_targets(study))
    growth = buffer_growth_table(bounds, study.config.statistics)
    write_table(Path("results") / THEORY_RATIO.file, bounds, THEORY_RATIO, provenance)
    write_table(Path("results") / BUFFER_GROWTH.file, growth, BUFFER_GROWTH, provenance)
