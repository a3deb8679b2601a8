"""What was made of the rows of one sweep, kept by a digest of all that decides it: an edit makes its sweep anew."""

import contextlib
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from jouleloop.errors import InputError
from jouleloop.files import is_file
from jouleloop.layouts import DECLARED
from jouleloop.parquet import Where, sealed_parts, write_sealed
from jouleloop.study.keys import code_digest, digest
from jouleloop.study.provenance import file_hash, versions

#: Folder, beside the table of energies, of what was made of the rows of a sweep.
PARTS = "parts"
#: Hexadecimal digits of a digest in the name of a file.
_DIGITS = 16


def _versions() -> dict[str, str]:
    return {**versions(), "machine": platform.machine(), "columns": file_hash(DECLARED)}


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
        #: Of all that decides the table.
        self.digest = digest([inputs, code_digest(module), _versions()])[:_DIGITS]
        self._path = folder / f"{name}-{self.digest}.parquet"

    def made(self, make: Callable[[], Iterable[pa.Table]], further: Mapping[str, str] | None = None) -> None:
        """Put the table into the folder, made in parts, where it is not there: see `write_sealed`."""
        if not self.is_whole():
            write_sealed(self._path, make(), further, self._path.name)
            for other in self._path.parent.glob(self._others):
                if other != self._path:
                    other.unlink(missing_ok=True)

    def parts(self, where: Where | None = None, columns: Callable[[str], bool] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the table in parts; raise `InputError` where it was damaged or removed since it was made.

        Whole numbers of which some are missing are floats. ``where`` and ``columns`` are those of `sealed_parts`.
        """
        return (part.to_pandas(ignore_metadata=True) for part in self._sealed(where, columns))

    def _sealed(self, where: Where | None, columns: Callable[[str], bool] | None) -> Iterator[pa.Table]:
        return sealed_parts(self._path, where, columns, self._path.name)

    def further(self) -> dict[str, str]:
        """Return what was kept beside the table; errors are those of `parts`."""
        metadata = next(self._sealed(None, lambda _: False)).schema.metadata or {}
        return {key.decode(): value.decode() for key, value in metadata.items()}

    def is_whole(self) -> bool:
        """Whether the table was made of the same before and is whole."""
        if is_file(self._path):
            with contextlib.suppress(InputError):  # damaged: made again
                for _ in self._sealed(None, lambda _: False):
                    pass
                return True
        return False
