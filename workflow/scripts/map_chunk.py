"""Search the layers of one chunk on one architecture; results go to the store batch by batch."""

import os
import sys
from pathlib import Path

from jouleloop.study.chunk_job import search_into
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

# All is written. Threads of Arrow's that are still there may abort a process that takes itself apart.
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
