"""An exhibit: a table or figure of a paper as a file, the function that makes it and the files that it is made from."""

import csv
import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError
from jouleloop.files import is_file, read_bytes, read_text, write_json, write_text
from jouleloop.layouts import declared


@dataclass(frozen=True)
class Exhibit:
    """A file of ``results/theory/``."""

    file: str
    """Its path there, such as ``conv/memory.csv``; the ending says what the function returns: a data frame, or its text
    (``.csv``), a figure (``.svg``) or plain data (``.json``)."""
    made_by: str
    """Module and function, such as ``convolution.tables.memory_table``; read only when it is made, so that
    the registry is light."""
    needs: tuple[str, ...] = ()
    """Files that the function takes as paths, in this order."""
    digits: int | None = None
    """Significant digits of a table's numbers; all that they have where not given."""

    def make(self, path: Path, needs: tuple[Path, ...] = ()) -> None:
        """Make the exhibit at ``path`` from the files ``needs``.

        Raises `InputError` where one of them is not what was written.
        """
        for need in needs:
            _check(need)
        made = self.function()(*needs)
        if path.suffix == ".csv":
            if isinstance(made, str):
                write_text(path, made)
            else:
                from jouleloop.columns import write_csv  # noqa: PLC0415 - imports pandas, and rules ask for the registry

                layout = declared()[f"theory/{Path(self.file).parent}/<table>"]
                write_csv(path, made, layout, digits=self.digits)
            # Exhibits are made from it, and no bit of a text tells that it is wrong.
            write_text(_seal(path), hashlib.sha256(path.read_bytes()).hexdigest())
        elif path.suffix == ".json":
            write_json(path, made)
        else:
            from jouleloop.theory.drawing import write_figure  # noqa: PLC0415 - matplotlib is slow to import

            write_figure(made, path)

    def function(self) -> Callable[..., Any]:
        """Return the function that makes the exhibit."""
        module, _, name = self.made_by.rpartition(".")
        found: Callable[..., Any] = getattr(importlib.import_module(f"jouleloop.theory.{module}"), name)
        return found


def _seal(path: Path) -> Path:
    return path.with_name(f".{path.name}.sha256")


def _check(path: Path) -> None:
    """Raise `InputError` where a table was changed since it was made; one from elsewhere is taken as it is."""
    seal = _seal(path)
    if is_file(seal) and read_text(seal) != hashlib.sha256(read_bytes(path)).hexdigest():
        raise InputError(Fault("the file is damaged: remove it, and it is made again", str(path)))


def exhibits() -> dict[str, Exhibit]:
    """Return the exhibits of all papers by file, as ``exhibits.csv`` declares them."""
    rows = csv.DictReader(read_text(Path(__file__).with_name("exhibits.csv")).splitlines())
    return {
        row["file"]: Exhibit(row["file"], row["made_by"], tuple(row["needs"].split()), int(row["digits"] or 0) or None)
        for row in rows
    }
