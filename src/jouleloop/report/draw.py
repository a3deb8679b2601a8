"""Draws kinds of figures of a run into files."""

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jouleloop.errors import Fault, JouleloopError, raise_all
from jouleloop.files import is_file
from jouleloop.report.registry import FigureKind
from jouleloop.report.run_tables import RunTables
from jouleloop.study.keys import code_digest, digest
from jouleloop.study.provenance import versions
from jouleloop.units import energies_in

LOG = logging.getLogger("jouleloop")


def draw(
    kind: FigureKind,
    run: RunTables,
    place: Mapping[str, str],
    folder: Path,
    formats: Sequence[str],
    *,
    anew: bool = True,
) -> list[Path]:
    """Draw one figure into ``folder`` and return its files; none where there is nothing to draw.

    Raises `InputError` where the run lacks a table, or the table what the figure shows.

    Without ``anew`` it is not drawn where its files say that they show the same.
    """
    path = folder / kind.stem.format(**place)
    shown = _shown(kind, run, place)
    files = [path.with_name(f"{path.name}.{name}") for name in formats]
    if not anew and all(is_file(file) and shown.encode() in file.read_bytes() for file in files):
        return files
    from jouleloop.report.style import save_figure  # noqa: PLC0415 - Matplotlib, which nothing above needs

    with energies_in(run.unit):
        figure = kind.figure(run, place)
        if figure is None:
            return []
        caption = figure.caption + _left_out(run, place.get(kind.subject or ""))
        return list(save_figure(replace(figure, name=path.name, caption=caption), path.parent, formats, shown))


def _left_out(run: RunTables, subject: str | None) -> str:
    """Return what a caption says of a sweep of which not all layers are drawn."""
    if not subject or run.step(subject) == 1:
        return ""
    return (
        f" Of the {len(run.sweep(subject).points):,} layers of the sweep about one in {run.step(subject)} is drawn and "
        "counted here, chosen by a hash of its name; fits and verdicts are of all."
    )


def _shown(kind: FigureKind, run: RunTables, place: Mapping[str, str]) -> str:
    """Return a digest of all that decides what a figure shows: rows, sweeps, statistics, and the code that draws."""
    subject = place.get(kind.subject or "")
    sweeps = [run.sweep(subject)] if subject and not kind.beyond else list(run.study.sweeps)
    return digest(
        [
            *(kind.name, dict(place), list(run.only)),
            [run.content(layout, sweep.name) for sweep in sweeps for layout in kind.needs],
            [repr(replace(sweep, points=())) for sweep in sweeps],
            run.study.config.statistics.model_dump(mode="json") if kind.tests else None,
            *(code_digest("jouleloop.report.study_figures"), versions()),
        ]
    )[:32]


def draw_all(kinds: Iterable[FigureKind], run: RunTables, subject: str, folder: Path, formats: Sequence[str]) -> None:
    """Draw the figures of some kinds that show ``subject``, a sweep or network, or the study where it is empty.

    Files that say that they show the same are left as they are. A figure that cannot be drawn leaves no file and costs
    no other one.

    Raises `InputError` at the end, with what could not be drawn.
    """
    places = [(kind, place) for kind in kinds for place in kind.places(run.study)]
    faults: list[Fault] = []
    for kind, place in places:
        if place.get(kind.subject or "", "") != subject:
            continue
        path = folder / kind.stem.format(**place)
        try:
            # How many figures a folder gets depends on which architectures have a mapping.
            path.parent.mkdir(parents=True, exist_ok=True)
            draw(kind, run, place, folder, formats, anew=False)
        except Exception as error:  # whatever it is: other figures do not depend on it
            if not isinstance(error, JouleloopError):
                LOG.exception("%s", path)
            faults.append(Fault(f"not drawn: {error}".replace("\n", "; "), str(path)))
            for name in formats:
                with contextlib.suppress(OSError):
                    path.with_name(f"{path.name}.{name}").unlink()
    raise_all(faults)
