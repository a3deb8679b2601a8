"""Compare the variants of an architecture in one sweep: a table with the best marked, a figure an architecture."""

from pathlib import Path

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.study_figures import draw_architecture_sweep
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    energies, _ = read_table(Path(snakemake.input[0]), ENERGIES)
    name = snakemake.wildcards.variant_sweep
    sweep = next(sweep for sweep in study.architecture_sweeps if sweep.name == name)
    # A folder of figures: how many there are depends on which architectures have a mapping.
    Path(snakemake.output.figures).mkdir(parents=True, exist_ok=True)
    draw_architecture_sweep(energies, sweep, Path("results"), study.config.outputs.figure_formats)
