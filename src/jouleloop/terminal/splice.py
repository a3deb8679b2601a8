"""Options that several commands share: a parameter of a command stands for all those of the function that reads it."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

Made = TypeVar("Made")
#: Whether a command prints plain data.
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def spliced(**readers: Callable[..., object]) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Put the options of ``readers`` in the place of a command's parameters of the same names.

    ``@spliced(layer=layer_of)`` gives a command all options of ``layer_of`` where it has the parameter ``layer``, whose
    value is then what ``layer_of`` makes of them. A reader may have readers of its own.

    Raises `ValueError` where two options have one name.
    """
    options = {name: _parameters(reader) for name, reader in readers.items()}

    def decorate(command: Callable[..., Made]) -> Callable[..., Made]:
        parameters: list[inspect.Parameter] = []
        for parameter in _parameters(command):
            parameters += options.get(parameter.name, [parameter])

        @functools.wraps(command)
        def run(**given: Any) -> Made:
            made = {
                name: reader(**{option.name: given.pop(option.name) for option in options[name]})
                for name, reader in readers.items()
            }
            return command(**given, **made)

        # Typer reads the options from the signature, and their types once more from the annotations.
        keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__
        return run

    return decorate


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())
