"""Published energies beside ours: the tables that belong to a sweep, point by point."""

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from jouleloop.errors import Fault, InputError
from jouleloop.files import read_text
from jouleloop.pipeline.compute import Job
from jouleloop.pipeline.store import ResultStore
from jouleloop.pipeline.table import energies_table
from jouleloop.workload.sweep import Sweep

_COLUMNS = ("parameter", "published_pj", "published_compute_pj", "published_data_pj", "theory_macs", "theory_words")


def read_published(sweep: Sweep, architecture: str) -> pd.DataFrame | None:
    """Return the published table of a sweep: parameter, total, compute and data energy [pJ], theory; None without one.

    Raises
    ------
    InputError
        Where the table is missing or is none.
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


def compare_published(jobs: dict[str, Job], sweeps: Sequence[Sweep], store: ResultStore) -> pd.DataFrame:
    """Return published and own total energies of every published point: their ratio and which is lower.

    Raises
    ------
    InputError
        Where a published parameter is no point of the sweep.
    """
    energies, _ = energies_table(jobs, sweeps, store)
    parts = []
    for sweep in sweeps:
        for architecture in jobs:
            table = read_published(sweep, architecture)
            if table is None:
                continue
            ours = energies[(energies["sweep"] == sweep.name) & (energies["architecture"] == architecture)]
            if sweep.published_parameter not in ours.columns:
                raise InputError(
                    Fault(
                        "no column of the layer table", sweep.source, "published_parameter", sweep.published_parameter
                    )
                )
            values = ours.set_index(sweep.published_parameter)["total_pj"]
            lost = [value for value in table["parameter"] if value not in values.index]
            if lost:
                raise InputError(Fault("published points are not in the sweep", sweep.source, "published", lost))
            own = values.loc[table["parameter"]].to_numpy()
            ratio = own / table["published_pj"].to_numpy()
            # Published numbers have two decimals; sums of them differ from ours in the last.
            close = abs(own - table["published_pj"].to_numpy()) <= 0.1
            outcome = [
                "equal" if same else "below" if value < 1 else "above" for same, value in zip(close, ratio, strict=True)
            ]
            parts.append(
                pd.DataFrame(
                    {
                        "architecture": architecture,
                        "sweep": sweep.name,
                        "parameter": table["parameter"],
                        "published_pj": table["published_pj"],
                        "ours_pj": own,
                        "ratio": ratio,
                        "ours_is": outcome,
                        "optimal": ours.set_index(sweep.published_parameter)["optimal"]
                        .loc[table["parameter"]]
                        .to_numpy(),
                    }
                )
            )
    if not parts:
        raise InputError(Fault("none of the sweeps has published energies", field="published"))
    return pd.concat(parts, ignore_index=True)
