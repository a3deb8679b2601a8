"""Search the layers of one chunk on one architecture; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.study.job import LOGS, current_run, logged
from jouleloop.config.load import typed
from jouleloop.config.model import Config
from jouleloop.study.plan import chunk_layers, search_chunk, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.store import ResultStore
from jouleloop.validation import validate

with logged(snakemake.log[0]):
    config, options = validate(Config, typed(snakemake.config), "config"), snakemake.params.options
    output = Path(snakemake.output[0])
    layers = chunk_layers(config, snakemake.wildcards.chunk, options["layers"], Path(snakemake.params.layers))
    progress = chunk_progress(LOGS, output.parent, output.stem)
    tell = long_searches(output.stem)
    store = ResultStore(Path(snakemake.params.store))
    report = search_chunk(config, snakemake.wildcards.arch, layers, store, progress=progress, tell=tell)
    write_chunk(output, report, options, current_run(LOGS)["run"])
