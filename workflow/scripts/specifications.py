"""Write an architecture and its energies as Timeloop reads them."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.files import write_text
from jouleloop.study.plan import targets_of
from jouleloop.study.runlog import logged
from jouleloop.study.specs import architecture_input

with logged(snakemake.log[0], snakemake.output):
    name = snakemake.wildcards.arch
    write_text(Path(snakemake.output[0]), architecture_input(targets_of(load_study(snakemake.config), only=name)[name]))
