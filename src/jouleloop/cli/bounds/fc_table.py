"""``jouleloop bounds fc-table``: exact optima of every small layer beside the bounds of paper 002."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.cli.bounds import app
from jouleloop.errors import Fault, InputError
from jouleloop.files import write_text
from jouleloop.terminal.console import print_json, stdout
from jouleloop.theory.fully_connected.exact import LARGEST_SIDE
from jouleloop.theory.fully_connected.optima import divisible_grid, grid, judge, table_row, to_csv

_SHORT = {"most_states": 20_000, "largest_table_bits": 18}
"""Limits for layers too large to be searched in full: what the bounds do not close stays undecided."""


@app.command("fc-table")
def fc_table(
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the table here, as CSV.")],
    largest: Annotated[int, typer.Option("--largest", help="All n, m up to this and all β up to n + m.")] = 8,
    divisible: Annotated[
        tuple[int, int] | None,
        typer.Option(
            help="Most inputs and most outputs, such as 20 16: instead, all layers up to these with (β − 1) dividing m."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Solve every layer with n, m up to a size exactly and judge paper 002's bounds by it."""
    if not 1 <= largest <= 12:
        raise InputError(Fault("no size for the exact table", field="--largest", value=largest, allowed="1 … 12"))
    if divisible is not None and not (min(divisible) >= 1 and max(divisible) <= LARGEST_SIDE):
        allowed = f"1 … {LARGEST_SIDE}"
        raise InputError(Fault("no sizes for the exact table", field="--divisible", value=divisible, allowed=allowed))
    if divisible is None:
        rows = [table_row(*layer) for layer in grid(largest)]
    else:
        rows = [table_row(*layer, **_SHORT) for layer in divisible_grid(*divisible)]
    write_text(output, to_csv(rows))
    verdict = dict(vars(judge(rows)))
    if as_json:
        print_json(verdict)
        return
    for name, value in verdict.items():
        stdout.print(f"{name}: {value if isinstance(value, int) else len(value)}", highlight=False)
        if isinstance(value, tuple) and value:
            stdout.print("  " + " ".join(str(layer).replace(" ", "") for layer in value), highlight=False)
