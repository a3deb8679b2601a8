"""The table of energies: one row for every architecture, sweep and layer, in a fixed order."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from jouleloop.errors import Fault, raise_all
from jouleloop.pipeline.chunks import layer_identity
from jouleloop.pipeline.compute import Job, Record, run_chunk
from jouleloop.pipeline.store import ResultStore
from jouleloop.workload.layer import CONV, Layer
from jouleloop.workload.sweep import Sweep

TABLE_VERSION = 1

_SIZES = ("N", "C", "M", "R", "S", "P", "Q", "w_stride", "h_stride")
_SPACES = tuple(space.name for space in CONV.data_spaces)
#: Columns of counts: whole numbers that may be missing.
_WHOLE = ("cycles", "visited")
#: Records that are in memory at a time; columns take a tenth of their room.
_BATCH = 2000


def layer_rows(sweep: Sweep) -> list[dict[str, Any]]:
    """Return one record a layer of ``sweep``: name, sizes and what variables may refer to."""
    rows = []
    for point in sweep.points:
        layer = point.layer
        sizes = {key: getattr(layer, key) for key in _SIZES}
        more = {"groups": layer.groups, "input_size": point.input_size, "macs": layer.macs, "count": point.count}
        rows.append({"sweep": sweep.name, "layer": layer.label, **sizes, **more})
    return rows


def layer_table(sweep: Sweep) -> pd.DataFrame:
    """Return the layers of ``sweep`` as a table."""
    return pd.DataFrame(layer_rows(sweep))


def energy_columns(job: Job) -> list[str]:
    """Return the columns of energies [pJ] that an architecture can fill: levels and the data spaces allowed there."""
    constraints = job.target.for_shape(CONV).constraints
    return [
        f"{level.name}_{space.lower()}_pj"
        for level in job.target.arch.levels
        for space in _SPACES
        if space not in constraints.level(level.name).bypass
    ]


def energies_table(
    jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of energies and the table of what varies from run to run.

    Results that are not stored (a segment was lost or damaged) are computed here.
    """
    columns = list(dict.fromkeys(column for job in jobs.values() for column in energy_columns(job)))
    sizes = pd.concat([layer_table(sweep) for sweep in sweeps], ignore_index=True)
    parts: list[pd.DataFrame] = []
    timings: list[pd.DataFrame] = []
    for name, job in jobs.items():
        identities = [layer_identity(point.layer) for sweep in sweeps for point in sweep.points]
        distinct = dict(zip(identities, (point.layer for sweep in sweeps for point in sweep.points), strict=True))
        keys = {identity: job.key(layer) for identity, layer in distinct.items()}
        layers = {keys[identity]: layer for identity, layer in distinct.items()}
        found = _short_records(job, layers, store)
        rows = found.loc[[keys[identity] for identity in identities]].reset_index(drop=True)
        parts.append(pd.concat([sizes, rows.drop(columns="seconds")], axis="columns").assign(architecture=name))
        labels = [layer.renamed("").label for layer in layers.values()]
        seconds = found.loc[list(layers), "seconds"].to_numpy()
        timings.append(pd.DataFrame({"architecture": name, "layer": labels, "seconds": seconds, "key": list(layers)}))
    return _ordered(pd.concat(parts, ignore_index=True), columns), pd.concat(timings, ignore_index=True)


def _short_records(job: Job, layers: Mapping[str, Layer], store: ResultStore) -> pd.DataFrame:
    """Return one row a key of ``layers``, searched here where it is not stored."""
    found = _read_short(job, layers, store)
    lost = [layer for key, layer in layers.items() if key not in found.index]
    if lost:
        run_chunk(job, lost, store)
        again = _read_short(job, [job.key(layer) for layer in lost], store)
        # An empty table has no types to agree with.
        found = pd.concat([part for part in (found, again) if len(part)] or [found])
    missing = set(layers).difference(found.index)
    raise_all([Fault("no result was stored", str(store.folder), layers[key].label) for key in layers if key in missing])
    return found


def _read_short(job: Job, keys: Iterable[str], store: ResultStore) -> pd.DataFrame:
    """Return the stored results of ``keys`` as columns; only a batch of them is ever in memory as records."""
    own = energy_columns(job)
    batches = [pd.DataFrame(columns=pd.Index(["seconds"]))]
    records = store.read(keys)
    while batch := list(itertools.islice(records, _BATCH)):
        rows = [_filled(_short(record, job), own) for _, record in batch]
        batches.append(_typed(pd.DataFrame(rows, index=[key for key, _ in batch])))
    return pd.concat(batches[1:] or batches)


def _short(record: Record, job: Job) -> Record:
    """Return the columns that one stored result fills, its parts without energy left out."""
    evaluation = record["evaluation"]
    row: Record = {
        "status": record["status"],
        "reason": record["reason"],
        "mapping": record["mapping_compact"] or "",
        "optimal": bool(record["optimal"]),
        "mapspace_size": float(record["mapspace_size"]),
        "visited": int(record["visited"]),
        "engine": record["engine"],
        "energy_table": job.target.costs.table,
        "objective": "+".join(record["objective"]),
        "semantics": job.target.semantics,
        "constraints": job.target.files.which,
        "seconds": float(record["seconds"]),
    }
    if evaluation is None:
        return row
    if record["objective"][0] == "energy":
        row["lower_bound_pj"] = float(record["lower_bound"])
    row["total_pj"] = float(evaluation["energy_pj"])
    row["compute_pj"] = float(evaluation["compute_energy_pj"])
    row["cycles"] = int(evaluation["cycles"])
    row["utilization"] = float(evaluation["utilization"])
    data_pj = 0.0
    for position, level in enumerate(evaluation["levels"]):
        for space, stats in level["data"].items():
            row[f"{level['name']}_{space.lower()}_pj"] = float(stats["energy_pj"])
            data_pj += float(stats["energy_pj"])
            if position == 0:
                words = stats["reads"] + stats["fills"] + stats["updates"]
                row[f"dram_words_{space.lower()}"] = int(words * stats["instances"])
    row["data_pj"] = data_pj
    return row


def _filled(record: Record, own: Iterable[str]) -> Record:
    if record["status"] != "ok":
        return record
    return {**dict.fromkeys(own, 0.0), **record}


def _ordered(table: pd.DataFrame, energies: Sequence[str]) -> pd.DataFrame:
    words = [f"dram_words_{space.lower()}" for space in _SPACES]
    columns = [
        *("architecture", "sweep", "layer", *_SIZES, "groups", "input_size", "macs", "count", "status", "reason"),
        *("total_pj", "data_pj", "compute_pj", *energies, *words, "cycles", "utilization", "mapping", "optimal"),
        *(
            "lower_bound_pj",
            "mapspace_size",
            "visited",
            "engine",
            "energy_table",
            "objective",
            "semantics",
            "constraints",
        ),
    ]
    table = _typed(table.reindex(columns=columns))
    for name in ("total_pj", "data_pj", "compute_pj", *energies, "utilization", "lower_bound_pj", "mapspace_size"):
        table[name] = table[name].astype("float64")
    table.attrs["table_version"] = TABLE_VERSION
    return table


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return ``table`` with its counts as whole numbers that may be missing."""
    words = [f"dram_words_{space.lower()}" for space in _SPACES]
    return table.astype({name: "Int64" for name in (*words, *_WHOLE) if name in table.columns})
