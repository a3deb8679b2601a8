"""``jouleloop config``: check the configuration, or write what is generated from its definition."""

from typing import Annotated

import typer

from jouleloop.api.project import project_root
from jouleloop.cli.generated import generated_files
from jouleloop.config.load import load_study, read_config
from jouleloop.files import write_text
from jouleloop.terminal.console import stdout


def config(
    write_schema: Annotated[
        bool, typer.Option("--write-schema", help="Write workflow/schemas/ and the tables of keys in the READMEs.")
    ] = False,
) -> None:
    """Check config/config.yaml and all sweeps it names; print what a run would do."""
    root = project_root()
    if write_schema:
        for path, text in generated_files(root).items():
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_text(path, text)
                stdout.print(f"written: {path.relative_to(root)}", markup=False, highlight=False)
        return
    from jouleloop.tables.layers import check_sweeps  # noqa: PLC0415 - imports the statistics, which are slow to load

    study = load_study(read_config(root / "config" / "config.yaml"), root)
    check_sweeps(study.tested)
    for sweep in study.sweeps:
        stdout.print(f"{sweep.name}: {len(sweep.points)} layers", markup=False, highlight=False)
