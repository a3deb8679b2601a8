from pathlib import Path

from snakemake.exceptions import WorkflowError

from jouleloop.config.load import load_study, published_sweeps
from jouleloop.config.study import count_chunks, map_parameters
from jouleloop.errors import JouleloopError
from jouleloop.report.applicable import has_map


def checked_study():
    """Return the study that the configuration describes; all its faults stop the workflow before any job runs."""
    try:
        return load_study(config)
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


def layers_of(wildcards):
    """Return the number of layers of a sweep, for captions."""
    return next(
        len(sweep.points) for sweep in STUDY.tested if sweep.name == wildcards.sweep
    )


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
