"""The table of energies: one row for every architecture, sweep and layer, in a fixed order."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from jouleloop.errors import Fault, JouleloopError, raise_all
from jouleloop.mapping.compact import kept_text
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.result import SearchResult
from jouleloop.study.compute import Job, Record, run_chunk
from jouleloop.study.store import ResultStore
from jouleloop.study.targets import TargetSet
from jouleloop.tables.layers import each_kind_of_row, layer_rows
from jouleloop.workload.layer import Layer
from jouleloop.workload.problem import ProblemShape
from jouleloop.workload.sweep import Sweep, SweepPoint, size_columns
from jouleloop.workload.sweep_schema import PUBLISHED_COLUMNS
from jouleloop.workload.variants import Variant, variant_label

TABLE_VERSION = 1

#: Columns of counts: whole numbers that may be missing.
_WHOLE = ("cycles", "visited")
#: Records that are in memory at a time; columns take a tenth of their room.
_BATCH = 2000
#: Columns of energies that layers of a shape can fill.
Own = Mapping[ProblemShape, Sequence[str]]


def layer_batches(sweep: Sweep) -> Iterator[pd.DataFrame]:
    """Yield the layers of ``sweep`` as a table, a few rows at a time, each with all columns in the same types."""
    own = _layer_columns(sweep.points)
    lacking = {name for row in each_kind_of_row(sweep) for name in set(own) - row.keys()}
    columns = ["sweep", "layer", *own]
    for _, table in _taken(zip(sweep.points, layer_rows(sweep), strict=True)):
        columns += [name for name in table.columns if name not in columns]
        yield table.reindex(columns=columns).astype(_types_of_sizes(lacking))


def _types_of_sizes(lacking: Iterable[str]) -> dict[str, str]:
    """Return the types of columns that some layers do not fill."""
    return {name: "float64" if name in PUBLISHED_COLUMNS else "Int64" for name in lacking if name != "kind"}


def _layer_columns(points: Sequence[SweepPoint]) -> list[str]:
    """Return the columns that tell layers from each other, in order."""
    own = ["kind"] if any(point.layer.kind.base != "conv" for point in points) else []
    sliding = ["input_size"] if any(point.input_size is not None for point in points) else []
    given = dict.fromkeys(key for point in points for key, _ in point.given)
    return [*own, *given, *size_columns(points), *sliding, "macs", "count"]


def energy_columns(target: TargetSet, shape: ProblemShape) -> list[str]:
    """Return the columns of energies [pJ] that layers of a shape can fill: levels and the data spaces allowed there.

    Networks that take energy have a column a data space, too.
    """
    constraints = target.for_layers(shape).constraints
    stored = [
        f"{level.name}_{space.name.lower()}_pj"
        for level in target.arch.levels
        for space in shape.data_spaces
        if space.name not in constraints.level(level.name).bypass
    ]
    wires = target.costs.wired(target.arch)
    return stored + [f"{name}_network_{space.name.lower()}_pj" for name in wires for space in shape.data_spaces]


def _shapes(points: Iterable[SweepPoint]) -> list[ProblemShape]:
    """Return the shapes of all layers; one that lacks a dimension of another one counts as that."""
    return list(dict.fromkeys(point.layer.kind.reduced for point in points))


class Batch(NamedTuple):
    """Some rows of the table of energies, and those of the timings that come with them."""

    energies: pd.DataFrame
    timings: pd.DataFrame


def no_energies(targets: Mapping[str, TargetSet], sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """Return the table of energies without its rows."""
    return _Columns(targets, sweeps).typed(pd.DataFrame())


def energies_table(
    jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of energies and the table of what varies from run to run; see `energy_batches`."""
    tables, timings = zip(*energy_batches(jobs, sweeps, store), strict=True)
    table = pd.concat(tables, ignore_index=True)
    table.attrs["table_version"] = TABLE_VERSION
    times = [part for part in timings if len(part)]
    return table, pd.concat(times, ignore_index=True) if times else pd.DataFrame()


def energy_batches(
    jobs: Mapping[str, Job], sweeps: Sequence[Sweep], store: ResultStore, rows: int = 20_000
) -> Iterator[Batch]:
    """Yield the table of energies in its order, so many ``rows`` at a time: the store is read once for each.

    Results that are not stored (a segment was lost or damaged) are computed here.
    """
    columns = _Columns({name: job.target for name, job in jobs.items()}, sweeps)
    if not any(sweep.points and sweep.runs_on(name) for sweep in sweeps for name in jobs):
        yield Batch(columns.typed(pd.DataFrame()), pd.DataFrame(columns=["architecture", "layer", "seconds"]))
    for name, job in jobs.items():
        wanted = [sweep for sweep in sweeps if sweep.runs_on(name)]
        points = itertools.chain.from_iterable(zip(sweep.points, layer_rows(sweep), strict=True) for sweep in wanted)
        timed: set[bytes] = set()
        while part := list(_taken(itertools.islice(points, rows))):
            found, timings = _results(name, job, [point for few, _ in part for point in few], store, columns.own[name])
            sizes = pd.concat([records for _, records in part], ignore_index=True)
            table = pd.concat([sizes, found], axis="columns").assign(architecture=name)
            yield Batch(columns.typed(table), _new(timings, timed).drop(columns=columns.unused, errors="ignore"))


def _taken(rows: Iterator[tuple[SweepPoint, Record]]) -> Iterator[tuple[list[SweepPoint], pd.DataFrame]]:
    """Yield points and their records, a few at a time as columns, which take a tenth of the room."""
    parts = iter(lambda: list(itertools.islice(rows, _BATCH)), [])
    return (([point for point, _ in few], pd.DataFrame([row for _, row in few])) for few in parts)


def _new(timings: pd.DataFrame, timed: set[bytes]) -> pd.DataFrame:
    """Return the rows of layers that no batch before has had, and note them in ``timed``."""
    if not len(timings):
        return timings
    found = [label.encode() + bytes.fromhex(key) for label, key in zip(timings["variant"], timings["key"], strict=True)]
    kept = timings[[one not in timed for one in found]]
    timed.update(found)
    return kept


def _results(
    name: str, job: Job, points: Sequence[SweepPoint], store: ResultStore, own: Own
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns of results of ``points``, a row each, and the timings of their layers, each once."""
    found: list[pd.DataFrame] = []
    timings: list[pd.DataFrame] = []
    row_of: dict[Variant, dict[tuple[Any, ...], int]] = {}
    for variant in dict.fromkeys(point.variant for point in points):
        layers = {point.layer.identity: point.layer for point in points if point.variant == variant}
        first = sum(map(len, found))
        changed = job.at(variant)
        if isinstance(changed, JouleloopError):
            found.append(pd.DataFrame([_impossible(job, changed)]))
            row_of[variant] = dict.fromkeys(layers, first)
            continue
        by_key = {changed.key(layer): layer for layer in layers.values()}
        records = _short_records(changed, by_key, store, own)
        timings.append(_timings(name, variant, by_key, records))
        places = first + records.index.get_indexer(pd.Index(by_key))
        row_of[variant] = dict(zip(layers, places.tolist(), strict=True))
        found.append(records)
    order = [row_of[point.variant][point.layer.identity] for point in points]
    rows = pd.concat(found, ignore_index=True).drop(columns="seconds", errors="ignore").take(order)
    return rows.reset_index(drop=True), pd.concat(timings, ignore_index=True) if timings else pd.DataFrame()


def _timings(name: str, variant: Variant, layers: Mapping[str, Layer], records: pd.DataFrame) -> pd.DataFrame:
    columns = {
        "architecture": name,
        "layer": [layer.renamed("").label for layer in layers.values()],
        "seconds": records.loc[list(layers), "seconds"].to_numpy(),
        "key": list(layers),
        "variant": variant_label(variant),
    }
    return pd.DataFrame(columns)


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


class _Columns:
    """The columns of a table of energies and their types: the same for each of its batches."""

    def __init__(self, targets: Mapping[str, TargetSet], sweeps: Sequence[Sweep]) -> None:
        every = [point for sweep in sweeps for point in sweep.points]
        shapes = _shapes(every)
        self.own = {
            name: {shape: energy_columns(target, shape) for shape in shapes} for name, target in targets.items()
        }
        self._energies = list(
            dict.fromkeys(column for of_job in self.own.values() for found in of_job.values() for column in found)
        )
        spaces = dict.fromkeys(space.name.lower() for shape in shapes for space in shape.data_spaces)
        self._words = [f"dram_words_{space}" for space in spaces]
        self._sizes = _layer_columns(every)
        run = [sweep for sweep in sweeps if any(sweep.runs_on(name) for name in targets)]
        lacking = {name for sweep in run for row in each_kind_of_row(sweep) for name in set(self._sizes) - row.keys()}
        self._some = _types_of_sizes(name for name in self._sizes if name in lacking)
        paths = dict.fromkeys(path for sweep in sweeps for path in sweep.attributes)
        self._attributes = {
            path: _attribute_type(
                value for sweep in run for point in sweep.points for key, value in point.variant if key == path
            )
            for path in paths
        }

        #: Of the timings: that of the variants, where none is a variant.
        self.unused = [] if paths else ["variant"]

    def typed(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return ``table`` with all columns in order, each in its type."""
        numbers = ("total_pj", "data_pj", "compute_pj", *self._energies)
        columns = [
            *("architecture", "sweep", "layer", *self._sizes),
            *(("variant", *self._attributes) if self._attributes else ()),
            *("status", "reason", *numbers, *self._words),
            *("cycles", "utilization", "mapping", "kept", "optimal", "gap", "stopped"),
            *("lower_bound_pj", "mapspace_size", "visited", "engine", "energy_table", "estimator", "area_um2"),
            *("objective", "semantics", "constraints", "key"),
        ]
        further = ("utilization", "lower_bound_pj", "gap", "mapspace_size", "area_um2")
        table = _typed(table.reindex(columns=columns)).astype(self._some)
        table = table.astype(dict.fromkeys((*numbers, *further), "float64"))
        if self._attributes:
            table["variant"] = table["variant"].fillna("")
        for name, kind in self._attributes.items():
            table[name] = _attribute_column(table[name], kind)
        table.attrs["table_version"] = TABLE_VERSION
        return table


def _attribute_type(values: Iterable[Any]) -> str:
    """Return the one type of an attribute's column: whole numbers, numbers, or text."""
    whole = True
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "text"
        whole = whole and float(value).is_integer()
    return "whole" if whole else "number"


def _attribute_column(values: pd.Series, kind: str) -> pd.Series:
    """Return an attribute's column in its type; missing where a row has none."""
    if kind != "text":
        return values.astype("Float64").astype("Int64") if kind == "whole" else values.astype("float64")
    text = [None if pd.isna(value) else str(value) for value in values]
    return pd.Series(text, index=values.index, dtype="object")


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return ``table`` with its counts as whole numbers that may be missing."""
    whole = [name for name in table.columns if name in _WHOLE or str(name).startswith("dram_words_")]
    return table.astype(dict.fromkeys(whole, "Int64"))
