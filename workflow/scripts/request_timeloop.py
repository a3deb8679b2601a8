"""Write down what Timeloop has to run for one chunk on one architecture."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import chunk_layers
from jouleloop.study.requests import request_chunk, write_requests
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore

with logged(snakemake.log[0], snakemake.output):
    study, chunk = load_study(snakemake.config), snakemake.wildcards.chunk
    path = Path(snakemake.params.layers)
    layers = chunk_layers(study.config, chunk, snakemake.params.options["layers"], path)
    names = request_chunk(study, snakemake.wildcards.arch, layers, ResultStore(Path(snakemake.params.store)))
    write_requests(Path(snakemake.output[0]), names)
