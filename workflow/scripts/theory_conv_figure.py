"""Draw one figure of the convolution theory from its table."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.theory.convolution.exhibits import draw_figure

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

draw_figure(snakemake.params.figure, Path(snakemake.input.table), Path(snakemake.output.figure))
