"""An exhibit: a table or figure of a paper as a file, the function that makes it and the files that it is made from."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from jouleloop.columns import Layout, write_csv
from jouleloop.files import write_json, write_text
from jouleloop.theory.papers import PAPERS


@dataclass(frozen=True)
class Exhibit:
    """A file of ``results/theory/``.

    Attributes
    ----------
    file
        Its path there, such as ``conv/memory.csv``; the ending says what the function returns: a data frame, or its
        text (``.csv``), a figure (``.svg``) or plain data (``.json``).
    made_by
        Module of the paper's folder and function, such as ``tables.memory_table``; read only when it is made, so that
        the registry is light.
    needs
        Files that the function takes as paths, in this order.
    digits
        Significant digits of a table's numbers; all that they have where not given.
    """

    file: str
    made_by: str
    needs: tuple[str, ...] = ()
    digits: int | None = None

    def make(self, path: Path, needs: tuple[Path, ...] = ()) -> None:
        """Make the exhibit at ``path`` from the files ``needs``."""
        made = self.function()(*needs)
        if path.suffix == ".csv":
            if isinstance(made, str):
                write_text(path, made)
            else:
                write_csv(path, made, self.layout(), digits=self.digits)
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

    def layout(self) -> Layout:
        """Return what defines the columns of the paper's tables."""
        module = importlib.import_module(f"jouleloop.theory.{self.made_by.partition('.')[0]}.columns")
        return cast("Layout", module.COLUMNS)


def exhibits() -> dict[str, Exhibit]:
    """Return the exhibits of all papers by file."""
    found = [
        exhibit
        for paper in PAPERS
        for exhibit in importlib.import_module(f"jouleloop.theory.{paper}.exhibits").EXHIBITS
    ]
    return {exhibit.file: exhibit for exhibit in found}
