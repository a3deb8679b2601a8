"""Write every bound of paper 002 for layers of the paper's sweeps and several buffers."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.files import write_text
from jouleloop.theory.fully_connected.figures import bounds_table

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

table = bounds_table(snakemake.params.layers, snakemake.params.buffers, snakemake.params.bits)
write_text(Path(snakemake.output.table), table.to_csv(index=False, lineterminator="\n"))
