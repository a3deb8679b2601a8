"""Draw all figures of one kind; the rule's parameter names it."""

from pathlib import Path

from snakemake.script import Snakemake

from jouleloop.config.load import load_study
from jouleloop.report.draw import draw
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.study.runlog import logged

snakemake: Snakemake = globals()["snakemake"]  # put there by Snakemake

with logged(snakemake.log[0]):
    study = load_study(snakemake.config)
    kind = next(kind for kind in FIGURES if kind.name == snakemake.params.kind)
    run = RunTables(study, Path("results"), list(study.config.architectures))
    if kind.folder:
        # How many figures a folder gets depends on which architectures have a mapping.
        for folder in snakemake.output:
            Path(folder).mkdir(parents=True, exist_ok=True)
    for place in kind.places(study):
        draw(kind, run, place, Path("results/figures"), study.config.outputs.figure_formats)
