"""Put the measured DRAM words of every fully-connected layer beside theory's bounds."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.theory_ratio import fc_hardware_table
from jouleloop.tables.write import read_parquet, write_csv
from jouleloop.workload.layer import CONV

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input[0]))
    targets = {name: job.target.for_shape(CONV) for name, job in jobs_of(study.config).items()}
    write_csv(Path(snakemake.output[0]), fc_hardware_table(energies, targets))
