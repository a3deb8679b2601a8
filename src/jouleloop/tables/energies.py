"""The table of energies: one row for every architecture, sweep and layer, in a fixed order."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from jouleloop.errors import Fault, JouleloopError, raise_all
from jouleloop.mapping.compact import kept_text
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.result import SearchResult
from jouleloop.study.chunks import layer_identity
from jouleloop.study.compute import Job, Record, run_chunk
from jouleloop.study.store import ResultStore
from jouleloop.tables.layers import layer_rows
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.sweep import Sweep, SweepPoint, size_columns
from jouleloop.workload.variants import Variant, variant_label

TABLE_VERSION = 1

#: Columns of counts: whole numbers that may be missing.
_WHOLE = ("cycles", "visited")
#: Records that are in memory at a time; columns take a tenth of their room.
_BATCH = 2000
#: Columns of energies that layers of a shape can fill.
Own = Mapping[ProblemShape, Sequence[str]]


def layer_table(sweep: Sweep) -> pd.DataFrame:
    """Return the layers of ``sweep`` as a table."""
    rows = layer_rows(sweep)
    batches = [pd.DataFrame(batch) for batch in iter(lambda: list(itertools.islice(rows, _BATCH)), [])]
    table = pd.concat(batches, ignore_index=True)
    first = ["sweep", "layer", *_layer_columns(sweep.points)]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    return table.astype({name: "Int64" for name in first[2:] if table[name].isna().any() and name != "kind"})


def _layer_columns(points: Sequence[SweepPoint]) -> list[str]:
    """Return the columns that tell layers from each other, in order."""
    own = ["kind"] if any(point.layer.kind.base != "conv" for point in points) else []
    sliding = ["input_size"] if any(point.input_size is not None for point in points) else []
    given = dict.fromkeys(key for point in points for key, _ in point.given)
    return [*own, *given, *size_columns(points), *sliding, "macs", "count"]


def energy_columns(job: Job, shape: ProblemShape) -> list[str]:
    """Return the columns of energies [pJ] that layers of a shape can fill: levels and the data spaces allowed there.

    Networks that take energy have a column a data space, too.
    """
    constraints = job.target.for_shape(shape).constraints
    stored = [
        f"{level.name}_{space.name.lower()}_pj"
        for level in job.target.arch.levels
        for space in shape.data_spaces
        if space.name not in constraints.level(level.name).bypass
    ]
    wires = job.target.costs.wired(job.target.arch)
    return stored + [f"{name}_network_{space.name.lower()}_pj" for name in wires for space in shape.data_spaces]


def _shapes(points: Iterable[SweepPoint]) -> list[ProblemShape]:
    """Return the shapes of all layers; one that lacks a dimension of another one counts as that."""
    return list(dict.fromkeys(point.layer.kind.reduced for point in points))


def energies_table(
    jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of energies and the table of what varies from run to run.

    Results that are not stored (a segment was lost or damaged) are computed here.
    """
    every = [point for sweep in sweeps for point in sweep.points]
    shapes = _shapes(every)
    own = {name: {shape: energy_columns(job, shape) for shape in shapes} for name, job in jobs.items()}
    columns = list(dict.fromkeys(column for of_job in own.values() for found in of_job.values() for column in found))
    parts: list[pd.DataFrame] = []
    timings: list[pd.DataFrame] = []
    for name, job in jobs.items():
        wanted = [sweep for sweep in sweeps if sweep.runs_on(name)]
        if not wanted:
            continue
        points = [point for sweep in wanted for point in sweep.points]
        found: list[pd.DataFrame] = []
        row_of: dict[Variant, dict[tuple[Any, ...], int]] = {}
        for variant in dict.fromkeys(point.variant for point in points):
            layers = {layer_identity(point.layer): point.layer for point in points if point.variant == variant}
            first = sum(map(len, found))
            changed = job.at(variant)
            if isinstance(changed, JouleloopError):
                found.append(pd.DataFrame([_impossible(job, changed)]))
                row_of[variant] = dict.fromkeys(layers, first)
                continue
            by_key = {changed.key(layer): layer for layer in layers.values()}
            records = _short_records(changed, by_key, store, own[name])
            timings.append(_timings(name, variant, by_key, records))
            places = first + records.index.get_indexer(pd.Index(by_key))
            row_of[variant] = dict(zip(layers, places.tolist(), strict=True))
            found.append(records)
        order = [row_of[point.variant][layer_identity(point.layer)] for point in points]
        rows = pd.concat(found, ignore_index=True).drop(columns="seconds").take(order).reset_index(drop=True)
        sizes = pd.concat([layer_table(sweep) for sweep in wanted], ignore_index=True)
        parts.append(pd.concat([sizes, rows], axis="columns").assign(architecture=name))
    attributes = list(dict.fromkeys(path for sweep in sweeps for path in sweep.attributes))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    times = pd.concat(timings, ignore_index=True) if timings else pd.DataFrame()
    spaces = dict.fromkeys(space.name.lower() for shape in shapes for space in shape.data_spaces)
    words = [f"dram_words_{space}" for space in spaces]
    return _ordered(table, _layer_columns(every), columns, words, attributes), times


def _timings(name: str, variant: Variant, layers: Mapping[str, Layer], records: pd.DataFrame) -> pd.DataFrame:
    columns = {
        "architecture": name,
        "layer": [layer.renamed("").label for layer in layers.values()],
        "seconds": records.loc[list(layers), "seconds"].to_numpy(),
        "key": list(layers),
    }
    return pd.DataFrame(columns | ({"variant": variant_label(variant)} if variant else {}))


def sources_table(jobs: Mapping[str, Job], sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """Return every energy per action that results rest on, with the estimator that produced it, a row an action."""
    rows: list[dict[str, Any]] = []
    for name, job in jobs.items():
        wanted = [point.variant for sweep in sweeps if sweep.runs_on(name) for point in sweep.points]
        for variant in dict.fromkeys(wanted):
            changed = job.at(variant)
            if not isinstance(changed, JouleloopError):
                label = {"architecture": name, "variant": variant_label(variant)}
                target = changed.target
                rows += [{**label, **row} for row in target.costs.rows(target.arch.compute.name)]
    columns = ["architecture", "variant", "component", "action", "energy_pj", "estimator", "source"]
    return pd.DataFrame(rows, columns=columns)


def _impossible(job: Job, error: JouleloopError) -> Record:
    """Return the columns of a point on a variant of the architecture that cannot be."""
    reason = "; ".join(str(fault) for fault in error.faults)
    result = SearchResult("invalid", reason, engine=job.engine.name, objective=job.options.objective)
    return {**_short(result.as_json(), job), "estimator": "", "key": ""}


def _short_records(job: Job, layers: Mapping[str, Layer], store: ResultStore, own: Own) -> pd.DataFrame:
    """Return one row a key of ``layers``, searched here where it is not stored."""
    found = _read_short(job, layers, store, own)
    lost = [layer for key, layer in layers.items() if key not in found.index]
    if lost:
        run_chunk(job, lost, store)
        again = _read_short(job, {job.key(layer): layer for layer in lost}, store, own)
        # An empty table has no types to agree with.
        found = pd.concat([part for part in (found, again) if len(part)] or [found])
    missing = set(layers).difference(found.index)
    raise_all([Fault("no result was stored", str(store.folder), layers[key].label) for key in layers if key in missing])
    return found


def _read_short(job: Job, layers: Mapping[str, Layer], store: ResultStore, own: Own) -> pd.DataFrame:
    """Return the stored results of ``layers`` as columns; only a batch of them is ever in memory as records."""
    batches = [pd.DataFrame(columns=pd.Index(["seconds"]))]
    records = store.read(layers)
    while batch := list(itertools.islice(records, _BATCH)):
        rows = [{**_filled(_short(record, job), own[layers[key].kind.reduced]), "key": key} for key, record in batch]
        batches.append(_typed(pd.DataFrame(rows, index=[key for key, _ in batch])))
    return pd.concat(batches[1:] or batches)


def _short(record: Record, job: Job) -> Record:
    """Return the columns that one stored result fills, its parts without energy left out."""
    evaluation = record["evaluation"]
    row: Record = {
        "status": record["status"],
        "reason": record["reason"],
        "mapping": record["mapping_compact"] or "",
        "kept": kept_text(record["mapping"] or ()),
        "optimal": bool(record["optimal"]),
        "gap": record["gap"],
        "stopped": record["stopped"],
        "mapspace_size": float(record["mapspace_size"]),
        "visited": int(record["visited"]),
        "engine": record["engine"],
        "energy_table": job.target.costs.table,
        "estimator": job.target.costs.estimator,
        "area_um2": job.target.costs.area_um2,
        "objective": "+".join(record["objective"]),
        "semantics": job.target.semantics,
        "constraints": job.target.files.which,
        "seconds": float(record["seconds"]),
    }
    if evaluation is None:
        return row
    if OBJECTIVES[record["objective"][0]].unit == "pJ":
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
    for name, spaces in evaluation["networks"].items():
        for space, traffic in spaces.items():
            if traffic.get("energy_pj"):
                column = f"{name.partition('<==>')[0]}_network_{space.lower()}_pj"
                row[column] = row.get(column, 0.0) + float(traffic["energy_pj"])
    return row


def _filled(record: Record, own: Iterable[str]) -> Record:
    if record["status"] != "ok":
        return record
    return {**dict.fromkeys(own, 0.0), **record}


def _ordered(
    table: pd.DataFrame, sizes: Sequence[str], energies: Sequence[str], words: Sequence[str], attributes: Sequence[str]
) -> pd.DataFrame:
    columns = [
        *("architecture", "sweep", "layer", *sizes),
        *(("variant", *attributes) if attributes else ()),
        *("status", "reason"),
        *(
            "total_pj",
            "data_pj",
            "compute_pj",
            *energies,
            *words,
            "cycles",
            "utilization",
            "mapping",
            "kept",
            "optimal",
            "gap",
            "stopped",
        ),
        *(
            "lower_bound_pj",
            "mapspace_size",
            "visited",
            "engine",
            "energy_table",
            "estimator",
            "area_um2",
            "objective",
            "semantics",
            "constraints",
            "key",
        ),
    ]
    table = _typed(table.reindex(columns=columns))
    some = [name for name in sizes if name != "kind" and table[name].isna().any()]
    table = table.astype(dict.fromkeys(some, "Int64"))
    for name in (
        "total_pj",
        "data_pj",
        "compute_pj",
        *energies,
        "utilization",
        "lower_bound_pj",
        "gap",
        "mapspace_size",
        "area_um2",
    ):
        table[name] = table[name].astype("float64")
    if attributes:
        table["variant"] = table["variant"].fillna("")
    for name in attributes:
        table[name] = _attribute_column(table[name])
    table.attrs["table_version"] = TABLE_VERSION
    return table


def _attribute_column(values: pd.Series) -> pd.Series:
    """Return an attribute's column with one type: whole numbers, numbers, or text; missing where a row has none."""
    given = [value for value in values if not pd.isna(value)]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in given):
        whole = all(float(value).is_integer() for value in given)
        return values.astype("Float64").astype("Int64") if whole else values.astype("float64")
    text = [None if pd.isna(value) else str(value) for value in values]
    return pd.Series(text, index=values.index, dtype="object")


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return ``table`` with its counts as whole numbers that may be missing."""
    whole = [name for name in table.columns if name in _WHOLE or str(name).startswith("dram_words_")]
    return table.astype(dict.fromkeys(whole, "Int64"))
