"""Draw one figure of the convolution theory from its table."""

from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.report.theory_conv import draw_figure

if TYPE_CHECKING:  # Snakemake defines the name before it runs the script.
    from snakemake.script import snakemake

draw_figure(snakemake.params.figure, Path(snakemake.input.table), Path(snakemake.output.figure))
