"""What a figure is drawn from: a study, the tables of its run, and the statistics of one sweep, each made once."""

import math
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from jouleloop.columns import content_digest, read_parts, read_table
from jouleloop.config.load import Study
from jouleloop.layouts import Layout
from jouleloop.parquet import Where
from jouleloop.report.selection import Tests
from jouleloop.stats.columns import FITS, RESIDUALS, VERDICTS
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse
from jouleloop.tables.layouts import ENERGIES
from jouleloop.units import unit_of
from jouleloop.workload.sweep import Sweep

#: Columns that no figure shows: long texts, which take half of the memory of a table.
_UNDRAWN = ("key", "mapping", "kept")


#: Layers of a sweep beyond which not all are drawn: a panel has fewer places to tell points apart.
MOST_LAYERS = 20_000


class RunTables:
    """The tables of a finished run of a study, in a folder.

    Architectures are shown ``only`` by these names; all of the table where it is empty. Where the tests of growth
    beside the table of energies are of it (``tested``), they are read, not made.
    """

    def __init__(self, study: Study, folder: Path, only: Sequence[str] = (), *, tested: bool = False) -> None:
        self.study = study
        self.folder = folder
        self.only = only
        self.tested = tested
        self._names: tuple[str, ...] = ()
        self._tables: dict[str, pd.DataFrame] = {}
        self._contents: dict[tuple[str, str], str] = {}
        self._analyses: dict[tuple[str, ...], Tests] = {}

    def has(self, layout: Layout) -> bool:
        """Whether the run has made a table."""
        return self._path(layout).is_file()

    def table(self, layout: Layout, *names: str) -> pd.DataFrame:
        """Return the rows of a table that belong to sweeps or networks; raise `InputError` where the run has none.

        Tables of the sweeps that were asked for last stay: what one figure shows is in memory at a time.
        """
        if names != self._names:
            self._names, self._tables = names, {}
        if layout.file not in self._tables:
            self._tables[layout.file] = self._drawn(layout, _where(layout, names), names)
        return self._tables[layout.file]

    def step(self, sweep: str) -> int:
        """Return of how many layers of a sweep or network about one is drawn."""
        return max(1, math.ceil(len(self.sweep(sweep).points) / MOST_LAYERS))

    def _drawn(self, layout: Layout, where: Where | None, names: Sequence[str]) -> pd.DataFrame:
        """Return the rows of a table that figures show, of a large sweep those of some layers, the same in each."""
        steps = {name: self.step(name) for name in names}
        if layout.column("layer") is None or max(steps.values(), default=1) == 1:
            return read_table(self._path(layout), layout, where=where, columns=_is_drawn)[0]
        parts = read_parts(self._path(layout), layout, where, _is_drawn)
        return pd.concat([_some(part, steps) for part in parts], ignore_index=True)

    @cached_property
    def unit(self) -> str:
        """What the energies are in: as the study says where the tables are its own, else as the table says."""
        if self.tested or not self.has(ENERGIES):
            return self.study.unit
        first = next(sweep.name for sweep in self.study.every)
        return unit_of(self.table(ENERGIES, first)["energy_table"].dropna())

    @cached_property
    def architectures(self) -> list[str]:
        """The architectures that are shown, in the order of the table of energies."""
        return list(self.only or self.study.config.architectures)

    def sweep(self, name: str) -> Sweep:
        """Return a sweep, a network or a sweep of an architecture by its name."""
        return next(s for s in self.study.every if s.name == name)

    def content(self, layout: Layout, sweep: str) -> str:
        """Return a digest of the rows of a table that belong to a sweep or network, as far as figures show them."""
        of = (layout.file, sweep)
        if of not in self._contents:
            path, where = self._path(layout), _where(layout, [sweep])
            whole = self.step(sweep) == 1
            self._contents[of] = content_digest(
                [self.table(layout, sweep)] if whole else read_parts(path, layout, where, _is_drawn)
            )
        return self._contents[of]

    def analysis(self, *sweeps: str) -> Tests:
        """Return the statistics of the data energy of ``sweeps``, which is all that figures of growth show."""
        if sweeps not in self._analyses:
            found = self._read_tests(sweeps) if self.tested else None
            if found is None:
                options: StatisticsOptions = self.study.config.statistics.model_copy(update={"responses": ["data"]})
                rows, _ = read_table(self._path(ENERGIES), ENERGIES, where={"sweep": sweeps}, columns=_is_drawn)
                made = analyse(rows, [self.sweep(name) for name in sweeps], options)
                steps = {name: self.step(name) for name in sweeps}
                found = Tests(made.verdicts, made.fits, _some(made.residuals, steps))
            self._analyses[sweeps] = found
        return self._analyses[sweeps]

    def _read_tests(self, sweeps: Sequence[str]) -> Tests | None:
        """Return the tests that the run has made; None where the data energy of a sweep is not among them."""
        where = {"sweep": sweeps, "response": ["data_pj"]}
        found = Tests(*(self._drawn(layout, where, sweeps) for layout in (VERDICTS, FITS, RESIDUALS)))
        return found if set(found.verdicts["sweep"]) == set(sweeps) else None

    def _path(self, layout: Layout) -> Path:
        return self.folder / f"{layout.file}.parquet"


def _is_drawn(name: str) -> bool:
    return name not in _UNDRAWN


def _where(layout: Layout, names: Sequence[str]) -> Where | None:
    of = next((name for name in ("sweep", "network") if layout.column(name)), None)
    return {of: names} if of else None


def _some(rows: pd.DataFrame, steps: Mapping[str, int]) -> pd.DataFrame:
    """Return rows of one layer in so many of each sweep, chosen by a hash of its name."""
    if max(steps.values(), default=1) == 1:
        return rows
    points = zip(rows["sweep"], rows["layer"], strict=True)
    return rows[[zlib.crc32(str(layer).encode()) % steps[sweep] == 0 for sweep, layer in points]]
