"""``jouleloop bounds hbl``: exact Hölder–Brascamp–Lieb exponents of an affine loop nest."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from jouleloop.cli.bounds import app
from jouleloop.terminal.console import print_json, print_table
from jouleloop.theory.loop_nest.hbl import LATTICE_LIMIT, HblResult, hbl_exponents
from jouleloop.theory.loop_nest.hbl_parse import constants_from_options, read_nest
from jouleloop.theory.printing import print_bounds


@app.command("hbl")
def hbl(
    nest: Annotated[
        str | None,
        # Backslashes: rich would take what is in brackets for a style.
        typer.Argument(help=r"Accesses such as 'I\[n,c,2*x+r] F\[c,k,r] O\[n,k,x]', or an einsum such as 'ik,kj->ij'."),
    ] = None,
    yaml_file: Annotated[Path | None, typer.Option("--yaml", help="Read the loop nest from this YAML file.")] = None,
    let: Annotated[list[str] | None, typer.Option(help="Value of a name in subscripts, such as sw=2.")] = None,
    constraints: Annotated[bool, typer.Option("--constraints", help="Print every rank constraint instead.")] = False,
    lattice_limit: Annotated[int, typer.Option(help="Give up closing a lattice at this many subgroups.", min=1)] = (
        LATTICE_LIMIT
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Exponents s_j with the least sum such that |V| <= Π |φ_j(V)|^s_j for every set V of updates (001 Theorem 2.4)."""
    result = hbl_exponents(read_nest(nest, yaml_file, constants_from_options(let or [])), lattice_limit=lattice_limit)
    if not constraints:
        print_bounds(result.bounds(), as_json=as_json, title="Hölder–Brascamp–Lieb exponents")
    elif as_json:
        print_json(result.constraint_records())
    else:
        _print_constraints(result)


def _print_constraints(result: HblResult) -> None:
    records = result.constraint_records()
    table = Table(title=f"Rank constraints, {len(result.distinct)} distinct", title_justify="left")
    for heading in records[0]:
        table.add_column(heading)
    for record in records:
        table.add_row(*(str(value) for value in record.values()))
    print_table(table)
