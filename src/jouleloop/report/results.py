"""All that a run makes of its results: tables, figures and the page, by one process and its forks."""

from collections.abc import Collection
from functools import partial
from importlib import import_module
from pathlib import Path

from jouleloop import memory
from jouleloop.config.load import Study
from jouleloop.files import read_sealed_json
from jouleloop.parquet import PART_ROWS
from jouleloop.report.registry import FIGURES
from jouleloop.report.run_tables import RunTables
from jouleloop.study.forked import run_forked
from jouleloop.study.keys import code_digest
from jouleloop.study.provenance import versions
from jouleloop.study.runlog import LOGS, current_run
from jouleloop.study.summary import searches_of
from jouleloop.tables.collect import collect
from jouleloop.tables.derived import Derived
from jouleloop.units import energies_in

#: Of so many layers less than one is new where one process makes all: what forks copy takes longer than they save.
_FEW = 20


def write_results(
    study: Study,
    folder: Path,
    *,
    chunks: Collection[Path] | None = None,
    tables: Collection[str] = (),
    figures: Collection[str] = (),
    page: Collection[str] = (),
    processes: int,
) -> None:
    """Write the table of energies into ``folder``, then the tables that follow from it, then figures and the page.

    Raises `InputError` where a table is missing or cannot be made.

    Parameters
    ----------
    chunks
        Notes of the chunks whose results are collected; where none are given, the table of energies is there already.
    tables, figures
        Files without ending, and names of kinds of figures.
    page
        What the page shows where it is there; no page is written where it is empty.
    processes
        So many work at the same time, if there is enough to do.
    """
    processes = _worth(processes, chunks)

    # Each process reads what it needs; what the next ones need is imported while they are at work.
    def bring(*modules: str) -> None:
        with memory.importing():
            for module in modules:
                import_module(f"jouleloop.{module}")

    def write_page() -> None:
        from jouleloop.report.html.page import write_report  # noqa: PLC0415 - imports matplotlib
        from jouleloop.report.html.sources import read_tables  # noqa: PLC0415

        write_report(read_tables(folder, study.config.statistics, optional=page), folder / "report.html")

    # Each process would work them out again.
    versions()
    code_digest()
    with energies_in(study.unit):
        statistics = ["stats.analysis"] if study.tested and tables else []
        drawing = ["report.study_figures"] if figures else []
        derived = Derived(study, folder)
        if chunks is not None:
            collection = partial(collect, study, derived.jobs, folder, chunks)
            run_forked([collection], processes, lambda: bring(*statistics, *drawing))
        if tables:
            bring(*statistics)
            run_forked(derived.tasks(tables), processes, lambda: bring(*drawing))
        if figures or page:
            bring(*drawing)
            from jouleloop.report.draw import draw_all  # noqa: PLC0415 - imports matplotlib

            run = RunTables(study, folder, list(study.config.architectures), tested=bool(study.tested))
            kinds = [kind for kind in FIGURES if kind.name in figures]
            beside = [write_page] if page else []
            draw_all(kinds, run, folder / "figures", study.config.outputs.figure_formats, processes, beside)


def _worth(processes: int, chunks: Collection[Path] | None) -> int:
    """Return how many processes are worth their start: one where most of a small study is as it was."""
    if processes == 1 or chunks is None:
        return processes
    found = searches_of(map(read_sealed_json, chunks), current_run(LOGS)["run"])
    layers = found.searched + found.stored
    return 1 if layers <= PART_ROWS and found.searched * _FEW < layers else processes
