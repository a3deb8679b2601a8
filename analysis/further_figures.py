"""Draw one kind of further figure of one sweep; the rule's parameter names the kind."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.columns import read_table
from jouleloop.config.load import load_study
from jouleloop.report.further_figures import draw_further
from jouleloop.study.runlog import logged
from jouleloop.tables.layouts import ENERGIES

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    config = study.config
    energies, _ = read_table(Path(snakemake.input[0]), ENERGIES)
    sweep = next(sweep for sweep in study.tested if sweep.name == snakemake.wildcards.sweep)
    draw_further(
        snakemake.params.kind,
        energies,
        sweep,
        list(config.architectures),
        Path("results/figures"),
        config.outputs.figure_formats,
        config.statistics,
    )
