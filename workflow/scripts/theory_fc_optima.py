"""Solve every small fully-connected layer exactly and write the table, what it says of paper 002, and a figure."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.files import write_json, write_text
from jouleloop.theory.fully_connected.figures import draw_gap
from jouleloop.theory.fully_connected.optima import grid, judge, table_row, to_csv

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

rows = [table_row(*layer) for layer in grid(snakemake.params.largest)]
write_text(Path(snakemake.output.table), to_csv(rows))
write_json(Path(snakemake.output.verdict), vars(judge(rows)))
draw_gap(rows, Path(snakemake.output.figure))
