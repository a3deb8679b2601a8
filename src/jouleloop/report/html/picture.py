"""Figures inside HTML pages: as images that the page holds, and as a page of their own with the rows behind them."""

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG

from jouleloop.files import write_text
from jouleloop.report.html import environment
from jouleloop.report.html.numbers import PlainTable, figure, text
from jouleloop.report.style import ReportFigure, styled

#: Rows of a table of a figure's page.
_MOST_ROWS = 2000


@dataclass(frozen=True)
class Picture:
    """A figure as an image that a page holds."""

    source: str
    caption: str


def picture(drawn: ReportFigure) -> Picture:
    """Return a figure as an image that an HTML page holds."""
    stream = io.BytesIO()
    with styled():
        FigureCanvasSVG(drawn.figure).print_svg(stream, metadata={"Date": None, "Creator": None})  # type: ignore[no-untyped-call]
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(stream.getvalue()).decode()}", drawn.caption)


def plain(caption: str, table: pd.DataFrame, most: int = _MOST_ROWS) -> PlainTable:
    """Return the first rows of a table for a page, its columns' names as headings."""
    rows = tuple(
        tuple(
            text(value) if isinstance(value, (str, bool)) or value is None else figure(value, digits=6) for value in row
        )
        for row in table.head(most).astype(object).itertuples(index=False)
    )
    note = f"The first {most:,} of {len(table):,} rows." if len(table) > most else ""
    headings = tuple(str(name).replace("_", " ") for name in table.columns)
    return PlainTable(caption, headings, rows, note)


def write_figure_page(path: Path, drawn: ReportFigure, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write a page that loads nothing: a figure, and the rows behind it, by their captions."""
    titles = [panel.get_title() for panel in drawn.figure.axes]
    title = next(filter(None, titles), drawn.name)
    shown = [plain(caption, table) for caption, table in tables.items()]
    page = (
        environment(keep_trailing_newline=True)
        .get_template("figure.html.j2")
        .render(title=title, picture=picture(drawn), tables=shown)
    )
    write_text(path, page)
