"""The two consoles that every command prints to: results on standard output, all else on standard error."""

import json
import os
from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jouleloop.bounds.result import Bound

stdout = Console()
stderr = Console(stderr=True)

_WIDE = 320
_ROOM_FOR_NOTES = 130


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on standard output, sorted where order carries no meaning."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_bounds(bounds: Iterable[Bound], *, as_json: bool, title: str) -> None:
    """Print bounds as a table, or as a JSON list of objects."""
    rows = list(bounds)
    if as_json:
        print_json([bound.as_json() for bound in rows])
        return
    beside = not _fitted() or stdout.width >= _ROOM_FOR_NOTES
    table = Table(title=title, title_justify="left")
    for heading in ("bound", "value", "unit", "assumptions", "source", *(["note"] if beside else [])):
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    for bound in rows:
        failed = [assumption.text for assumption in bound.assumptions if not assumption.holds]
        cells = (
            bound.name,
            "–" if bound.value is None else f"{float(bound.value):,.10g}",
            bound.unit,
            "hold" if not failed else "fail: " + "; ".join(failed),
            bound.source,
            *([bound.note] if beside else []),
        )
        table.add_row(*map(escape, cells))
    print_table(table)
    if not beside:
        for bound in rows:
            if bound.note:
                stdout.print(f"{bound.name}: {bound.note}", markup=False, highlight=False)


def _fitted() -> bool:
    return stdout.is_terminal or "COLUMNS" in os.environ


def print_table(table: Table) -> None:
    """Print ``table`` on standard output: fitted to a terminal, else as wide as it is, since a file has no edge."""
    if _fitted():
        stdout.print(table)
        return
    wide = Console(file=stdout.file, width=_WIDE)
    wide.print(table, width=min(_WIDE, wide.measure(table).maximum))
