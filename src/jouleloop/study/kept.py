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


class Kept:
    """A table in a folder, under a name that tells all that decides it.

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

    def __init__(self, folder: Path, name: str, module: str, inputs: Any) -> None:
        self._others = f"{name}-{'[0-9a-f]' * _DIGITS}.parquet"
        self._path = folder / f"{name}-{digest([inputs, code_digest(module), _versions()])[:_DIGITS]}.parquet"

    def find(self) -> pa.Table | None:
        """Return the table if it was made of the same before and is whole."""
        if is_file(self._path):
            with contextlib.suppress(InputError):  # damaged: made again
                return read_sealed(self._path)
        return None

    def read(self) -> pa.Table:
        """Return the table that was made; raise `InputError` where it was damaged or removed since."""
        return read_sealed(self._path)

    def made(self, make: Callable[[], pa.Table]) -> pa.Table:
        """Return the table: found, or made and kept."""
        table = self.find()
        if table is None:
            table = make()
            self._store(table)
        return table

    def _store(self, table: pa.Table) -> None:
        write_sealed(self._path, table)
        for other in self._path.parent.glob(self._others):
            if other != self._path:
                other.unlink(missing_ok=True)
