"""Another run beside the one that the report shows: its energies layer by layer, and its verdicts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from jouleloop.columns import read_table
from jouleloop.report.html.numbers import number
from jouleloop.report.html.plain import Cell, PlainTable, figure, text
from jouleloop.stats.cases import ENERGY
from jouleloop.stats.columns import VERDICTS
from jouleloop.tables.layouts import ENERGIES

if TYPE_CHECKING:
    from jouleloop.report.html.sources import ReportTables

#: Energies closer than this are the same optimum, found by sums in another order.
_SAME = 1e-9


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


def comparison_table(tables: "ReportTables") -> PlainTable | None:
    """Return both runs side by side, a row a test: energies over those of the other run, and both verdicts."""
    other = tables.other
    if other is None:
        return None
    rows = []
    for _, verdict in tables.verdicts[tables.verdicts["response"].isin(ENERGY)].iterrows():
        sweep, architecture, response = (str(verdict[name]) for name in ("sweep", "architecture", "response"))
        here = tables.every[(tables.every["sweep"] == sweep) & (tables.every["architecture"] == architecture)]
        here = here[here["status"] == "ok"].drop_duplicates("layer")
        there = other.rows(sweep, architecture, here["layer"])
        if response not in here.columns or response not in there.columns:
            continue
        ratio = here[response].to_numpy(dtype=np.float64) / there[response].to_numpy(dtype=np.float64)
        both = ratio[np.isfinite(ratio)]
        if not both.size:
            continue
        below, above = int((both < 1 - _SAME).sum()), int((both > 1 + _SAME).sum())
        shares = (float(both.min()), float(np.median(both)), float(both.max()))
        rows.append(
            (
                *(text(value) for value in (sweep, architecture, str(verdict["response_label"]))),
                *(figure(count) for count in (both.size, both.size - below - above, below, above)),
                *(Cell(number(share, 6), share) for share in shares),
                text(str(verdict["verdict"])),
                text(other.verdict(sweep, architecture, response)),
            )
        )
    heads = ("Sweep", "Architecture", "Response", "Layers in both", "Equal", "Lower here", "Higher here")
    ratios = ("Least ratio", "Median", "Largest", "Verdict here", "Verdict there")
    caption = f"How do the energies compare with the run in {other.name}? Energy here over energy there."
    return PlainTable(caption, (*heads, *ratios), tuple(rows))
