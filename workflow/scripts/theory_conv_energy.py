"""Write measured DRAM words of the convolution sweeps beside the theory of their energy, and draw them."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.figures_conv_energy import conv_energy_figure
from jouleloop.report.style import save_figure
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.tables.conv_energy import conv_energy_table
from jouleloop.tables.growth import describe
from jouleloop.tables.write import read_parquet, write_csv
from jouleloop.workload.layer import CONV

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_parquet(Path(snakemake.input[0]))
    targets = {name: job.target.for_shape(CONV) for name, job in jobs_of(study.config).items()}
    table = conv_energy_table(energies, targets, study.tested)
    write_csv(Path(snakemake.output.table), table)
    for sweep in study.tested:
        if sweep.kind == "conv":
            figure = conv_energy_figure(table, describe(sweep))
            save_figure(figure, Path("results/figures") / sweep.name, study.config.outputs.figure_formats)
