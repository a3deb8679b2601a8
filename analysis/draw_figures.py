"""Draw all figures of some kinds; the rule's captions name them."""

from pathlib import Path

from jouleloop.study.job import logged
from jouleloop.config.load import load_study
from jouleloop.report.draw import draw_all
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    run = RunTables(study, Path("results"), list(study.config.architectures), tested=bool(study.tested))
    kinds = [kind for kind in FIGURES if kind.name in snakemake.params.captions]
    draw_all(kinds, run, Path("results/figures"), study.config.outputs.figure_formats, snakemake.threads)
