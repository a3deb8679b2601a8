"""Write measured DRAM words of the fully-connected sweeps beside the bounds of paper 002, and draw them."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.config.growth import describe
from jouleloop.config.load import load_study
from jouleloop.config.study import jobs_of, logged
from jouleloop.pipeline.hardware_bounds import BOUND_COLUMN, fc_hardware_table
from jouleloop.pipeline.write import read_parquet, write_csv
from jouleloop.report.figures_energy import dram_bound_figure
from jouleloop.report.style import save_figure
from jouleloop.workload.layer import CONV

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input.energies))
    targets = {name: job.target.for_shape(CONV) for name, job in jobs_of(study.config).items()}
    table = fc_hardware_table(energies, targets)
    write_csv(Path(snakemake.output.table), table)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.params.sweep)
    figure = dram_bound_figure(table, describe(sweep), BOUND_COLUMN)
    save_figure(figure, Path(snakemake.output.figure).parent, ("svg", "png"))
