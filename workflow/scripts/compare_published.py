"""Search every published point on one architecture, under every set of constraints, and compare."""

from pathlib import Path

from jouleloop.columns import write_table
from jouleloop.config.load import Study, load_study
from jouleloop.mapspace.read import SETS
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.study.store import ResultStore
from jouleloop.tables.layouts import PUBLISHED_PART
from jouleloop.tables.published import compare_published
from jouleloop.workload.sweep import load_sweep

with logged(snakemake.log[0], snakemake.output):
    study: Study = load_study(snakemake.config)
    # The optimum, whatever the configuration asks for elsewhere.
    config = study.config.model_copy(
        update={"semantics": snakemake.params.semantics, "objective": ["energy"], "budget": None}
    )
    name = snakemake.wildcards.arch
    jobs = {}
    for which in SETS:
        entry = config.architectures[name].model_copy(update={"set": which})
        jobs |= {which: jobs_of(config.model_copy(update={"architectures": {name: entry}}))[name]}
    sweeps = [load_sweep(Path(path)) for path in snakemake.input.sweeps]
    table = compare_published(name, jobs, sweeps, ResultStore(Path(snakemake.params.store)))
    write_table(Path("results/published") / name, table, PUBLISHED_PART)
