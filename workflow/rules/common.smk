import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from jouleloop.study.confirm import confirm_parameters
from jouleloop.study.engines import check_engines
from jouleloop.config.load import load_study, published_sweeps
from jouleloop.study.plan import (
    expected_chunks,
    map_parameters,
    plan,
    plan_variants,
    targets_of,
)
from jouleloop.errors import JouleloopError
from jouleloop.study.chunks import chunk_digest, write_layers
from jouleloop.study.keys import digest
from jouleloop.study.lock import free_stale_locks
from jouleloop.study.runlog import LOGS, VERBOSE, start_run
from jouleloop.study.summary import finish_run
from jouleloop.study.variants import points_digest
from jouleloop.report.applicable import has_map

TIMELOOP_RUNS = "results/timeloop/runs"
# With snakemake --sdm apptainer Timeloop runs in its container, and its outputs are read from there.
CONTAINED = any(
    "apptainer" in str(method).lower()
    for method in workflow.deployment_settings.deployment_method
)
if CONTAINED:
    config["timeloop"] = {**config.get("timeloop", {}), "runs": TIMELOOP_RUNS}


def checked_study():
    """Return the configured study and its architectures; all faults stop the workflow before any job runs."""
    try:
        study = load_study(config)
        check_engines(study.config)
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
SOURCE_DIGESTS = {
    name: digest(Path(path).read_text()) for name, path in SOURCES.items()
}
VARIANT_SOURCES = {sweep.name: sweep.source for sweep in STUDY.architecture_sweeps}
VARIANT_PLAN = {arch: plan_variants(STUDY, arch) for arch in ARCHITECTURES}
VARIANT_CHUNKS = [
    f"results/map/variants/{arch}-{chunk}.json"
    for arch in ARCHITECTURES
    for chunk in VARIANT_PLAN[arch]
]
ARCHITECTURE_FILES = expand("results/architecture/{sweep}.csv", sweep=VARIANT_SOURCES)
# Without a sweep of layers there is no growth to test, and nothing to report on it.
GROWTH_FILES = (
    [
        "results/fits.csv",
        "results/verdicts.csv",
        "results/laws.csv",
        "results/report.html",
    ]
    if SWEEPS
    else []
)
SEARCH_NOISE = (
    ["results/search_noise.csv"] if STUDY.config.outputs.search_noise and SWEEPS else []
)
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
NETWORK_FILES = (
    [
        "results/networks.csv",
        *expand(
            "results/figures/networks/{network}_{arch}.{format}",
            network=NETWORKS,
            arch=ARCHITECTURES,
            format=FORMATS,
        ),
    ]
    if NETWORKS
    else []
)
PUBLISHED_SWEEPS = published_sweeps()
PUBLISHED = [sweep.source for sweep in PUBLISHED_SWEEPS]
PUBLISHED_ARCHITECTURES = [
    name
    for name in ARCHITECTURES
    if any(name in dict(sweep.published) for sweep in PUBLISHED_SWEEPS)
]
CONV_SWEEPS = [sweep.name for sweep in STUDY.tested if sweep.kind == "conv"]
# Sweeps of this run that have published energies: their comparison belongs to the run.
COMPARED = [
    sweep.name
    for sweep in STUDY.tested
    if sweep.source in PUBLISHED and set(dict(sweep.published)) & set(ARCHITECTURES)
]
CONV_FILES = ["results/theory_conv_energy.csv"] if CONV_SWEEPS else []
PUBLISHED_FILES = (
    [
        "results/published.csv",
        *expand(
            "results/figures/{sweep}/published.{format}",
            sweep=COMPARED,
            format=FORMATS,
        ),
    ]
    if COMPARED
    else []
)
# What the HTML report is made of.
REPORTED = [
    *("energies", "fits", "verdicts", "residuals", "left_out"),
    *("theory_ratio", "laws", "law_points"),
    *(["search_noise"] if SEARCH_NOISE else []),
    *(["published"] if COMPARED else []),
    *(["networks"] if NETWORKS else []),
]
# For captions: how many layers every sweep has.
LAYER_COUNTS = ", ".join(f"{sweep.name} {len(sweep.points)}" for sweep in STUDY.tested)
FC_SWEEPS = [
    sweep.name
    for sweep in STUDY.tested
    if all(point.layer.kind == "fc" for point in sweep.points)
]
FIGURES += expand(
    "results/figures/{sweep}/laws_{sweep}.{format}", sweep=SWEEPS, format=FORMATS
)
FIGURES += expand(
    "results/figures/{sweep}/dram_bound_{sweep}.{format}",
    sweep=FC_SWEEPS,
    format=FORMATS,
)
FURTHER_FIGURES = [
    f"results/figures/{sweep.name}/{name}.{ending}"
    for sweep in STUDY.tested
    for name in (
        *(f"residuals_{arch}" for arch in ARCHITECTURES),
        *(f"heat_map_{arch}" for arch in ARCHITECTURES if has_map(sweep)),
        *(["architectures"] if len(ARCHITECTURES) > 1 else []),
    )
    for ending in FORMATS
]
CROSSCHECK = [
    "results/crosscheck.csv",
    "results/crosscheck_summary.csv",
    "results/crosscheck.html",
]
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
    energy = [str(path) for source in entry.sources() for path in source.files()]
    return [entry.arch, *dict.fromkeys(energy), entry.constraints]


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
    """Return what the results on an architecture depend on besides the layers."""
    return MAP_PARAMETERS[wildcards.arch]


def chunk_options(arch, chunk):
    """Return all that the results of a chunk depend on, by content."""
    return {**MAP_PARAMETERS[arch], "layers": PLAN[chunk]}


def variant_options(arch, chunk):
    """Return what the results of a chunk of variants depend on besides the files of the architecture."""
    points = points_digest(VARIANT_PLAN[arch][chunk])
    return {**MAP_PARAMETERS[arch], "points": points}


def begin():
    """Note that a run begins, and what makes it up, for the progress and the summary."""
    options, points = {}, {}
    for arch in ARCHITECTURES:
        for chunk, layers in CHUNKS.items():
            options[f"{arch}-{chunk}"] = chunk_options(arch, chunk)
            points[f"{arch}-{chunk}"] = len(layers)
        for chunk, varied in VARIANT_PLAN[arch].items():
            options[f"variants/{arch}-{chunk}"] = variant_options(arch, chunk)
            points[f"variants/{arch}-{chunk}"] = len(varied)
    start_run(LOGS, expected_chunks(options, points))
    for name, chunk in CHUNKS.items():
        write_layers(Path(f"results/chunks/{name}.txt"), chunk)


def end():
    """Show what the run did."""
    print(finish_run(Path("results/summary.json"), LOGS), file=sys.stderr)


if workflow.output_settings.verbose:
    # Jobs inherit it.
    os.environ[VERBOSE] = "1"


def layers_of(wildcards):
    """Return the number of layers of a sweep, for captions."""
    return next(
        len(sweep.points) for sweep in STUDY.tested if sweep.name == wildcards.sweep
    )


def table(name, title=None, caption=None):
    """Return the files of one table: Parquet, which rules hand to each other, and the CSV that Snakemake's report shows."""
    shown = report(
        f"results/{name}.csv",
        caption=f"../report/{caption or name}.rst",
        category="Tables",
        labels={"table": title or name.replace("_", " ")},
    )
    return [f"results/{name}.parquet", shown]


def shown(figure, pattern, architectures=ARCHITECTURES, caption=None, **where):
    """Return the files of one figure in every format; Snakemake's report shows the first format of each."""
    where = where or {"category": "Figures", "subcategory": "{sweep}"}
    files = []
    for arch in architectures:
        first, *others = expand(pattern, figure=figure, arch=arch, format=FORMATS)
        text = f"../report/{caption or figure}.rst"
        labels = {"figure": figure.replace("_", " "), "architecture": arch}
        marked = report(first, caption=text, labels=labels, **where)
        files += [marked, *others]
    return files


def confirm_options(wildcards):
    """Return all that the confirmation of a chunk depends on, by content."""
    try:
        by = confirm_parameters(STUDY)
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))
    return {**chunk_options(wildcards.arch, wildcards.chunk), **by}
