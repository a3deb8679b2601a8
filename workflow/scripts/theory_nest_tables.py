"""Write the examples of paper 004, the thin matrix multiplications with their figure, and the agreement counts."""

from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.files import write_text
from jouleloop.theory.loop_nest.exhibits import agreement_table, draw_thin, examples_table, thin_table

if TYPE_CHECKING:  # Snakemake defines the name before it runs the script.
    from snakemake.script import snakemake  # noqa: TC004

thin = thin_table()
for name, table in (("examples", examples_table()), ("thin", thin), ("agreement", agreement_table())):
    write_text(Path(snakemake.output[name]), table.to_csv(index=False, lineterminator="\n"))
draw_thin(thin, Path(snakemake.output.figure))
