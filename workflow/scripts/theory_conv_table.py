"""Write one table of the convolution theory; the rule's parameter names the function that makes it."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.theory.convolution.exhibits import write_table

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

write_table(snakemake.params.table, Path(snakemake.output.table))
