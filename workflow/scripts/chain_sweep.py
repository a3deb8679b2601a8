"""Search the chains of one sweep on one architecture; results go to the store one by one."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.chain_study import write_chains
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    arch, name = snakemake.wildcards.arch, snakemake.wildcards.chain
    write_chains(
        jobs_of(study, only=arch)[arch],
        next(sweep for sweep in study.chain_sweeps if sweep.name == name),
        Path(snakemake.params.store),
        Path(snakemake.output[0]).with_suffix(""),
    )
