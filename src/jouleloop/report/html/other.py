"""Another run beside the one that the report shows: its energies layer by layer, and its verdicts."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from jouleloop.columns import read_table
from jouleloop.stats.columns import VERDICTS
from jouleloop.tables.layouts import ENERGIES


@dataclass(frozen=True)
class OtherRun:
    """The tables of the run that this one is compared with."""

    name: str
    """Its folder."""
    energies: pd.DataFrame
    """Its table of energies."""
    verdicts: pd.DataFrame | None
    """Its verdicts; None where it has none."""

    def rows(self, sweep: str, architecture: str, layers: pd.Series) -> pd.DataFrame:
        """Return its rows of ``layers`` in their order, empty where it has no such layer."""
        table = self.energies
        found = table[(table["sweep"] == sweep) & (table["architecture"] == architecture) & (table["status"] == "ok")]
        return found.drop_duplicates("layer").set_index("layer").reindex(layers)

    def verdict(self, sweep: str, architecture: str, response: str) -> str:
        """Return its verdict on a response, a dash where it has none."""
        if self.verdicts is None:
            return "–"
        table = self.verdicts
        same = (table["sweep"] == sweep) & (table["architecture"] == architecture) & (table["response"] == response)
        return str(table.loc[same, "verdict"].iloc[0]) if same.any() else "–"


def read_other(folder: Path) -> OtherRun:
    """Return the run in ``folder``; raise `InputError` where it has no readable table of energies."""
    verdicts = folder / f"{VERDICTS.file}.parquet"
    return OtherRun(
        str(folder),
        read_table(folder / f"{ENERGIES.file}.parquet", ENERGIES)[0],
        read_table(verdicts, VERDICTS)[0] if verdicts.is_file() else None,
    )
