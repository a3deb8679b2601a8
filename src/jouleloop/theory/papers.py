"""The papers whose theory stands here, and where each keeps its commands; a new paper is one folder and one name."""

import importlib

import typer

from jouleloop.theory.commands import BOUNDS, DATAFLOW

PAPERS = ("convolution", "fully_connected", "gemmini", "loop_nest", "manticore")
"""Folders of this room, each with ``commands.py``."""


def theory_commands() -> dict[str, typer.Typer]:
    """Return the groups ``bounds`` and ``dataflow`` with the commands of all papers, in the order of their names."""
    for paper in PAPERS:
        importlib.import_module(f"jouleloop.theory.{paper}.commands")
    groups = {"bounds": BOUNDS, "dataflow": DATAFLOW}
    for group in groups.values():
        group.registered_commands.sort(key=lambda command: command.name or "")
    return groups
