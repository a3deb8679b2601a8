"""Bounds on the terminal, as a table or as JSON."""

from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from jouleloop.terminal.console import print_json, print_table, stdout
from jouleloop.theory.bound import Bound

_ROOM_FOR_NOTES = 130


def print_bounds(bounds: Iterable[Bound], *, as_json: bool, title: str) -> None:
    """Print bounds as a table, or as a JSON list of objects."""
    rows = list(bounds)
    if as_json:
        print_json([bound.as_json() for bound in rows])
        return
    beside = stdout.width >= _ROOM_FOR_NOTES
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
