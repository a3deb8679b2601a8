"""Put the measured DRAM words of every fully-connected layer beside theory's bounds."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES, THEORY_RATIO
from jouleloop.tables.theory_ratio import fc_hardware_table
from jouleloop.workload.layer import CONV

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    targets = {name: job.target.for_shape(CONV) for name, job in jobs_of(study).items()}
    write_table(Path("results") / THEORY_RATIO.file, fc_hardware_table(energies, targets), THEORY_RATIO, provenance)
