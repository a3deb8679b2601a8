"""Test the growth of fused chains; draw their figures and their page."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.chain_study import write_chain_report
from jouleloop.study.runlog import logged

with logged(snakemake.log[0], snakemake.output):
    write_chain_report(load_study(snakemake.config), Path("results"))
