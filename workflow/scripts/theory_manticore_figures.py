"""Draw the compute-to-communication ratios and two executed schedules of paper 003."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.theory.manticore.exhibits import draw_figures

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

draw_figures(Path(snakemake.output.ccr), Path(snakemake.output.conv), Path(snakemake.output.fc))
