"""``jouleloop bounds …`` and ``jouleloop dataflow …``: the two groups to which every paper adds its commands."""

import typer

_BOUNDS = "Lower and upper bounds of the papers, as numbers with their assumptions."
_DATAFLOW = "Run a dataflow of the papers step by step, count every word moved, and draw it."

BOUNDS = typer.Typer(help=_BOUNDS, no_args_is_help=True)
DATAFLOW = typer.Typer(help=_DATAFLOW, no_args_is_help=True)


@BOUNDS.callback()
@DATAFLOW.callback()
def _group() -> None:
    """Keep the name of a command also where a group has only one."""
