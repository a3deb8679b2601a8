import os
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from jouleloop import memory, signals
from jouleloop.errors import JouleloopError


def checked(make):
    """Return what ``make`` returns; a user's mistakes, all of them, stop the workflow before any job runs."""
    try:
        return make()
    except JouleloopError as error:
        raise WorkflowError("\n".join(f"error: {fault}" for fault in error.faults))


# Before anything large is imported; jobs inherit what it sets.
checked(memory.prepare)
if workflow.is_main_process:
    signals.leave_when_told()
signals.leave_interrupts_to_this()

from jouleloop.study.lock import free_stale_locks
from jouleloop.study.outputs import changed_outputs, date_back, set_aside
from jouleloop.study.runlog import LOGS, VERBOSE
from jouleloop.stats.columns import FITS, LEFT_OUT, RESIDUALS, VERDICTS
from jouleloop.tables.layouts import (
    BUFFER_GROWTH,
    CAPACITY,
    CAPACITY_SUMMARY,
    CHAIN_GROWTH,
    CHAINS,
    LAW_POINTS,
    LAW_TERMS,
    LAWS,
    NETWORKS,
    THEORY_CONV_ENERGY,
    THEORY_RATIO,
)
from jouleloop.workflow import RESULTS, TIMELOOP_RUNS, Workflow

# With snakemake --sdm apptainer Timeloop runs in its container, and its outputs are read from there.
CONTAINED = any(
    "apptainer" in str(method).lower()
    for method in workflow.deployment_settings.deployment_method
)
if CONTAINED:
    config["timeloop"] = {**config.get("timeloop", {}), "runs": TIMELOOP_RUNS}

# A run that was killed leaves its locks behind; jobs are processes of a run that holds them.
if workflow.is_main_process and free_stale_locks(Path(".snakemake")):
    logger.warning("The last run was killed: its locks are removed.")

# All that rules know of the study.
PLAN = checked(lambda: Workflow(config, contained=CONTAINED))

# What is not what its job wrote is made again; a dry run only tells.
if workflow.is_main_process:
    if not workflow.output_settings.dryrun:
        date_back(Path(RESULTS))
    for changed, together in changed_outputs(LOGS).items():
        logger.warning(f"{changed} is not what its job wrote: it is made again.")
        if not workflow.output_settings.dryrun:
            set_aside(together, Path(RESULTS))

# A dry run and one with nothing to do never come to the check at the start.
if workflow.is_main_process and (
    refusal := PLAN.refusal(workflow.overwrite_configfiles)
):
    logger.warning(refusal)

if workflow.output_settings.verbose:
    # Jobs inherit it.
    os.environ[VERBOSE] = "1"


def searches_here():
    """Whether jobs of this machine will search."""
    rules = {job.rule.name for job in workflow.dag.needrun_jobs()}
    return workflow.local_exec and not rules.isdisjoint(
        {"map_chunk", "map_variants", "capacity_curves", "chain_sweep"}
    )


# The files that a study is made of.
SOURCES = [
    *PLAN.sources.values(),
    *PLAN.variant_sources.values(),
    *PLAN.target_files(),
]


wildcard_constraints:
    arch=PLAN.any_of(PLAN.architectures),
    sweep=PLAN.any_of(PLAN.sources),
    capacity=PLAN.any_of(PLAN.capacity_sources),
    chain=PLAN.any_of(PLAN.chain_sources),
    chunk=r"\d{4}",


def table(name, title=None, caption=None):
    """Return the files of one table: Parquet for other rules, and the CSV that Snakemake's report shows."""
    shown = report(
        f"results/{name}.csv",
        caption=f"../report/{caption or name}.rst",
        category="Tables",
        labels={"table": title or name.replace("_", " ")},
    )
    return [f"results/{name}.parquet", shown]


#: Of the tables that the report shows: their titles, where the name does not do; those that it does not show.
TITLES = {
    "theory_ratio": "theory",
    "buffer_growth": "linear growth by buffer",
    "capacity_summary": "capacity, in short",
    "chain_growth": "growth of fused chains",
    "theory_conv_energy": "convolutions and theory",
}
EXPORTED = ("residuals", "left_out", "law_points", "law_terms")


def tables(*layouts):
    """Return the files of some tables."""
    files = []
    for name in (layout.file for layout in layouts):
        if name in EXPORTED:
            files += multiext(f"results/{name}", ".parquet", ".csv")
        else:
            files += table(name, TITLES.get(name))
    return files


def figures(group):
    """Return the files of a group of figures; Snakemake's report shows the first format of each."""
    files = []
    for kind, labels, (first, *others) in PLAN.figure_outputs(group):
        marked = {
            "caption": f"../report/figures/{kind.name}.rst",
            "category": "Figures",
            "subcategory": labels.pop("heading"),
        }
        if kind.folder:
            files += [report(directory(first), patterns=["{name}.png"], **marked)]
        else:
            shown = report(update(first), labels=labels, **marked)
            files += [shown, *map(update, others)]
    return files
