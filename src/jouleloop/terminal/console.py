"""The two consoles that every command prints to: results on standard output, all else on standard error."""

import json
import os
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

stdout = Console()
stderr = Console(stderr=True)

_WIDE = 320


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on standard output, sorted where order carries no meaning."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def fitted() -> bool:
    """Whether output is laid out for a width: a terminal's, or the one that ``COLUMNS`` names."""
    return stdout.is_terminal or "COLUMNS" in os.environ


def print_table(table: Table) -> None:
    """Print ``table`` on standard output: fitted to a terminal, else as wide as it is, since a file has no edge."""
    if fitted():
        stdout.print(table)
        return
    wide = Console(file=stdout.file, width=_WIDE)
    wide.print(table, width=min(_WIDE, wide.measure(table).maximum))
