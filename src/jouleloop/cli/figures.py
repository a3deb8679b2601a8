"""``jouleloop figures``: draw the figures of finished results again, all of them or one."""

from pathlib import Path
from typing import Annotated

import typer

from jouleloop.cli.project import project_root
from jouleloop.columns import read_table
from jouleloop.config.load import load_study, read_config
from jouleloop.errors import InputError, raise_all, unknown
from jouleloop.tables.layouts import ENERGIES
from jouleloop.terminal.console import stdout


def figures(
    results: Annotated[Path, typer.Argument(help="Folder with energies.parquet.")] = Path("results"),
    only: Annotated[str | None, typer.Option("--only", help="Draw this sweep's figures only, or figure4.")] = None,
    arch: Annotated[str | None, typer.Option("--arch", help="Draw this architecture only.")] = None,
    formats: Annotated[
        str | None, typer.Option("--formats", help="File formats, such as png,svg,pdf; as configured without it.")
    ] = None,
) -> None:
    """Draw growth and breakdown of every sweep, and Figure 4 of paper 002, from the table of energies."""
    root = project_root()
    study = load_study(read_config(root / "config" / "config.yaml"), root)
    energies, _ = read_table(results / "energies.parquet", ENERGIES)
    present = {str(name) for name in energies["sweep"].unique()}
    sweeps = [sweep for sweep in study.tested if sweep.name in present]
    architectures = [str(name) for name in energies["architecture"].unique()]
    faults = []
    if only is not None and only not in {*(sweep.name for sweep in sweeps), "figure4"}:
        faults.append(unknown(only, [*(sweep.name for sweep in sweeps), "figure4"], "sweep", field="--only"))
    if arch is not None and arch not in architectures:
        faults.append(unknown(arch, architectures, "architecture", field="--arch"))
    wanted = formats.split(",") if formats else list(study.config.outputs.figure_formats)
    faults += [
        unknown(name, ("png", "svg", "pdf"), "format", field="--formats")
        for name in wanted
        if name not in ("png", "svg", "pdf")
    ]
    raise_all(faults)
    # Drawing needs matplotlib, which is slow to import; mistakes are reported before that.
    from jouleloop.report.figures import FIGURE4_SWEEPS  # noqa: PLC0415
    from jouleloop.report.study_figures import draw_figure4, draw_sweep  # noqa: PLC0415

    shown = [arch] if arch else architectures
    folder = results / "figures"
    options = study.config.statistics
    paths: list[Path] = []
    for sweep in sweeps:
        if only in (None, sweep.name):
            paths += draw_sweep(energies, sweep, shown, folder, wanted, options)
    complete = set(FIGURE4_SWEEPS) <= {sweep.name for sweep in sweeps}
    if only == "figure4" and not complete:
        raise InputError(f"Figure 4 needs the sweeps {', '.join(FIGURE4_SWEEPS)} in {results / 'energies.parquet'}")
    if complete and only in (None, "figure4"):
        paths += draw_figure4(energies, sweeps, shown, folder, wanted, options)
    for path in paths:
        stdout.print(str(path), markup=False, highlight=False, soft_wrap=True)
