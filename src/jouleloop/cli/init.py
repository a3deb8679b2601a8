"""``jouleloop init``: a study to start from."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.start import write_study
from jouleloop.terminal.console import print_text


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the new study; it need not exist.", file_okay=False)
    ],
) -> None:
    """Write a study to start from: configuration, a sweep, architectures with energies and constraints, a Snakefile."""
    written = write_study(folder)
    print_text(f"{len(written)} files in {folder}\nnext: cd {folder} && snakemake --cores all")
