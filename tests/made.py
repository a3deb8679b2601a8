"""What the workflow makes of a table of energies, without the workflow."""

from collections.abc import Collection
from pathlib import Path

from jouleloop.config.load import Study
from jouleloop.report.draw import draw_all
from jouleloop.report.html.page import write_report
from jouleloop.report.html.sources import read_tables
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.tables.derived import Derived


def make(
    study: Study,
    folder: Path,
    *,
    stages: Collection[str] = (),
    figures: Collection[str] = (),
    page: Collection[str] = (),
) -> None:
    """Make the tables of some stages, then figures of some kinds, then the page, each as the workflow's rule does."""
    for stage in stages:
        Derived(study, folder).write(stage)
    run = RunTables(study, folder, list(study.config.architectures), tested=bool(study.tested))
    kinds = [kind for kind in FIGURES if kind.name in figures]
    for subject in dict.fromkeys(name for kind in kinds for name in kind.subjects(study)):
        draw_all(kinds, run, subject, folder / "figures", study.config.outputs.figure_formats)
    if page:
        write_report(read_tables(folder, study.config.statistics, optional=page), folder / "report.html")
