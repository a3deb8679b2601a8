"""Search the layers of one chunk on one architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.study.plan import search_into
from jouleloop.study.runlog import logged

with logged(snakemake.log[0], snakemake.output):
    search_into(
        Path(snakemake.output[0]),
        snakemake.config,
        snakemake.wildcards.arch,
        snakemake.wildcards.chunk,
        snakemake.params.options,
        layers=Path(snakemake.params.layers),
        store=Path(snakemake.params.store),
    )
