"""``jouleloop bounds …`` and ``jouleloop dataflow …``: the two groups to which every paper adds its commands."""

import importlib

import typer

PAPERS = ("convolution", "fully_connected", "gemmini", "loop_nest", "manticore")
"""Folders of this room, each with ``commands.py``; a new paper also has rows in ``exhibits.csv``."""
_BOUNDS = "Lower and upper bounds of the papers, as numbers with their assumptions."
_DATAFLOW = "Run a dataflow of the papers step by step, count every word moved, and draw it."

BOUNDS = typer.Typer(help=_BOUNDS, no_args_is_help=True)
DATAFLOW = typer.Typer(help=_DATAFLOW, no_args_is_help=True)


@BOUNDS.callback()
@DATAFLOW.callback()
def _group() -> None:
    """Keep the name of a command also where a group has only one."""


def bounds() -> typer.Typer:
    """Return the group ``bounds`` with the commands of all papers, in the order of their names."""
    return _with_commands(BOUNDS)


def dataflow() -> typer.Typer:
    """Return the group ``dataflow`` with the commands of all papers, in the order of their names."""
    return _with_commands(DATAFLOW)


def _with_commands(group: typer.Typer) -> typer.Typer:
    for paper in PAPERS:
        importlib.import_module(f"jouleloop.theory.{paper}.commands")
    group.registered_commands.sort(key=lambda command: command.name or "")
    return group
