"""A table and a figure that a command writes where it is asked to."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jouleloop.errors import Fault, raise_all

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Endings of tables, and of figures (`jouleloop.report.style.FORMATS`, which loads matplotlib), as a page by HTML.
PAGE = ".html"
TABLES, FIGURES = (".csv", ".parquet"), (".png", ".svg", ".pdf", PAGE)


def check_endings(table: Path | None, figure: Path | None, option: str = "--write-table") -> None:
    """Raise `InputError` where a file that is to be written ends otherwise than its kind."""
    asked = ((option, table, TABLES), ("--write-figure", figure, FIGURES))
    raise_all(
        [
            Fault(
                "must be a file of this kind", name, value=str(path), allowed="a name that ends in " + ", ".join(ends)
            )
            for name, path, ends in asked
            if path is not None and path.suffix not in ends
        ]
    )


def write_files(
    table: Path | None, make_table: "Callable[[], pd.DataFrame]", layout: str, figure: Path | None,
    draw: "Callable[[], Axes]", caption: str, more: "Callable[[], Mapping[str, pd.DataFrame]]" = dict,
) -> None:  # fmt: skip
    """Write the table called ``layout`` and the figure, each where a path says so.

    A figure as a page has the rows of the table below it, and those of ``more`` by their captions.
    """
    if table is not None:
        from jouleloop.columns import renamed_table, write_csv, write_parquet  # noqa: PLC0415 - loads pandas
        from jouleloop.layouts import declared  # noqa: PLC0415
        from jouleloop.units import read  # noqa: PLC0415

        write = write_csv if table.suffix == ".csv" else write_parquet
        write(table, renamed_table(make_table(), read), declared()[layout])
    if figure is not None:
        from jouleloop.report.style import ReportFigure, save_figure  # noqa: PLC0415 - loads matplotlib

        drawn = draw().get_figure(root=True)
        assert drawn is not None  # noqa: S101 - axes without a figure cannot be drawn
        shown = ReportFigure(figure.stem, drawn, caption)
        if figure.suffix == PAGE:
            from jouleloop.report.html.picture import write_figure_page  # noqa: PLC0415

            write_figure_page(figure, shown, {declared_meaning(layout): make_table(), **more()})
        else:
            save_figure(shown, figure.parent, [figure.suffix[1:]])


def declared_meaning(layout: str) -> str:
    """Return what a row of a table is."""
    from jouleloop.layouts import declared  # noqa: PLC0415 - reads a file

    return declared()[layout].meaning
