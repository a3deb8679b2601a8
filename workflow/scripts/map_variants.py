"""Search one chunk of the points of sweeps that vary an architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.config.study import logged, search_variants, write_chunk
from jouleloop.pipeline.store import ResultStore

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    store = ResultStore(Path(snakemake.params.store))
    report = search_variants(study, snakemake.wildcards.arch, int(snakemake.wildcards.chunk), store)
    write_chunk(Path(snakemake.output[0]), report)
