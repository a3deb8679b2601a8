"""The two consoles that every command prints to: results on standard output, all else on standard error."""

import json
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

stdout = Console()
stderr = Console(stderr=True)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on standard output, sorted where order carries no meaning."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_text(text: str) -> None:
    """Print ``text`` on standard output as it is: no markup, no colours, no line broken."""
    stdout.print(text, markup=False, highlight=False, soft_wrap=True)


def print_note(text: str) -> None:
    """Print ``text`` on standard error as it is."""
    stderr.print(text, markup=False, highlight=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """Print ``table`` on standard output, as wide as the terminal or ``COLUMNS``: 80 columns where there is neither.

    What does not fit goes on in the next line of its cell; nothing is left out.
    """
    table.box, table.pad_edge = SIMPLE_HEAD, False
    for column in table.columns:
        column.overflow = "fold"
    stdout.print(table)
