"""Draws kinds of figures of a run into files."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from jouleloop.columns import write_table
from jouleloop.report.figures_architecture import architecture_figure
from jouleloop.report.registry import FigureKind
from jouleloop.report.run_tables import RunTables
from jouleloop.report.style import FORMATS, save_figure
from jouleloop.tables.layouts import VARIANTS
from jouleloop.tables.variants import variants_table
from jouleloop.workload.sweep import Sweep


def draw(
    kind: FigureKind, run: RunTables, place: Mapping[str, str], folder: Path, formats: Sequence[str]
) -> list[Path]:
    """Draw one figure into ``folder`` and return its files; none where there is nothing to draw.

    Raises
    ------
    InputError
        Where the run lacks a table, or the table what the figure shows.
    """
    figure = kind.figure(run, place)
    if figure is None:
        return []
    path = folder / kind.stem.format(**place)
    return list(save_figure(replace(figure, name=path.name), path.parent, formats))


def draw_all(kinds: Iterable[FigureKind], run: RunTables, folder: Path, formats: Sequence[str], processes: int) -> None:
    """Draw all figures of some kinds into ``folder``, those of one sweep in one process: they share its statistics.

    Raises
    ------
    InputError
        As `draw`.
    """
    groups: dict[str, list[tuple[FigureKind, Mapping[str, str]]]] = {}
    for kind in kinds:
        for place in kind.places(run.study):
            # How many figures a folder gets depends on which architectures have a mapping.
            (folder / kind.stem.format(**place)).parent.mkdir(parents=True, exist_ok=True)
            groups.setdefault(place.get(kind.subject or "", ""), []).append((kind, place))
    _GROUPS[:] = [partial(_draw_group, run, folder, formats, group) for group in groups.values()]
    if processes > 1 and len(_GROUPS) > 1 and sys.platform == "linux":
        # Forked: what was imported is there. Tables are read after the fork, since Arrow has threads.
        with ProcessPoolExecutor(min(processes, len(_GROUPS)), get_context("fork")) as pool:
            list(pool.map(_draw_number, range(len(_GROUPS))))
    else:
        for number in range(len(_GROUPS)):
            _draw_number(number)


#: What `draw_all` has to do: forked processes have it from there, since kinds of figures cannot be sent to them.
_GROUPS: list[Callable[[], None]] = []


def _draw_number(number: int) -> None:
    _GROUPS[number]()


def _draw_group(
    run: RunTables, folder: Path, formats: Sequence[str], group: Iterable[tuple[FigureKind, Mapping[str, str]]]
) -> None:
    for kind, place in group:
        draw(kind, run, place, folder, formats)


def write_architecture_sweep(
    energies: pd.DataFrame, sweep: Sweep, results: Path, formats: Sequence[str] = FORMATS
) -> None:
    """Write the table of a sweep's variants, and draw energy per MAC on every architecture that has a mapping."""
    table = variants_table(energies, sweep)
    write_table(results / "architecture" / sweep.name, table, VARIANTS)
    for name in dict.fromkeys(table["architecture"][table["status"] == "ok"]):
        save_figure(architecture_figure(energies, sweep, str(name)), results / "figures" / sweep.name, formats)
