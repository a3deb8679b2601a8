"""Evaluate the optima of one chunk on one architecture again with Timeloop; results go to the store batch by batch."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.confirm import confirm_chunk
from jouleloop.study.plan import chunk_layers, write_chunk
from jouleloop.study.runlog import LOGS, current_run, logged
from jouleloop.study.store import ResultStore

with logged(snakemake.log[0], snakemake.output):
    study, options = load_study(snakemake.config), snakemake.params.options
    path = Path(snakemake.params.layers)
    layers = chunk_layers(study.config, snakemake.wildcards.chunk, options["layers"], path)
    report = confirm_chunk(study, snakemake.wildcards.arch, layers, ResultStore(Path(snakemake.params.store)))
    write_chunk(Path(snakemake.output[0]), report, options, current_run(LOGS)["run"])
