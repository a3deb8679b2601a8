"""``jouleloop compare``: two tables of results, row by row and field by field."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from jouleloop.cli.answers import answer, end, new_table
from jouleloop.terminal.console import print_table, stdout
from jouleloop.terminal.splice import AsJson, spliced

if TYPE_CHECKING:  # pandas is slow to import
    from jouleloop.tables.compare import FieldComparison, TableComparison

_SHOWN_ROWS = 10


@dataclass(frozen=True)
class ColumnChoice:
    """What the options say of columns, by their names with commas."""

    on: Annotated[
        str | None,
        typer.Option(
            "--on", help="Columns that identify a row, with commas; else architecture, sweep, layer and so on."
        ),
    ] = None
    only: Annotated[str | None, typer.Option("--only", help="Compare these columns only (names with commas).")] = None
    ignore: Annotated[str | None, typer.Option("--ignore", help="Leave these columns out (names with commas).")] = None


@spliced(columns=ColumnChoice)
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Table of results, .parquet or .csv.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Table of results, .parquet or .csv.")],
    columns: ColumnChoice,
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0.0, help="Relative difference up to which numbers are equal (share).")
    ] = 1e-9,
    absolute: Annotated[
        float, typer.Option("--absolute", min=0.0, help="Difference that is allowed besides (unit of the column).")
    ] = 0.0,
    text: Annotated[
        bool, typer.Option("--text", help="Differing text (mappings, engines, reasons) counts too, not only status.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tell where two tables agree: rows of one only, equal, lower and higher values; exit code 1 where they differ."""
    from jouleloop.tables.compare import compare_tables, read_any  # noqa: PLC0415 - pandas is slow to import

    found = compare_tables(
        read_any(first),
        read_any(second),
        on=_names(columns.on),
        only=_names(columns.only),
        ignore=_names(columns.ignore),
        relative=tolerance,
        absolute=absolute,
        text=text,
    )
    answer(found.as_json, lambda: _show(found, first, second), as_json=as_json)
    end(failed=found.differ)


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _show(found: "TableComparison", first: Path, second: Path) -> None:
    say = {"markup": False, "highlight": False, "soft_wrap": True}
    stdout.print(f"A = {first}\nB = {second}\n{found.rows} rows in both, by {', '.join(found.keys)}", **say)  # type: ignore[arg-type]
    for name, labels, columns in (
        ("A", found.only_in_first, found.columns_only_in_first),
        ("B", found.only_in_second, found.columns_only_in_second),
    ):
        if labels:
            more = f" … and {len(labels) - _SHOWN_ROWS} more" if len(labels) > _SHOWN_ROWS else ""
            stdout.print(f"{len(labels)} rows only in {name}: {'; '.join(labels[:_SHOWN_ROWS])}{more}", **say)  # type: ignore[arg-type]
        if columns:
            stdout.print(f"columns only in {name}: {', '.join(columns)}", **say)  # type: ignore[arg-type]
    unequal = [field for field in found.fields if field.differs]
    if unequal:
        _show_fields(unequal)
    stdout.print(f"{len(found.fields) - len(unequal)} of {len(found.fields)} columns are equal in all rows", **say)  # type: ignore[arg-type]
    stdout.print("the tables differ" if found.differ else "the tables agree", **say)  # type: ignore[arg-type]


def _show_fields(fields: "list[FieldComparison]") -> None:
    right = ("equal", "lower", "higher", "different", "no A", "no B")
    counts = new_table("Rows of A against B", ["column"], right)
    largest = new_table("Largest difference", ["column"], ("A - B", "relative"))
    largest.add_column("where")
    for field in fields:
        name = escape(field.field if field.decides else f"({field.field})")
        rows = (field.equal, field.lower, field.higher, field.different)
        counts.add_row(name, *map(str, (*rows, field.missing_in_first, field.missing_in_second)))
        if field.largest_difference is not None:
            relative = "" if field.largest_relative is None else f"{field.largest_relative:+.3g}"
            largest.add_row(name, f"{field.largest_difference:+.6g}", relative, escape(field.where))
    print_table(counts)
    if largest.row_count:
        print_table(largest)
    if any(not field.decides for field in fields):
        stdout.print("Columns in brackets are text and decide nothing without --text.", highlight=False)
