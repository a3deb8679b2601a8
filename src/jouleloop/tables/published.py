"""Published energies beside ours, point by point: under the constraints of the published runs, and under every set."""

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.files import read_text
from jouleloop.study.compute import Job
from jouleloop.study.store import ResultStore
from jouleloop.tables.energies import energies_table
from jouleloop.workload.layer import CONV, GROUPED_CONV
from jouleloop.workload.sweep import Sweep

#: Energies of levels and data spaces have two decimals in print, and published totals are sums of those; energies
#: closer than this may be equal [pJ].
PRINTED_PJ = 0.1
#: Decimals of a ratio that two such sums of at least 10 million pJ support.
_RATIO_DECIMALS = 9
_COLUMNS = ("parameter", "published_pj", "published_compute_pj", "published_data_pj", "theory_macs", "theory_words")
_OURS = ("total_pj", "compute_pj", "data_pj", "optimal")


def read_published(sweep: Sweep, architecture: str) -> pd.DataFrame | None:
    """Return the published table of a sweep: parameter, total, compute and data energy [pJ], theory; None without one.

    Raises `InputError` where the table is missing or is none.
    """
    paths = dict(sweep.published)
    if architecture not in paths:
        return None
    path = Path(paths[architecture])
    try:
        table = pd.read_csv(io.StringIO(read_text(path)), sep=";", header=None)
    except (ValueError, OverflowError) as error:
        raise InputError(Fault(f"published energies cannot be read: {error}", sweep.source, "published")) from error
    if table.shape[1] < 2 or table.shape[1] > len(_COLUMNS):
        raise InputError(Fault("not a table of published energies", str(path), allowed="; ".join(_COLUMNS)))
    if not all(kind in "iuf" for kind in (dtype.kind for dtype in table.dtypes)) or table.isna().to_numpy().any():
        raise InputError(Fault("every field must be a number", str(path), allowed="; ".join(_COLUMNS)))
    table.columns = pd.Index(_COLUMNS[: table.shape[1]])
    return table


def compare_published(
    architecture: str, jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore
) -> pd.DataFrame:
    """Return published and own total energies of every published point on one architecture.

    ``ours_pj``, ``ratio`` (ours to published), ``ours_is`` (equal, below, above) and ``optimal`` are for the set of
    constraints that the published run searched under, named in ``set``; then come energy and ratio for every set.
    ``ours_printed_pj`` is the sum of our energies by level and data space, each rounded to the two decimals that
    Timeloop prints; what is equal to the published sum is so to the last decimal. Ratios have the digits that the print
    supports.

    Raises `InputError` where a published parameter is no point of the sweep, or the set of a published run is not among
    ``jobs``.

    Parameters
    ----------
    jobs
        How layers are searched, by set of constraints.
    """
    found = [(sweep, read_published(sweep, architecture)) for sweep in sweeps]
    tables = [(sweep, table) for sweep, table in found if table is not None]
    if not tables:
        raise InputError(Fault(f"no sweep has published energies on {architecture}", field="published"))
    energies = _searched(architecture, jobs, [sweep for sweep, _ in tables], store)
    parts = []
    for sweep, table in tables:
        ours = {which: _points_of(sweep, table, rows) for which, rows in energies.items()}
        which = dict(sweep.published_set).get(architecture, "full")
        if which not in ours:
            raise InputError(Fault("is not searched", sweep.source, "published_set", which, ", ".join(ours)))
        parts.append(_compared(architecture, sweep, table, ours, which))
    return pd.concat(parts, ignore_index=True)


def summarise_published(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many points are equal, below and above, and the least and greatest ratio, by architecture and sweep.

    One more row an architecture, sweep ``(all)``, is for all of its points.
    """
    rows = []
    for architecture, points in table.groupby("architecture", sort=False):
        groups = [*points.groupby("sweep", sort=False), ("(all)", points)]
        for sweep, group in groups:
            counts = {f"ours_{name}": int((group["ours_is"] == name).sum()) for name in ("equal", "below", "above")}
            rows.append(
                {
                    "architecture": architecture,
                    "sweep": sweep,
                    "set": "+".join(sorted(group["set"].unique())),
                    "points": len(group),
                    **counts,
                    "least_ratio": group["ratio"].min(),
                    "greatest_ratio": group["ratio"].max(),
                    "optimal": int(group["optimal"].sum()),
                }
            )
    return pd.DataFrame(rows)


def _searched(
    architecture: str, jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore
) -> dict[str, pd.DataFrame]:
    """Return the energies by set; sets that constrain alike are searched once."""
    energies: dict[str, pd.DataFrame] = {}
    for which, job in jobs.items():
        same = next((other for other in energies if _alike(job, jobs[other])), None)
        energies[which] = energies[same] if same else energies_table({architecture: job}, sweeps, store)[0]
    return energies


def _alike(one: Job, other: Job) -> bool:
    """Whether two jobs, alike but for the set of constraints, search the same mapspaces."""
    pairs = [(one.target.for_shape(shape), other.target.for_shape(shape)) for shape in (CONV, GROUPED_CONV)]
    return all(first.constraints.levels == second.constraints.levels for first, second in pairs)


def _points_of(sweep: Sweep, table: pd.DataFrame, energies: pd.DataFrame) -> pd.DataFrame:
    """Return our rows in the order of the published points."""
    ours = energies[energies["sweep"] == sweep.name]
    if sweep.published_parameter not in ours.columns:
        raise InputError(
            Fault("no column of the layer table", sweep.source, "published_parameter", sweep.published_parameter)
        )
    spaces = tuple(f"_{space.name.lower()}_pj" for space in CONV.data_spaces)
    parts = ours[["compute_pj", *(name for name in ours.columns if str(name).endswith(spaces))]]
    printed = [_as_printed(row[np.isfinite(row)]) for row in parts.to_numpy(np.float64)]
    values = ours.assign(printed_pj=printed).set_index(sweep.published_parameter)[[*_OURS, "printed_pj"]]
    lost = [value for value in table["parameter"] if value not in values.index]
    if lost:
        raise InputError(Fault("published points are not in the sweep", sweep.source, "published", lost))
    return values.loc[table["parameter"]].reset_index(drop=True)


def _as_printed(energies_pj: Iterable[float]) -> float:
    """Return the sum of energies of two decimals each; not a number where there are none."""
    printed = [float(f"{energy_pj:.2f}") for energy_pj in energies_pj]
    return math.fsum(printed) if printed else math.nan


def _compared(
    architecture: str, sweep: Sweep, table: pd.DataFrame, ours: Mapping[str, pd.DataFrame], which: str
) -> pd.DataFrame:
    published = table["published_pj"].reset_index(drop=True)
    own = ours[which]["total_pj"]
    off = (own - published).to_numpy(dtype=np.float64)
    # A point without a mapping has no energy: then there is nothing to compare.
    outcome = np.select(
        [np.isnan(off), abs(off) <= PRINTED_PJ, off < 0], ["no mapping", "equal", "below"], default="above"
    )
    columns = {
        "architecture": architecture,
        "sweep": sweep.name,
        "parameter": table["parameter"],
        "published_pj": published,
        "ours_pj": own,
        "ratio": (own / published).round(_RATIO_DECIMALS),
        "ours_is": outcome,
        "optimal": ours[which]["optimal"],
        "set": which,
        "ours_printed_pj": ours[which]["printed_pj"],
    }
    for part in ("compute", "data"):
        if f"published_{part}_pj" in table:
            columns |= {
                f"published_{part}_pj": table[f"published_{part}_pj"],
                f"ours_{part}_pj": ours[which][f"{part}_pj"],
            }
    for name, rows in ours.items():
        key = name.replace("-", "_")
        ratio = (rows["total_pj"] / published).round(_RATIO_DECIMALS)
        columns |= {f"ours_{key}_pj": rows["total_pj"], f"ratio_{key}": ratio}
    return pd.DataFrame(columns)
