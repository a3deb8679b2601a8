"""Write a complete Timeloop input for every layer of one sweep on one architecture."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.study.plan import jobs_of
from jouleloop.study.runlog import logged
from jouleloop.study.specs import write_specs

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    name = snakemake.wildcards.arch
    sweep = next(sweep for sweep in study.sweeps if sweep.name == snakemake.wildcards.sweep)
    write_specs(jobs_of(study, only=name)[name].target, sweep, Path(snakemake.output[0]))
