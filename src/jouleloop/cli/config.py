"""``jouleloop config``: check the configuration, or write what is generated from its definition."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.project import project_root
from jouleloop.cli.generated import generated_files
from jouleloop.files import read_yaml, write_text
from jouleloop.terminal.console import print_note, print_text


def config(
    write_schema: Annotated[
        bool, typer.Option("--write-schema", help="Write workflow/schemas/ and the tables of keys in the READMEs.")
    ] = False,
) -> None:
    """Check config/config.yaml and all files that it names, as a run does; print what a run would do."""
    here = Path("config/config.yaml").is_file()  # a run of this folder reads it, with or without arch/ beside it
    root = Path.cwd() if here else project_root()
    if write_schema:
        for path, text in generated_files(root).items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_text(path, text)
                print_text(f"written: {path.relative_to(root)}")
        return
    from jouleloop.workflow import Workflow  # noqa: PLC0415 - imports the statistics, which are slow to load

    with contextlib.chdir(root):  # paths of a configuration are those of a run
        plan = Workflow(read_yaml(Path("config/config.yaml")))
        refusal = plan.refusal(())
    if not here:
        print_text(f"{root}/config/config.yaml:")
    for sweep in plan.study.sweeps:
        print_text(f"{sweep.name}: {len(sweep.points)} layers")
    if refusal:
        print_note(f"warning: {refusal}")
