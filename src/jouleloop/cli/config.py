"""``jouleloop config``: check the configuration, or write what is generated from its definition."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.project import project_root
from jouleloop.cli.generated import generated_files
from jouleloop.files import read_yaml, write_text
from jouleloop.terminal.console import stdout


def config(
    write_schema: Annotated[
        bool, typer.Option("--write-schema", help="Write workflow/schemas/ and the tables of keys in the READMEs.")
    ] = False,
) -> None:
    """Check config/config.yaml and all files that it names, as a run does; print what a run would do."""
    root = project_root()
    if write_schema:
        for path, text in generated_files(root).items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_text(path, text)
                stdout.print(f"written: {path.relative_to(root)}", markup=False, highlight=False)
        return
    from jouleloop.workflow import Workflow  # noqa: PLC0415 - imports the statistics, which are slow to load

    with contextlib.chdir(root):  # paths of a configuration are those of a run
        plan = Workflow(read_yaml(Path("config/config.yaml")))
    for sweep in plan.study.sweeps:
        stdout.print(f"{sweep.name}: {len(sweep.points)} layers", markup=False, highlight=False)
