"""``jouleloop report``: the HTML report of finished results, without Snakemake."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.api.project import own_root, project_config, project_root
from jouleloop.terminal.console import print_text


def report(
    results: Annotated[
        Path, typer.Argument(help="Folder with energies.parquet; tables of the statistics are read, or made, there.")
    ] = Path("results"),
    output: Annotated[
        Path | None,
        typer.Option("--output", help="HTML file to write; report.html in the folder without it.", dir_okay=False),
    ] = None,
    allow_mixed: Annotated[
        bool,
        typer.Option("--allow-mixed", help="Accept results of several engines or energy tables; each is tested alone."),
    ] = False,
    against: Annotated[
        Path | None, typer.Option("--against", help="Folder of another run, shown beside this one layer by layer.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Test the growth again instead of reading verdicts.csv and its neighbours.")
    ] = False,
) -> None:
    """Write one self-contained HTML page with verdicts, charts, mappings and provenance (energies in J)."""
    # Reading and rendering need pandas and jinja, which are slow to import; --help does not.
    from jouleloop.report.html.page import write_report  # noqa: PLC0415
    from jouleloop.report.html.sources import read_tables  # noqa: PLC0415
    from jouleloop.stats.options import StatisticsOptions  # noqa: PLC0415

    config = project_config(project_root())
    options = config.statistics if config is not None else StatisticsOptions()
    if allow_mixed:
        options = options.model_copy(update={"allow_mixed": True})
    path = output or results / "report.html"
    tables = read_tables(results, options, root=own_root() or Path(), again=again, against=against)
    size = write_report(tables, path)
    print_text(f"{path} ({size / 1e6:.1f} MB)")
