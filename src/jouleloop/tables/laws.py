"""The law behind every point of an energies table: exact energies in the layer's sizes, and the classes of mappings."""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from jouleloop.stats.laws import NONE, Terms, fewest_laws
from jouleloop.study.compute import Job
from jouleloop.tables.laws_found import FC, Rows, SweepOn, room_between, usable
from jouleloop.tables.laws_points import SweepLaws
from jouleloop.workload.sweep import Sweep

#: Columns of the tables where no point has a law.
_LAW_COLUMNS = ["architecture", "sweep", "law", "points", "formula_data", "formula_total"]
_POINT_COLUMNS = ["architecture", "sweep", "layer", "variable", "law", "data_pj", "law_data_pj", "common_law_data_pj"]
_NO_POINTS = pd.DataFrame(columns=_POINT_COLUMNS)
#: Texts of the table of energies that laws do not follow from.
_UNUSED = ("reason", "engine", "energy_table", "estimator", "objective", "semantics", "constraints", "stopped")
_TERM_COLUMNS = ["architecture", "law", "level", "data_space", "action", "monomial", "accesses", "coefficient_pj"]


@dataclass(frozen=True)
class LawTables:
    """The tables of laws.

    Attributes
    ----------
    laws
        One row per architecture, sweep and law: results/laws.csv.
    points
        One row per point: results/law_points.csv.
    terms
        One row per law, level, data space, action and monomial: results/law_terms.csv.
    """

    laws: pd.DataFrame
    points: pd.DataFrame
    terms: pd.DataFrame


def is_used(name: str) -> bool:
    """Whether laws need the column of that name of a table of energies."""
    return name not in _UNUSED


def law_tables(energies: pd.DataFrame, jobs: Mapping[str, Job], sweeps: Sequence[Sweep]) -> LawTables:
    """Return the laws of all usable points of ``sweeps``; see `LawsFound`."""

    def rows(architecture: str, sweep: Sweep) -> list[pd.DataFrame]:
        return [energies[(energies["architecture"] == architecture) & (energies["sweep"] == sweep.name)]]

    with TemporaryDirectory() as folder:
        found = LawsFound(jobs, sweeps, rows, Path(folder))
        points = [part for _, again in found.points() for part in again()]
        return LawTables(found.laws(), pd.concat(points or [_NO_POINTS], ignore_index=True), found.terms())


class LawsFound:
    """The laws of all usable points of sweeps, whose rows are in memory a part at a time.

    Sweeps of one architecture whose laws are in the same sizes share their classes and numbers: all fully-connected
    ones, for instance.

    Parameters
    ----------
    folder
        Where the laws of each sweep are kept, and found where its rows are the same.
    """

    def __init__(self, jobs: Mapping[str, Job], sweeps: Sequence[Sweep], rows: Rows, folder: Path) -> None:
        self._groups: list[_Group] = []
        for architecture, job in jobs.items():
            members: dict[tuple[str, tuple[str, ...]], list[Sweep]] = defaultdict(list)
            for sweep in sweeps:
                sizes = _sizes(sweep, rows(architecture, sweep))
                if sizes is not None:
                    members[sweep.points[0].layer.kind.base, sizes].append(sweep)
            numbered = 0
            for (_, sizes), own in members.items():
                room = room_between()
                places = [SweepOn(architecture, job, sizes, sweep, rows) for sweep in own]
                found = [SweepLaws(place, folder, room) for place in places]
                self._groups.append(_Group(architecture, numbered, found))
                numbered += self._groups[-1].count

    def points(self) -> Iterator[tuple[pd.DataFrame, Callable[[], Iterator[pd.DataFrame]]]]:
        """Yield the parts of the table of points: the first row of each, and what yields all of them."""
        for group in self._groups:
            yield next(group.points()).iloc[:1], group.points
        if not self._groups:
            yield _NO_POINTS, lambda: iter([_NO_POINTS])

    def laws(self) -> pd.DataFrame:
        """Return the table of laws."""
        rows = [row for group in self._groups for row in group.law_rows()]
        return _ordered(pd.DataFrame(rows, columns=None if rows else _LAW_COLUMNS))

    def terms(self) -> pd.DataFrame:
        """Return the table of terms."""
        rows = [row for group in self._groups for row in group.term_rows()]
        return pd.DataFrame(rows, columns=None if rows else _TERM_COLUMNS)


def _sizes(sweep: Sweep, parts: Iterable[pd.DataFrame]) -> tuple[str, ...] | None:
    """Return the sizes that the laws of a sweep are in: n and m of fully-connected layers, else all that vary.

    None where it has no usable points.
    """
    kind = sweep.points[0].layer.kind
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for rows in usable(parts):
        for column in (column for column, _ in kind.fields if column in rows.columns):
            least[column] = min(least.get(column, math.inf), rows[column].min())
            most[column] = max(most.get(column, -math.inf), rows[column].max())
    if not least:
        return None
    ones = ("N", "R", "S", "P", "Q", "groups")
    if kind.base == "conv" and all(least[name] == most[name] == 1 for name in ones):
        return FC
    return tuple(name for column, name in kind.fields if column in least and least[column] < most[column])


class _Group:
    """The laws of the sweeps of one architecture that are in the same sizes: as few as will do for all their points."""

    def __init__(self, architecture: str, first: int, sweeps: Sequence[SweepLaws]) -> None:
        self.architecture, self._sweeps = architecture, sweeps
        points, laws, counts = zip(*(one.candidates() for one in sweeps), strict=True)
        starts = np.concatenate([[0], np.cumsum(counts)])
        placed = np.concatenate([own + start for own, start in zip(points, starts, strict=False)])
        chosen = fewest_laws(placed, np.concatenate(laws), int(starts[-1]))
        del points, laws, placed
        numbers, at, obeyed = np.unique(chosen, return_index=True, return_counts=True)
        order = [i for i in np.lexsort((at, -obeyed)) if numbers[i] != NONE]
        self.count = len(order)
        self._names = {int(numbers[i]): f"{architecture}-{first + place}" for place, i in enumerate(order, 1)}
        common, place = (int(numbers[order[0]]), int(at[order[0]])) if order else (NONE, 0)

        def terms() -> Terms:
            of = int(np.searchsorted(starts, place, side="right")) - 1
            return sweeps[of].found.energy(place - int(starts[of]), common).data_pj if order else ()

        for one, start, count in zip(sweeps, starts, counts, strict=False):
            one.write(chosen[start : start + count], common, terms)

    def points(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of points in parts."""
        return itertools.chain.from_iterable(one.points(self._names) for one in self._sweeps)

    def law_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of laws, those that most points obey first."""
        for number, name in self._names.items():
            for one in self._sweeps:
                if number in one.rows:
                    own = {"architecture": self.architecture, "sweep": one.sweep.name, "law": name}
                    yield {**own, **one.rows[number]}

    def term_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of terms in the same order of laws."""
        for number, name in self._names.items():
            terms = next(one.terms[number] for one in self._sweeps if number in one.terms)
            yield from ({"architecture": self.architecture, "law": name, **row} for row in terms)


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the laws with the columns of coefficients last."""
    coefficients = [name for name in table.columns if re.fullmatch(r"(data|compute)_.*_pj", str(name))]
    rest = [name for name in table.columns if name not in coefficients]
    return table[[*rest, *coefficients]]
