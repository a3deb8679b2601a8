"""Write one table of the convolution theory; the rule's parameter names the function that makes it."""

from pathlib import Path

from jouleloop.report.theory_conv import write_table

# Snakemake defines the name ``snakemake`` before it runs the script.
write_table(snakemake.params.table, Path(snakemake.output.table))  # noqa: F821
