"""What was made of the rows of one sweep, kept by a digest of all that decides it: an edit makes its sweep anew."""

import contextlib
import platform
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from jouleloop.errors import InputError
from jouleloop.files import is_file
from jouleloop.parquet import read_sealed, write_sealed
from jouleloop.study.keys import code_digest, digest
from jouleloop.study.provenance import versions

#: Hexadecimal digits of a digest in the name of a file.
_DIGITS = 16


@cache
def _versions() -> dict[str, str]:
    return {**versions(), "machine": platform.machine()}


def kept(folder: Path, name: str, module: str, inputs: Any, make: Callable[[], pa.Table]) -> pa.Table:
    """Return the table that ``make`` makes, from ``folder`` where it was made before of the same.

    Parameters
    ----------
    folder
        Where tables are kept, one for each name: an older one of that name is removed.
    name
        What it is.
    module
        The module whose code, with all it imports, makes it.
    inputs
        All else that decides it, as plain data.
    """
    path = folder / f"{name}-{digest([inputs, code_digest(module), _versions()])[:_DIGITS]}.parquet"
    if is_file(path):
        with contextlib.suppress(InputError):  # damaged: made again
            return read_sealed(path)
    table = make()
    write_sealed(path, table)
    for other in folder.glob(f"{name}-{'[0-9a-f]' * _DIGITS}.parquet"):
        if other != path:
            other.unlink(missing_ok=True)
    return table
