"""What the job of one chunk on one architecture does."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jouleloop.config.load import typed
from jouleloop.config.model import Config
from jouleloop.study.compute import run_chunk
from jouleloop.study.plan import chunk_layers, jobs_of, write_chunk
from jouleloop.study.progress import chunk_progress, long_searches
from jouleloop.study.runlog import LOGS, current_run
from jouleloop.study.store import ResultStore
from jouleloop.validation import validate


def search_into(
    output: Path,
    configuration: Mapping[str, Any],
    architecture: str,
    chunk: str,
    options: Mapping[str, Any],
    *,
    layers: Path,
    store: Path,
) -> None:
    """Search the layers of a chunk, results into ``store``, and write what was done to ``output``.

    Raises `InputError` as `jouleloop.study.plan.chunk_layers`.

    Parameters
    ----------
    configuration
        As Snakemake holds it.
    options
        What the results depend on, the digest of the layers among it.
    layers
        The file of the chunk's layers.
    """
    config = validate(Config, typed(configuration), "config")
    found = chunk_layers(config, chunk, options["layers"], layers)
    shapes = dict.fromkeys(layer.kind.shape_of(layer.values) for layer in found)
    job = jobs_of(config, only=architecture, shapes=shapes)[architecture]
    job.watched(long_searches(output.stem))
    report = run_chunk(job, found, ResultStore(store), chunk_progress(LOGS, output.parent, output.stem))
    write_chunk(output, report, options, current_run(LOGS)["run"])
