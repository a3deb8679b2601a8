"""Write the printed numbers of paper 003 beside the recomputed ones."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.files import write_text
from jouleloop.theory.manticore.exhibits import printed_table
from jouleloop.theory.manticore.printed import printed_numbers

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

write_text(Path(snakemake.output.table), printed_table(printed_numbers()).to_csv(index=False, lineterminator="\n"))
