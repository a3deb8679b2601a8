"""Draw all figures of some kinds; the rule's captions name them."""

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
    run = RunTables(study, Path("results"), list(study.config.architectures))
    for kind in (kind for kind in FIGURES if kind.name in snakemake.params.captions):
        if kind.folder:
            # How many figures a folder gets depends on which architectures have a mapping.
            for place in kind.places(study):
                Path("results/figures", kind.stem.format(**place)).parent.mkdir(parents=True, exist_ok=True)
        for place in kind.places(study):
            draw(kind, run, place, Path("results/figures"), study.config.outputs.figure_formats)
