"""Write one table of the convolution theory; the rule's parameter names the function that makes it."""

from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.report.theory_conv import write_table

if TYPE_CHECKING:  # Snakemake defines the name before it runs the script.
    from snakemake.script import snakemake

write_table(snakemake.params.table, Path(snakemake.output.table))
