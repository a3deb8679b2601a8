"""``jouleloop bounds …`` and ``jouleloop dataflow …``: the two groups to which every paper adds its commands."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from jouleloop.errors import Fault, raise_all
from jouleloop.files import read_yaml
from jouleloop.terminal.splice import spliced

PAPERS = ("convolution", "fully_connected", "gemmini", "loop_nest", "manticore")
"""Folders of this room, each with ``commands.py``; a new paper also has rows in ``exhibits.csv``."""
_BOUNDS = "Lower and upper bounds of the papers, as numbers with their assumptions."
_DATAFLOW = "Run a dataflow of the papers step by step, count every word moved, and draw it."

BOUNDS = typer.Typer(help=_BOUNDS, no_args_is_help=True)
DATAFLOW = typer.Typer(help=_DATAFLOW, no_args_is_help=True)


Command = Callable[..., None]


def command(group: typer.Typer, name: str, **records: Callable[..., object]) -> Callable[[Command], Command]:
    """Add a command to a group, with what ``options.yaml`` beside its module says of its parameters.

    ``records`` are functions or data classes by parameter of the command: what they take are options in the place of
    the parameter, whose value is what they return, or what its ``made()`` returns where it has one.
    """

    def decorate(function: Command) -> Command:
        readers = {parameter: _reader(record) for parameter, record in records.items()}
        function.__annotations__ |= _described(function)
        group.command(name)(spliced(**readers)(function) if readers else function)
        return function

    return decorate


def _reader(record: Any) -> Callable[..., object]:
    def read(**given: object) -> object:
        made = record(**given)
        return made.made() if hasattr(made, "made") else made

    described = _described(record)
    parameters = inspect.signature(record).parameters.values()
    read.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(annotation=described.get(parameter.name, parameter.annotation)) for parameter in parameters]
    )
    return read


def _described(function: Callable[..., object]) -> dict[str, Any]:
    """Return the types of the parameters of a function or record that ``options.yaml`` describes, with that."""
    texts = _texts(Path(inspect.getfile(function)).with_name("options.yaml"))
    texts = texts | texts.get(function.__name__, {})
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in texts and get_origin(parameter.annotation) is not Annotated:
            text = dict(texts[name])
            kind = typer.Argument if text.pop("argument", False) else typer.Option
            found[name] = Annotated[parameter.annotation, kind(*text.pop("flags", ()), **text)]
    return found


@cache
def _texts(path: Path) -> dict[str, Any]:
    return dict(read_yaml(path))


def parse_values(options: Iterable[str], option: str) -> dict[str, int]:
    """Return the whole numbers that texts such as ``i=512`` and ``i=512,k=16`` give to names.

    Raises `InputError` where a part is something else, or a name has two values.
    """
    result: dict[str, int] = {}
    faults = []
    for part in (part for text in options for part in text.split(",")):
        match = re.fullmatch(r"\s*([^\W\d]\w*)\s*=\s*([+-]?\d+)\s*", part)
        if match is None:
            faults.append(Fault("not a name and its whole number", option, value=part, allowed="NAME=INTEGER"))
        elif match[1] in result:
            faults.append(Fault("is given twice", option, match[1], part))
        else:
            result[match[1]] = int(match[2])
    raise_all(faults)
    return result


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
