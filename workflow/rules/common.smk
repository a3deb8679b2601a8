import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from jouleloop.config.load import load_study, published_sweeps
from jouleloop.config.study import expected_chunks, map_parameters, plan, targets_of
from jouleloop.errors import JouleloopError
from jouleloop.pipeline.chunks import chunk_digest, write_layers
from jouleloop.pipeline.keys import digest
from jouleloop.pipeline.lock import free_stale_locks
from jouleloop.pipeline.runlog import LOGS, VERBOSE, start_run
from jouleloop.pipeline.summary import finish_run


def checked_study():
    """Return the configured study and its architectures; all faults stop the workflow before any job runs."""
    try:
        study = load_study(config)
        return study, targets_of(study.config)
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))


# A run that was killed leaves its locks behind; jobs are processes of a run that holds them.
if workflow.is_main_process and free_stale_locks(Path(".snakemake")):
    logger.warning("The last run was killed: its locks are removed.")

STUDY, TARGETS = checked_study()
ARCHITECTURES = list(STUDY.config.architectures)
SWEEPS = [sweep.name for sweep in STUDY.tested]
NETWORKS = [network.name for network in STUDY.networks]
SOURCES = {sweep.name: sweep.source for sweep in STUDY.sweeps}
CHUNKS = plan(STUDY)
# Name and content of every chunk.
PLAN = {name: chunk_digest(layers) for name, layers in CHUNKS.items()}
MAP_PARAMETERS = {
    arch: map_parameters(STUDY.config, TARGETS[arch]) for arch in ARCHITECTURES
}
ALL_TARGET_FILES = sorted(
    {str(path) for target in TARGETS.values() for path in target.files.paths()}
)
# Sources by content: a clock that was set back must not hide an edit.
SOURCE_DIGESTS = {name: digest(Path(path).read_text()) for name, path in SOURCES.items()}
FORMATS = STUDY.config.outputs.figure_formats

FIGURE4_SWEEPS = ["fc_inputs", "fc_outputs", "fc_weights"]
FIGURE4 = set(FIGURE4_SWEEPS) <= set(SWEEPS)
FIGURES = expand(
    "results/figures/{sweep}/{kind}_{arch}.{format}",
    sweep=SWEEPS,
    kind=["growth", "breakdown"],
    arch=ARCHITECTURES,
    format=FORMATS,
) + (expand("results/figures/figure4.{format}", format=FORMATS) if FIGURE4 else [])
NETWORK_FILES = ["results/networks.csv"] if NETWORKS else []
PUBLISHED = [sweep.source for sweep in published_sweeps()]
SPECS = (
    expand("results/specs/{arch}/{sweep}", arch=ARCHITECTURES, sweep=SWEEPS + NETWORKS)
    if STUDY.config.outputs.specs
    else []
)


wildcard_constraints:
    arch="|".join(ARCHITECTURES),
    sweep="|".join(SWEEPS + NETWORKS),
    chunk=r"\d{4}",


def target_files(wildcards):
    """Return the files of one architecture."""
    entry = STUDY.config.architectures[wildcards.arch]
    return [entry.arch, entry.energy, entry.constraints]


def search_options(wildcards):
    """Return what the results on an architecture depend on besides the layers."""
    return MAP_PARAMETERS[wildcards.arch]


def chunk_options(arch, chunk):
    """Return all that the results of a chunk depend on, by content."""
    return {**MAP_PARAMETERS[arch], "layers": PLAN[chunk]}


def begin():
    """Note that a run begins, and what makes it up, for the progress and the summary."""
    pairs = {
        f"{arch}-{chunk}": (arch, chunk) for arch in ARCHITECTURES for chunk in PLAN
    }
    options = {name: chunk_options(*pair) for name, pair in pairs.items()}
    layers = {name: len(CHUNKS[chunk]) for name, (_, chunk) in pairs.items()}
    start_run(LOGS, expected_chunks(options, layers))
    for name, chunk in CHUNKS.items():
        write_layers(Path(f"results/chunks/{name}.txt"), chunk)


def end():
    """Show what the run did."""
    print(finish_run(Path("results/summary.json"), LOGS), file=sys.stderr)


if workflow.output_settings.verbose:
    # Jobs inherit it.
    os.environ[VERBOSE] = "1"
