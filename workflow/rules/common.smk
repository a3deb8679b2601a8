from pathlib import Path

from snakemake.exceptions import WorkflowError

from jouleloop.config.crosscheck import confirm_parameters
from jouleloop.config.engines import check_engines
from jouleloop.config.load import load_study, published_sweeps
from jouleloop.config.study import count_chunks, map_parameters
from jouleloop.errors import JouleloopError

TIMELOOP_RUNS = "results/timeloop/runs"
# With snakemake --sdm apptainer Timeloop runs in its container, and its outputs are read from there.
CONTAINED = any(
    "apptainer" in str(method).lower()
    for method in workflow.deployment_settings.deployment_method
)
if CONTAINED:
    config["timeloop"] = {**config.get("timeloop", {}), "runs": TIMELOOP_RUNS}


def checked_study():
    """Return the study that the configuration describes; all its faults stop the workflow before any job runs."""
    try:
        study = load_study(config)
        check_engines(study.config)
        return study
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))


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
CROSSCHECK = [
    "results/crosscheck.csv",
    "results/crosscheck_summary.csv",
    "results/crosscheck.html",
]
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


def timeloop_runs(wildcards):
    """Return what stands for the runs that Timeloop makes in its container, nothing where it is called directly."""
    return (
        f"results/timeloop/{wildcards.arch}-{wildcards.chunk}.done" if CONTAINED else []
    )


def searched_by_timeloop(wildcards):
    """Return the runs that a search waits for."""
    return timeloop_runs(wildcards) if STUDY.config.engine == "timeloop" else []


def request_needs(wildcards):
    """Return what must be there before Timeloop's inputs are written: the layers, or the native optima."""
    if STUDY.config.engine == "timeloop":
        return [*target_files(wildcards), *SOURCES.values()]
    return f"results/map/{wildcards.arch}-{wildcards.chunk}.json"


def search_options(wildcards):
    """Return what the results of an architecture depend on besides files."""
    return map_parameters(STUDY, wildcards.arch, len(CHUNKS))


def confirm_options(wildcards):
    """Return what the confirmation of an architecture's results depends on besides files."""
    try:
        return confirm_parameters(STUDY, wildcards.arch, len(CHUNKS))
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))
