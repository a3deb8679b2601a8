"""What a figure is drawn from: a study, the tables of its run, and the statistics of one sweep, each made once."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from jouleloop.columns import read_table
from jouleloop.config.load import Study
from jouleloop.layouts import Layout
from jouleloop.stats.options import StatisticsOptions
from jouleloop.tables.growth import analyse, rows_of
from jouleloop.tables.layouts import ENERGIES
from jouleloop.workload.sweep import Sweep

if TYPE_CHECKING:
    from jouleloop.stats.analysis import Analysis


class RunTables:
    """The tables of a finished run.

    Attributes
    ----------
    study
        What was configured.
    folder
        Where its tables are.
    only
        The architectures that are shown; all of the table where it is empty.
    """

    def __init__(self, study: Study, folder: Path, only: Sequence[str] = ()) -> None:
        self.study = study
        self.folder = folder
        self.only = only
        self._tables: dict[str, pd.DataFrame] = {}
        self._analyses: dict[tuple[str, ...], Analysis] = {}

    def has(self, layout: Layout) -> bool:
        """Whether the run has made a table."""
        return self._path(layout).is_file()

    def table(self, layout: Layout) -> pd.DataFrame:
        """Return a table; raise `InputError` where the run has not made it."""
        if layout.file not in self._tables:
            self._tables[layout.file], _ = read_table(self._path(layout), layout)
        return self._tables[layout.file]

    @property
    def energies(self) -> pd.DataFrame:
        """The table of energies."""
        return self.table(ENERGIES)

    @cached_property
    def architectures(self) -> list[str]:
        """The architectures that are shown, in the order of the table of energies."""
        return list(self.only) or [str(name) for name in self.energies["architecture"].unique()]

    def sweep(self, name: str) -> Sweep:
        """Return a sweep, a network or a sweep of an architecture by its name."""
        return next(s for s in (*self.study.sweeps, *self.study.architecture_sweeps) if s.name == name)

    def rows(self, sweep: str) -> pd.DataFrame:
        """Return the energies of one sweep."""
        return rows_of(self.energies, [self.sweep(sweep)])

    def content(self, layout: Layout, sweeps: Sequence[str]) -> str:
        """Return a digest of the rows of a table that belong to sweeps or networks, without the keys of results."""
        table = self.table(layout).drop(columns="key", errors="ignore")
        of = next((name for name in ("sweep", "network") if name in table.columns), None)
        rows = table if of is None else table[table[of].isin(sweeps)]
        state = hashlib.sha256(repr(list(rows.dtypes.items())).encode())
        state.update(pd.util.hash_pandas_object(rows, index=False).to_numpy().tobytes())
        return state.hexdigest()

    def analysis(self, *sweeps: str) -> "Analysis":
        """Return the statistics of the data energy of ``sweeps``, which is all that figures of growth show."""
        if sweeps not in self._analyses:
            options: StatisticsOptions = self.study.config.statistics.model_copy(update={"responses": ["data"]})
            self._analyses[sweeps] = analyse(self.energies, [self.sweep(name) for name in sweeps], options)
        return self._analyses[sweeps]

    def _path(self, layout: Layout) -> Path:
        return self.folder / f"{layout.file}.parquet"
