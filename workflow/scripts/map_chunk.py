"""Search the layers of one chunk on one architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.study.job import logged, taken

with logged(snakemake.log[0]):
    if not taken(Path(snakemake.output[0])):
        # Slow to import, and not needed where the chunk was searched before.
        from jouleloop.study.chunk_job import search_into

        search_into(
            Path(snakemake.output[0]),
            snakemake.config,
            snakemake.wildcards.arch,
            snakemake.wildcards.chunk,
            snakemake.params.options,
            layers=Path(snakemake.params.layers),
            store=Path(snakemake.params.store),
        )
