"""The two consoles that every command prints to: results on standard output, all else on standard error."""

import json
from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from jouleloop.bounds.result import Bound

stdout = Console()
stderr = Console(stderr=True)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on standard output, sorted where order carries no meaning."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_bounds(bounds: Iterable[Bound], *, as_json: bool, title: str) -> None:
    """Print bounds as a table, or as a JSON list of objects."""
    rows = list(bounds)
    if as_json:
        print_json([bound.as_json() for bound in rows])
        return
    table = Table(title=title, title_justify="left")
    for heading in ("bound", "value", "unit", "assumptions", "source"):
        table.add_column(heading, justify="right" if heading == "value" else "left", overflow="fold")
    for bound in rows:
        failed = [assumption.text for assumption in bound.assumptions if not assumption.holds]
        table.add_row(
            bound.name,
            "–" if bound.value is None else f"{float(bound.value):,.10g}",
            bound.unit,
            "hold" if not failed else "fail: " + "; ".join(failed),
            bound.source,
        )
    stdout.print(table)
