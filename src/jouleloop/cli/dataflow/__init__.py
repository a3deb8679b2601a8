"""``jouleloop dataflow …``: one module a subcommand."""

import typer

app = typer.Typer(
    help="Run a dataflow of the papers step by step, count every word moved, and draw it.",
    no_args_is_help=True,
)


@app.callback()
def _group() -> None:
    """Run a dataflow of the papers step by step, count every word moved, and draw it."""


from jouleloop.cli.dataflow import conv_energy, fc, manticore  # noqa: E402, F401 - registers their commands
