"""Search every published point under the semantics it was computed with, and compare."""

from pathlib import Path

from jouleloop.config.load import Study, load_study
from jouleloop.config.study import jobs_of, logged
from jouleloop.pipeline.published import compare_published
from jouleloop.pipeline.store import ResultStore
from jouleloop.pipeline.write import write_csv
from jouleloop.workload.sweep import load_sweep

with logged(snakemake.log[0]):
    study: Study = load_study(snakemake.config)
    config = study.config.model_copy(update={"semantics": snakemake.params.semantics, "objective": ["energy"]})
    sweeps = [load_sweep(Path(path)) for path in snakemake.input.sweeps]
    name = snakemake.wildcards.arch
    store = ResultStore(Path(snakemake.params.store))
    table = compare_published(jobs_of(config, only=name), sweeps, store)
    # Without the mapspace constraints: what the published runs can at most have searched.
    entry = config.architectures[name].model_copy(update={"set": "arch-only"})
    relaxed = config.model_copy(update={"architectures": {name: entry}})
    wide = compare_published(jobs_of(relaxed), sweeps, store)
    table = table.assign(ours_arch_only_pj=wide["ours_pj"], ratio_arch_only=wide["ratio"])
    write_csv(Path(snakemake.output[0]), table)
