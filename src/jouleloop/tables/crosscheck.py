"""The cross-check of a study as tables: how far its native optima and what another engine says of them agree."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.columns import write_table
from jouleloop.config.load import Study
from jouleloop.engines.agreement import QUANTITIES, Pair, compare_evaluations, joint_verdict
from jouleloop.engines.protocol import Engine
from jouleloop.engines.registry import installed_version
from jouleloop.errors import Fault, InputError
from jouleloop.study.compute import Job, Record
from jouleloop.study.confirm import confirming_engine, confirming_job, run_confirmation
from jouleloop.study.plan import jobs_of
from jouleloop.study.store import ResultStore
from jouleloop.tables.layers import layer_rows
from jouleloop.tables.layouts import CROSSCHECK, CROSSCHECK_SUMMARY
from jouleloop.workload.sweep import Sweep

#: Columns of the verdict on each quantity.
_VERDICTS = tuple(f"{name}_is" for name in QUANTITIES)


def write_crosscheck(study: Study, store: ResultStore, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write ``crosscheck.csv`` and ``crosscheck_summary.csv`` into ``folder``; return both tables."""
    points, summary = crosscheck_table(jobs_of(study), confirming_engine(study), study.sweeps, store)
    write_table(folder / CROSSCHECK.file, points, CROSSCHECK)
    write_table(folder / CROSSCHECK_SUMMARY.file, summary, CROSSCHECK_SUMMARY)
    return points, summary


def crosscheck_table(
    jobs: Mapping[str, Job], engine: Engine, sweeps: Sequence[Sweep], store: ResultStore
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the agreement point by point, and its summary by architecture, sweep and quantity.

    Confirmations that are not stored are made here. In the first table ``status`` is ``equal`` or ``different`` where
    both engines have a result, ``not_confirmed`` where the other one has none, ``no_optimum`` where there is nothing to
    confirm; ``<quantity>_is`` says how our values stand to the other engine's: ``equal``, ``lower``, ``higher``, or
    ``mixed``.
    """
    label = installed_version(engine) or engine.name
    rows: list[dict[str, Any]] = []
    parts: list[tuple[str, str, str, list[Pair]]] = []
    for name, job in jobs.items():
        other = confirming_job(job, engine, store)
        layers = list({job.key(point.layer): point.layer for sweep in sweeps for point in sweep.points}.values())
        # What failed has a reason, which the table shows: it is not tried once more here.
        known = {key for one in (job, other) for key, _ in store.read(map(one.key, layers))}
        lost = [layer for layer in layers if not known >= {job.key(layer), other.key(layer)}]
        run_confirmation(job, engine, lost, store)
        ours = dict(store.read(map(job.key, layers)))
        theirs = dict(store.read(map(other.key, layers)))
        for sweep in sweeps:
            for row, point in zip(layer_rows(sweep), sweep.points, strict=True):
                mine, real = ours[job.key(point.layer)], theirs[other.key(point.layer)]
                pairs = _pairs(mine, real)
                parts.append((name, sweep.name, str(row["layer"]), pairs))
                rows.append(
                    {"architecture": name, **row, **_verdict(mine, real, pairs), "confirmed_by": label}
                    | {"semantics": job.target.semantics, "mapping": mine["mapping_compact"] or ""}
                )
    if not rows:
        raise InputError(Fault("no points to confirm", field="confirm"))
    return _whole_numbers(pd.DataFrame(rows)), _summary(parts)


def _pairs(ours: Record, theirs: Record) -> list[Pair]:
    if ours["evaluation"] is None or theirs["evaluation"] is None:
        return []
    return compare_evaluations(ours["evaluation"], theirs["evaluation"])


def _verdict(ours: Record, theirs: Record, pairs: Sequence[Pair]) -> dict[str, Any]:
    mine, real = ours["evaluation"], theirs["evaluation"]
    row: dict[str, Any] = {"status": "no_optimum", "reason": ours["reason"]}
    if mine is not None:
        row = {"status": "not_confirmed", "reason": theirs["reason"]}
    if pairs:
        row = {"status": "equal" if all(pair.verdict == "equal" for pair in pairs) else "different", "reason": ""}
    for key, name in (("energy_pj", "total_pj"), ("cycles", "cycles"), ("utilization", "utilization")):
        row[f"ours_{name}"] = None if mine is None else mine[key]
        row[f"theirs_{name}"] = None if real is None else real[key]
    row["fields"] = len(pairs)
    row["fields_equal"] = sum(pair.verdict == "equal" for pair in pairs)
    worst = _largest(pairs)
    row["largest_difference"] = None if worst is None else worst.difference
    row["largest_at"] = "" if worst is None or worst.verdict == "equal" else worst.field
    for quantity, column in zip(QUANTITIES, _VERDICTS, strict=True):
        row[column] = joint_verdict(pair.verdict for pair in pairs if pair.quantity == quantity)
    return row


def _largest(pairs: Iterable[Pair]) -> Pair | None:
    return max(pairs, key=lambda pair: abs(pair.difference), default=None)


def _summary(parts: Sequence[tuple[str, str, str, list[Pair]]]) -> pd.DataFrame:
    """Return one row an architecture, sweep and quantity: fields equal, lower, higher, and the largest difference."""
    groups: dict[tuple[str, str], list[tuple[str, list[Pair]]]] = {}
    for architecture, sweep, layer, pairs in parts:
        groups.setdefault((architecture, sweep), []).append((layer, pairs))
    rows = []
    for (architecture, sweep), points in groups.items():
        for quantity in QUANTITIES:
            found = [(pair, layer) for layer, pairs in points for pair in pairs if pair.quantity == quantity]
            verdicts = [pair.verdict for pair, _ in found]
            worst, where = max(found, key=lambda entry: abs(entry[0].difference), default=(None, ""))
            differs = worst is not None and worst.verdict != "equal"
            rows.append(
                {
                    "architecture": architecture,
                    "sweep": sweep,
                    "quantity": quantity,
                    "points": sum(bool(pairs) for _, pairs in points),
                    "points_without": sum(not pairs for _, pairs in points),
                    "fields": len(found),
                    **{name: verdicts.count(name) for name in ("equal", "lower", "higher", "mixed")},
                    "largest_difference": worst.difference if worst is not None else math.nan,
                    "largest_at": f"{where}: {worst.field}" if worst is not None and differs else "",
                    "ours": worst.ours if worst is not None and differs else None,
                    "theirs": worst.theirs if worst is not None and differs else None,
                }
            )
    table = pd.DataFrame(rows).rename(columns={"mixed": "only_one_has"})
    for name in ("largest_difference", "ours", "theirs"):
        table[name] = table[name].astype("float64")
    return table


def _whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    for name in ("ours_cycles", "theirs_cycles"):
        table[name] = table[name].astype("Int64")
    for name in ("ours_total_pj", "theirs_total_pj", "ours_utilization", "theirs_utilization", "largest_difference"):
        table[name] = table[name].astype("float64")
    return table
