"""All that a run makes of its table of energies: further tables, figures and the page, by one process and its forks."""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path

from jouleloop.config.load import Study
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.study.forked import run_forked
from jouleloop.tables.derived import Derived
from jouleloop.units import energies_in


def write_results(
    study: Study,
    folder: Path,
    *,
    tables: Collection[str],
    figures: Collection[str],
    page: Collection[str],
    processes: int,
) -> None:
    """Write tables, then figures and the page, beside the table of energies in ``folder``.

    Raises `InputError` where a table is missing or cannot be made.

    ``tables`` are files without ending, ``figures`` names of kinds of figures. ``page`` is what the page shows where it
    is there; no page is written where it is empty. So many ``processes`` work at the same time.
    """
    # Each process reads what it needs; what draws is imported while they are at work.
    drawing = "jouleloop.report.study_figures"

    def write_page() -> None:
        from jouleloop.report.html.page import write_report  # noqa: PLC0415 - imports matplotlib
        from jouleloop.report.html.sources import read_tables  # noqa: PLC0415

        write_report(read_tables(folder, study.config.statistics, optional=page), folder / "report.html")

    with energies_in(study.unit):
        run_forked(Derived(study, folder).tasks(tables), processes, lambda: import_module(drawing))
        from jouleloop.report.draw import draw_all  # noqa: PLC0415 - as above

        run = RunTables(study, folder, list(study.config.architectures), tested=bool(study.tested))
        kinds = [kind for kind in FIGURES if kind.name in figures]
        beside = [write_page] if page else []
        draw_all(kinds, run, folder / "figures", study.config.outputs.figure_formats, processes, beside)
