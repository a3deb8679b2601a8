"""A table, a figure and a proof that a command writes where it is asked to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jouleloop.cli import options
from jouleloop.errors import Fault, raise_all
from jouleloop.files import write_json
from jouleloop.terminal.console import print_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Endings of tables, and of figures (`jouleloop.report.style.FORMATS`, which loads matplotlib), as a page by HTML.
PAGE = ".html"
TABLES, FIGURES = (".csv", ".parquet"), (".png", ".svg", ".pdf", PAGE)


@dataclass(frozen=True)
class Written:
    """The files of a table and a figure; None where one is not asked for."""

    table: options.WriteTable = None
    figure: options.WriteFigure = None

    def check(self, option: str = "--write-table") -> None:
        """Raise `InputError` where a file ends otherwise than its kind."""
        asked = ((option, self.table, TABLES), ("--write-figure", self.figure, FIGURES))
        text = "must be a file of this kind"
        raise_all(
            [
                Fault(text, name, value=str(path), allowed="a name that ends in " + ", ".join(ends))
                for name, path, ends in asked
                if path is not None and path.suffix not in ends
            ]
        )

    def write(
        self,
        make_table: "Callable[[], pd.DataFrame]",
        layout: str,
        draw: "Callable[[], Axes]",
        caption: str,
        more: "Callable[[], Mapping[str, pd.DataFrame]]" = dict,
    ) -> None:
        """Write the table called ``layout`` and the figure.

        A figure as a page has the rows of the table below it, and those of ``more`` by their captions.
        """
        if self.table is not None:
            _write_table(self.table, make_table(), layout)
        if self.figure is not None:
            axes, paged = draw(), self.figure.suffix == PAGE
            _write_figure(
                self.figure, axes, caption, {declared_meaning(layout): make_table(), **more()} if paged else {}
            )


def _write_table(path: Path, table: "pd.DataFrame", layout: str) -> None:
    from jouleloop.columns import renamed_table, write_csv, write_parquet  # noqa: PLC0415 - loads pandas
    from jouleloop.layouts import declared  # noqa: PLC0415
    from jouleloop.units import read  # noqa: PLC0415

    write = write_csv if path.suffix == ".csv" else write_parquet
    write(path, renamed_table(table, read), declared()[layout])


def _write_figure(path: Path, axes: "Axes", caption: str, tables: "Mapping[str, pd.DataFrame]") -> None:
    from jouleloop.report.style import ReportFigure, save_figure  # noqa: PLC0415 - loads matplotlib

    drawn = axes.get_figure(root=True)
    assert drawn is not None  # noqa: S101 - axes without a figure cannot be drawn
    shown = ReportFigure(path.stem, drawn, caption)
    if path.suffix == PAGE:
        from jouleloop.report.html.picture import write_figure_page  # noqa: PLC0415

        write_figure_page(path, shown, tables)
    else:
        save_figure(shown, path.parent, [path.suffix[1:]])


def declared_meaning(layout: str) -> str:
    """Return what a row of a table is."""
    from jouleloop.layouts import declared  # noqa: PLC0415 - reads a file

    return declared()[layout].meaning


def write_proof(path: Path, make: Callable[[], dict[str, Any]], *, proven: bool) -> None:
    """Write the proof of an optimum, or say why there is none."""
    if not proven:
        print_note(f"{path} is not written: the optimum is not proven")
        return
    proof = make()
    write_json(path, proof, indent=None)
    if "claim" in proof:
        print_note(f"{path} holds a claim, not a certificate: {proof['claim']}")
