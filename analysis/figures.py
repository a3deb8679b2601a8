"""Draw the figures of one sweep or network, or of the study; the rule's captions name them."""

from pathlib import Path

from jouleloop.config.load import load_study
from jouleloop.report.draw import draw_all
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.study.runlog import logged

with logged(snakemake.log[0], snakemake.output):
    study = load_study(snakemake.config)
    run = RunTables(study, Path("results"), list(study.config.architectures), tested=bool(study.tested))
    kinds = [kind for kind in FIGURES if kind.name in snakemake.params.captions]
    subject = next(iter(snakemake.wildcards), "")
    draw_all(kinds, run, subject, Path("results/figures"), study.config.outputs.figure_formats)
