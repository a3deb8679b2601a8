"""Write measured DRAM words of the convolution sweeps beside the theory of their energy."""

from pathlib import Path

from jouleloop.columns import read_table, write_table
from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.conv_energy import conv_energy_table
from jouleloop.tables.layouts import ENERGIES, THEORY_CONV_ENERGY
from jouleloop.workload.layer import CONV

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, provenance = read_table(Path(snakemake.input[0]), ENERGIES)
    targets = {name: job.target.for_shape(CONV) for name, job in jobs_of(study).items()}
    table = conv_energy_table(energies, targets, study.tested)
    write_table(Path("results") / THEORY_CONV_ENERGY.file, table, THEORY_CONV_ENERGY, provenance)
