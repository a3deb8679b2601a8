"""Evaluate the optima of one chunk on one architecture again with Timeloop; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.config.crosscheck import confirm_chunk
from jouleloop.config.load import load_study
from jouleloop.config.study import logged, write_chunk
from jouleloop.pipeline.store import ResultStore

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    store = ResultStore(Path(snakemake.params.store))
    report = confirm_chunk(study, snakemake.wildcards.arch, int(snakemake.wildcards.chunk), store)
    write_chunk(Path(snakemake.output[0]), report)
