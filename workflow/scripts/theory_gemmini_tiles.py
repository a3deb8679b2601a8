"""Write the best Gemmini tiles beside the vendor's, as tables and a figure."""

from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.files import write_text
from jouleloop.theory.gemmini.exhibits import comparison_table, draw_comparison, largest_table, resnet_comparisons

if TYPE_CHECKING:  # Snakemake defines the name before it runs the script.
    from snakemake.script import snakemake  # noqa: TC004

comparisons = resnet_comparisons()
write_text(Path(snakemake.output.table), comparison_table(comparisons).to_csv(index=False, lineterminator="\n"))
write_text(Path(snakemake.output.largest), largest_table().to_csv(index=False, lineterminator="\n"))
draw_comparison(comparisons, Path(snakemake.output.figure))
