"""``jouleloop figures``: draw the figures of finished results again, all of them or one."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jouleloop.api.project import own_root, project_root
from jouleloop.columns import read_table
from jouleloop.config.load import Study, load_study, read_config
from jouleloop.errors import Fault, InputError, raise_all, unknown
from jouleloop.report.html.sources import sweeps_of
from jouleloop.report.registry import FIGURE4_SWEEPS, FIGURES, FigureKind
from jouleloop.tables.layouts import ENERGIES
from jouleloop.terminal.console import print_note, print_text, stderr

if TYPE_CHECKING:
    import pandas as pd

_FORMATS = ("png", "svg", "pdf")


def figures(
    results: Annotated[Path, typer.Argument(help="Folder with energies.parquet.")] = Path("results"),
    only: Annotated[
        str | None, typer.Option("--only", help="Draw the figures of this sweep or network, or of this kind, only.")
    ] = None,
    arch: Annotated[str | None, typer.Option("--arch", help="Draw this architecture only.")] = None,
    formats: Annotated[
        str | None, typer.Option("--formats", help="File formats, such as png,svg,pdf; as configured without it.")
    ] = None,
) -> None:
    """Draw every kind of figure whose tables the results hold: docs/figures.md lists them."""
    root = project_root()
    energies, provenance = read_table(results / "energies.parquet", ENERGIES)
    study = _present(load_study(read_config(root / "config" / "config.yaml"), root), energies, provenance)
    architectures = [str(name) for name in energies["architecture"].unique()]
    names = [sweep.name for sweep in study.every]
    kinds = list(dict.fromkeys(_group(kind) for kind in FIGURES))
    wanted = formats.split(",") if formats else list(study.config.outputs.figure_formats)
    faults: list[Fault] = []
    if only is not None and only not in {*names, *kinds}:
        faults.append(unknown(only, [*names, *kinds], "sweep", field="--only"))
    if arch is not None and arch not in architectures:
        faults.append(unknown(arch, architectures, "architecture", field="--arch"))
    faults += [unknown(name, _FORMATS, "format", field="--formats") for name in wanted if name not in _FORMATS]
    raise_all(faults)
    if only == "figure4" and not set(FIGURE4_SWEEPS) <= set(names):
        raise InputError(f"Figure 4 needs the sweeps {', '.join(FIGURE4_SWEEPS)} in {results / 'energies.parquet'}")
    # Drawing needs matplotlib, which is slow to import; mistakes are reported before that.
    from jouleloop.report.draw import draw  # noqa: PLC0415
    from jouleloop.report.run_tables import RunTables  # noqa: PLC0415

    run = RunTables(study, results, [arch] if arch else architectures)
    for kind in FIGURES:
        if arch is not None and kind.subject is not None and "architecture" not in kind.per:
            continue  # it shows all architectures side by side
        places = [
            place
            for place in kind.places(study, run.architectures)
            if only in (None, _group(kind), *(value for word, value in place.items() if word != "architecture"))
        ]
        missing = [layout.file for layout in kind.needs if not run.has(layout)]
        if places and missing:
            stderr.print(f"{kind.name}: left out, there is no {missing[0]}.parquet", markup=False, highlight=False)
            continue
        for place in places:
            for path in draw(kind, run, place, results / "figures", wanted):
                print_text(str(path))


def _present(study: Study, energies: "pd.DataFrame", provenance: Mapping[str, Any]) -> Study:
    """Return the part of a study that a table has rows of, and the sweeps that only the table knows."""
    names = [str(name) for name in energies["sweep"].unique()]
    configured = {sweep.name: sweep for sweep in study.every}
    found, notes = sweeps_of(provenance, own_root() or Path())
    for note in notes:
        print_note(note)
    sweeps = [found.get(name) or configured.get(name) for name in names]
    known = [sweep for sweep in sweeps if sweep is not None]
    return Study(
        study.config,
        tuple(sweep for sweep in known if not sweep.attributes),
        tuple(sweep for sweep in known if sweep.attributes),
    )


def _group(kind: FigureKind) -> str:
    """Return the name that ``--only`` asks for a kind by: Figure 4 comes with its panels."""
    return kind.stem.partition("/")[0] if "{" not in kind.stem.partition("/")[0] else kind.name
