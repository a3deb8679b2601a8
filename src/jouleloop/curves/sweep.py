"""Sweeps of a capacity: the curves of their layers on one architecture, a row a step, and a row a curve in short."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from jouleloop.columns import write_table
from jouleloop.curves.beside import curve_growth, ratios
from jouleloop.curves.hardware import dram_words, level_of
from jouleloop.curves.kept import KeptSearches, question_key
from jouleloop.curves.largest import largest_words
from jouleloop.curves.network import S, totals, within
from jouleloop.curves.staircase import Limits, Question, Staircase, walk
from jouleloop.engines.protocol import SearchOptions
from jouleloop.layouts import Layout
from jouleloop.optimum.limit import INTERRUPT, Tell
from jouleloop.stats.options import StatisticsOptions
from jouleloop.study.compute import Job, SearchInterrupted
from jouleloop.units import energies_in
from jouleloop.workload.sweep import Sweep

#: Shares above the least for which a curve tells the smallest capacity, in percent.
PERCENTS = (0, 1, 5, 10)
Row = dict[str, Any]


def capacity_tables(
    job: Job,
    sweep: Sweep,
    store: Path,
    statistics: StatisticsOptions,
    tell: Tell | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the steps of all curves of a sweep on an architecture, and each curve in short; see docs/tables.md.

    What is searched is kept in ``store`` and not searched again. Each search stops at the limits of the job; what it
    leaves unproven says so.

    Raises
    ------
    SearchInterrupted
        Where somebody stopped it; what was searched before is kept.
    InputError
        Where the store is damaged or cannot be written.
    """
    steps: list[Row] = []
    curves: list[Row] = []
    found: list[tuple[int, Staircase | None]] = []
    for point in sweep.points:
        layer = point.layer.renamed("")
        names = {"architecture": job.target.name, "sweep": sweep.name, "layer": point.layer.label, "count": point.count}
        refused = job.target.for_layers(layer.problem().shape).constraints.refused
        question = _question(job, sweep, layer.problem())
        curve = None if refused else _walked(question, job.options, store, tell)
        found.append((point.count, curve))
        head = {**names, "level": question.level, "objective": question.objective, "unit": question.unit}
        if curve is None or not curve.steps:
            status, reason = ("invalid", refused) if curve is None else ("no_mapping", curve.reason)
            curves.append({**head, "status": status, "reason": reason})
        else:
            steps += [{**head, **row} for row in _step_rows(curve)]
            curves.append({**head, "status": "ok", "reason": "", **_in_short(curve, statistics)})
        if progress is not None:
            progress(0, 1)
    if sweep.curves is not None and sweep.curves.network:
        known = [(count, curve) for count, curve in found if curve is not None]
        sums = totals(known) if len(known) == len(found) else ()
        head = curves[0] | {"layer": Path(sweep.curves.network).stem, "count": 1}
        head = {name: head[name] for name in (*names, "level", "objective", "unit")}
        steps += [{**head, **vars(total)} for total in sums]
        status, reason = ("ok", "") if sums else ("no_mapping", "a layer has no mapping")
        proven = bool(sums) and all(curve.proven for _, curve in known)
        curves.append({**head, "status": status, "reason": reason, **(_ends(sums, proven=proven) if sums else {})})
    return pd.DataFrame(steps), pd.DataFrame(curves)


def write_capacity(
    folder: Path, tables: Mapping[Layout, pd.DataFrame], provenance: Mapping[str, Any], unit: str
) -> None:
    """Write the tables of sweeps of a capacity, each with all its columns."""
    with energies_in(unit):
        for layout, table in tables.items():
            names = [name for column in layout.columns for name in _named(column.name)]
            write_table(folder / layout.file, table.reindex(columns=names), layout, provenance)


def _named(column: str) -> list[str]:
    """Return the columns that a declared one stands for."""
    return [column.replace("<percent>", str(percent)) for percent in PERCENTS] if "<" in column else [column]


def _question(job: Job, sweep: Sweep, problem: Any) -> Question:
    spec, target = sweep.curves, job.target.for_layers(problem.shape)
    assert spec is not None  # noqa: S101 - of sweeps of a capacity alone
    level = level_of(target.arch, sweep.levels.get(job.target.name)).name
    return Question(problem, target, level, spec.objective, spec.least_words, spec.most_words)


def _walked(question: Question, options: SearchOptions, store: Path, tell: Tell | None) -> Staircase:
    """Return a curve as far as the limits of each search allow; what is searched is kept by its question."""
    known = KeptSearches(store / f"{question_key(question)[:32]}.json", question)
    try:
        found = walk(question, Limits(tell_search=tell, options=options), known)
    finally:
        known.write()
    if found.stopped == INTERRUPT:
        raise SearchInterrupted(f"interrupted; {question.problem.name}: {len(found.steps)} steps are kept")
    return found


def _step_rows(curve: Staircase) -> list[Row]:
    macs = curve.question.problem.macs
    return [
        {**row, "macs_per_dram_word": macs / row["dram_words"] if row["dram_words"] else None, "theory_ratio": ratio}
        for row, ratio in zip(curve.rows(), ratios(curve), strict=True)
    ]


def _in_short(curve: Staircase, statistics: StatisticsOptions) -> Row:
    row = _ends(curve.steps, proven=curve.proven)
    if len(curve.question.target.arch.levels) == 2 and curve.question.objective in ("energy", "dram-words"):
        row["largest_theory_words"] = largest_words(curve.question.problem)
    last = curve.steps[-1].result.evaluation
    if last is not None and dram_words(last):
        row["largest_share"] = curve.steps[-1].words / dram_words(last)
    growth = curve_growth(curve, statistics)
    if growth is not None:
        k = growth.exponent
        row |= {
            "growth_steps": growth.steps,
            "growth_least_words": growth.least_words,
            "growth_most_words": growth.most_words,
            "exponent": k.exponent,
            "exponent_low": k.low,
            "exponent_high": k.high,
            "exponent_expected": k.expected,
            "exponent_agrees": k.agrees,
        }
    return row


def _ends(steps: Sequence[S], *, proven: bool) -> Row:
    """Return where a curve begins, what its ends are worth, and the capacities near its least value."""
    first, last = steps[0], steps[-1]
    row: Row = {"steps": len(steps), "proven": proven, "words": first.words, "value": first.value}
    near = {f"words_within_{percent}_percent": within(steps, percent / 100).words for percent in PERCENTS}
    return row | {"least_value": last.value} | near
