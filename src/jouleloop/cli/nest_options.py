"""How the commands on loop nests read a nest and numbers by loop."""

from pathlib import Path

from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.theory.loop_nest.nest import ProjectiveNest, from_einsum, from_yaml


def read_nest(expression: str | None, file: Path | None) -> tuple[ProjectiveNest, int | None]:
    """Return the nest of an einsum string or of a file, and the cache size in words where the file gives one."""
    if (expression is None) == (file is None):
        raise InputError(Fault("give the loop nest once", allowed="an einsum string such as 'ik,kj->ij', or --file"))
    if file is not None:
        return from_yaml(file)
    return from_einsum(expression or ""), None


def parse_loop_values(text: str, option: str) -> dict[str, int]:
    """Return the whole numbers of an option such as ``i=512,k=16``, by loop."""
    result: dict[str, int] = {}
    faults = []
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            number = int(value)
        except ValueError:
            number = 0
            equals = ""
        if not equals or not name:
            faults.append(Fault("not a loop and a whole number", option, value=part, allowed="such as i=512,k=16"))
        elif name in result:
            faults.append(Fault("a loop is given twice", option, value=name))
        result[name] = number
    raise_all(faults)
    return result
