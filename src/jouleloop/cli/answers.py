"""How commands answer: as tables or as JSON, and with which exit code they end."""

from collections.abc import Callable, Iterable
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from jouleloop.signals import exit_code
from jouleloop.terminal.console import print_json


def new_table(title: str, left: Iterable[str] = (), right: Iterable[str] = ()) -> Table:
    """Return a table without rows: columns of words, then columns of numbers."""
    table = Table(title=escape(title) or None, title_justify="left")
    for justify, headings in (("left", left), ("right", right)):
        for heading in headings:
            table.add_column(escape(heading), justify=justify)  # type: ignore[arg-type]
    return table


def answer(data: Callable[[], Any], show: Callable[[], None], *, as_json: bool) -> None:
    """Print an answer as JSON, or show it."""
    if as_json:
        print_json(data())
    else:
        show()


def end(*, interrupted: bool = False, failed: bool = False) -> None:
    """End the command where it was interrupted, by the code that tells so, or has no answer; else go on."""
    if interrupted or failed:
        raise typer.Exit(exit_code() if interrupted else 1)
