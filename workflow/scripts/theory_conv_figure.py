"""Draw one figure of the convolution theory from its table."""

from pathlib import Path

from jouleloop.report.theory_conv import draw_figure

# Snakemake defines the name ``snakemake`` before it runs the script.
draw_figure(snakemake.params.figure, Path(snakemake.input.table), Path(snakemake.output.figure))  # noqa: F821
