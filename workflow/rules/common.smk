from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from jouleloop.config.load import load_study, published_sweeps
from jouleloop.config.study import count_chunks, map_parameters
from jouleloop.errors import JouleloopError
from jouleloop.pipeline.lock import free_stale_locks


def checked_study():
    """Return the study that the configuration describes; all its faults stop the workflow before any job runs."""
    try:
        return load_study(config)
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))


# A run that was killed leaves its locks behind; jobs are processes of a run that holds them.
if workflow.is_main_process and free_stale_locks(Path(".snakemake")):
    logger.warning("The last run was killed: its locks are removed.")

STUDY = checked_study()
ARCHITECTURES = list(STUDY.config.architectures)
SWEEPS = [sweep.name for sweep in STUDY.tested]
NETWORKS = [network.name for network in STUDY.networks]
SOURCES = {sweep.name: sweep.source for sweep in STUDY.sweeps}
CHUNKS = [f"{index:04d}" for index in range(count_chunks(STUDY))]
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
    """Return what the results of an architecture depend on besides files."""
    return map_parameters(STUDY, wildcards.arch, len(CHUNKS))
