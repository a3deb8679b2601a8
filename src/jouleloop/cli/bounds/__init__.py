"""``jouleloop bounds …``: one module a subcommand."""

import typer

app = typer.Typer(help="Lower and upper bounds of the papers, as numbers with their assumptions.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Lower and upper bounds of the papers, as numbers with their assumptions."""


from jouleloop.cli.bounds import conv_energy, fc, fc_table, manticore  # noqa: E402, F401 - registers their commands
