"""Compare the variants of an architecture in one sweep: a table with the best marked."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES, VARIANTS
from jouleloop.tables.variants import variants_table

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    sweep = next(sweep for sweep in study.architecture_sweeps if sweep.name == snakemake.wildcards.variant_sweep)
    write_table(Path("results/architecture") / sweep.name, variants_table(energies, sweep), VARIANTS, provenance)
