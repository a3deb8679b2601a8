"""Write down what Timeloop has to run for one chunk on one architecture."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.config.requests import request_chunk, write_requests
from jouleloop.config.study import logged
from jouleloop.pipeline.store import ResultStore

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    store = ResultStore(Path(snakemake.params.store))
    names = request_chunk(study, snakemake.wildcards.arch, int(snakemake.wildcards.chunk), store)
    write_requests(Path(snakemake.output[0]), names)
