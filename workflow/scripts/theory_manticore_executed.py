"""Write executed counts beside the closed forms of paper 003 for a grid of layers."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.files import write_text
from jouleloop.theory.manticore.exhibits import executed_table

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

write_text(Path(snakemake.output.table), executed_table().to_csv(index=False, lineterminator="\n"))
