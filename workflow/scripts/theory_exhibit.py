"""Make one table or figure of the papers' theory, as its registry says."""

from pathlib import Path

from jouleloop.study.runlog import logged
from jouleloop.theory.exhibits import exhibits

with logged(snakemake.log[0], snakemake.output):
    needs = tuple(Path(file) for file in snakemake.input)
    exhibits()[snakemake.wildcards.exhibit].make(Path(snakemake.output[0]), needs)
