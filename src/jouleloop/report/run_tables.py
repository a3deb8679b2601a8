"""What a figure is drawn from: a study, the tables of its run, and the statistics of one sweep, each made once."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from jouleloop.columns import content_digest, read_table
from jouleloop.config.load import Study
from jouleloop.layouts import Layout
from jouleloop.report.selection import Tests
from jouleloop.stats.columns import FITS, RESIDUALS, VERDICTS
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse
from jouleloop.tables.layouts import ENERGIES
from jouleloop.units import unit_of
from jouleloop.workload.sweep import Sweep

#: Columns that no figure shows: long texts, which take half of the memory of a table.
_UNDRAWN = ("key", "mapping", "kept")


class _Read(NamedTuple):
    """Tests of growth as their tables have them."""

    verdicts: pd.DataFrame
    fits: pd.DataFrame
    residuals: pd.DataFrame


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
            of = next((name for name in ("sweep", "network") if layout.column(name)), None)
            where = {of: names} if of else None
            self._tables[layout.file], _ = read_table(
                self._path(layout), layout, where=where, columns=lambda name: name not in _UNDRAWN
            )
        return self._tables[layout.file]

    @cached_property
    def unit(self) -> str:
        """What the energies are in."""
        first = next(sweep.name for sweep in (*self.study.sweeps, *self.study.architecture_sweeps))
        return unit_of(self.rows(first)["energy_table"].dropna())

    @cached_property
    def architectures(self) -> list[str]:
        """The architectures that are shown, in the order of the table of energies."""
        return list(self.only or self.study.config.architectures)

    def sweep(self, name: str) -> Sweep:
        """Return a sweep, a network or a sweep of an architecture by its name."""
        return next(s for s in (*self.study.sweeps, *self.study.architecture_sweeps) if s.name == name)

    def rows(self, *sweeps: str) -> pd.DataFrame:
        """Return the energies of sweeps."""
        return self.table(ENERGIES, *sweeps)

    def content(self, layout: Layout, sweep: str) -> str:
        """Return a digest of the rows of a table that belong to a sweep or network, as far as figures show them."""
        return content_digest([self.table(layout, sweep)])

    def analysis(self, *sweeps: str) -> Tests:
        """Return the statistics of the data energy of ``sweeps``, which is all that figures of growth show."""
        if sweeps not in self._analyses:
            found: Tests | None = self._read_tests(sweeps) if self.tested else None
            if found is None:
                options: StatisticsOptions = self.study.config.statistics.model_copy(update={"responses": ["data"]})
                found = analyse(self.rows(*sweeps), [self.sweep(name) for name in sweeps], options)
            self._analyses[sweeps] = found
        return self._analyses[sweeps]

    def _read_tests(self, sweeps: Sequence[str]) -> "_Read | None":
        """Return the tests that the run has made; None where the data energy of a sweep is not among them."""
        where = {"sweep": sweeps, "response": ["data_pj"]}
        found = _Read(
            *(read_table(self._path(layout), layout, where=where)[0] for layout in (VERDICTS, FITS, RESIDUALS))
        )
        return found if set(found.verdicts["sweep"]) == set(sweeps) else None

    def _path(self, layout: Layout) -> Path:
        return self.folder / f"{layout.file}.parquet"
