"""The summary of a run: what became of its points, what the store spared, what took the time."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from jouleloop.errors import InputError
from jouleloop.files import read_json, write_json
from jouleloop.study.outputs import note_change
from jouleloop.study.progress import duration
from jouleloop.study.provenance import versions
from jouleloop.study.runlog import Usage, current_run, usages
from jouleloop.validation import validate
from jouleloop.workload.strict import Strict, key, unit

SLOWEST = 10
_STATUSES = ("ok", "no_mapping", "invalid", "failed")


class Points(Strict):
    """Rows of the table of energies by outcome."""

    ok: int = key("Points with a mapping and its energy.", "points")
    no_mapping: int = key("Points that no mapping fits within the constraints.", "points")
    invalid: int = key("Points that the constraints cannot be applied to.", "points")
    failed: int = key("Points whose search broke.", "points")


class Searches(Strict):
    """Distinct layers times architectures by where the result came from."""

    searched: int = key("Searched in this run.", "results")
    stored: int = key("Found in the store: cache hits.", "results")


class SlowPoint(Strict):
    """One point and the time of its search."""

    architecture: str = key("Architecture.", "name")
    layer: str = key("Layer, by its sizes.", "text")
    seconds: float = key("Time of its search, whenever that was.", "s")


class Stage(Strict):
    """The jobs of one rule."""

    stage: str = key("Rule.", "name")
    jobs: int = key("Jobs of this run.", "jobs")
    seconds: float = key("Wall clock of all jobs together; jobs that ran at the same time count each.", "s")
    cpu_seconds: float = key("Processor time of all jobs.", "core seconds")
    start_cpu_seconds: float = key(
        "Part of it until the jobs began their work: starting Python and importing.", "core seconds"
    )
    peak_memory_mb: float = key("Greatest resident memory of any of the jobs.", "MB")


class RunSummary(Strict):
    """What a run did; it varies from run to run, unlike the tables."""

    run: str = key("Identity of the run that wrote this.", "text")
    version: Literal[1] = key("Version of this layout.", "number", 1)
    versions: dict[str, str] = key("Python and the packages that results pass through.", "name: version", {})
    points: dict[str, Points] = key("Outcome of the points by architecture.", "name: points")
    searches: Searches = key("What was searched, and what was known.", "results")
    slowest: list[SlowPoint] = Field(
        description=f"The {SLOWEST} points that took longest, slowest first.", json_schema_extra=unit("points")
    )
    stages: list[Stage] = key(
        "Cost by rule, dearest first; of the jobs that had finished when this was written.", "stages"
    )


def summarise(
    statuses: Iterable[tuple[str, str]],
    timings: Iterable[tuple[str, str, float]],
    searches: Searches,
    *,
    run: str = "",
    used: Iterable[Usage] = (),
) -> RunSummary:
    """Return the summary of a run.

    Parameters
    ----------
    statuses
        (architecture, status) of every row.
    timings
        (architecture, layer, seconds) of every result.
    run, used
        Identity of the run, and what its jobs cost.
    """
    points: dict[str, dict[str, int]] = {}
    for architecture, status in statuses:
        points.setdefault(architecture, dict.fromkeys(_STATUSES, 0))[status] += 1
    slowest = sorted(timings, key=lambda row: (-row[2], row[0], row[1]))[:SLOWEST]
    return RunSummary(
        run=run,
        versions=versions(),
        points={name: Points(**counts) for name, counts in points.items()},
        searches=searches,
        slowest=[
            SlowPoint(architecture=architecture, layer=layer, seconds=float(seconds))
            for architecture, layer, seconds in slowest
        ],
        stages=stages(used),
    )


def stages(used: Iterable[Usage]) -> list[Stage]:
    """Return the cost of the jobs by stage, dearest first."""
    by_stage: dict[str, list[Usage]] = {}
    for usage in used:
        by_stage.setdefault(usage.stage, []).append(usage)
    found = [
        Stage(
            stage=name,
            jobs=len(jobs),
            seconds=round(sum(job.seconds for job in jobs), 3),
            cpu_seconds=round(sum(job.cpu_seconds for job in jobs), 3),
            start_cpu_seconds=round(sum(job.start_cpu_seconds for job in jobs), 3),
            peak_memory_mb=max(job.peak_memory_mb for job in jobs),
        )
        for name, jobs in by_stage.items()
    ]
    return sorted(found, key=lambda stage: (-stage.cpu_seconds, stage.stage))


def searches_of(chunks: Iterable[Mapping[str, Any]], run: str) -> Searches:
    """Return what the chunks of a run searched; a chunk of an earlier run was stored with all its results."""
    searched = total = 0
    for chunk in chunks:
        total += int(chunk["layers"])
        searched += int(chunk["searched"]) if chunk["run"] == run else 0
    return Searches(searched=searched, stored=total - searched)


def write_summary(path: Path, summary: RunSummary) -> None:
    """Write ``summary`` as JSON, whole or not at all."""
    write_json(path, summary.model_dump())


def read_summary(path: Path) -> RunSummary:
    """Return the summary in ``path``; raise `InputError` where the file is none."""
    return validate(RunSummary, read_json(path), path)


def finish_run(path: Path, logs: Path) -> str:
    """Complete the summary in ``path`` by the jobs that finished after it was written; return the text of the run.

    The file keeps its time stamp: whatever was made from it is not older than it.
    """
    noted = current_run(logs)
    done = stages(usages(logs, noted["run"]))
    seconds = time.time() - noted["started"]
    try:
        summary = read_summary(path)
    except InputError:
        summary = None
    if summary is None or summary.run != noted["run"]:
        # Nothing was searched or collected in this run.
        return "\n".join([f"Summary of a run of {duration(seconds)}", *_stage_lines(done)])
    summary = summary.model_copy(update={"stages": done})
    times = path.stat()
    write_summary(path, summary)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    note_change(logs, path)
    return summary_text(summary, seconds)


def summary_text(summary: RunSummary, seconds: float | None = None) -> str:
    """Return ``summary`` as lines for a terminal; ``seconds`` is the wall clock of the whole run."""
    lines = []
    for name, counts in summary.points.items():
        some = {key: value for key, value in counts.model_dump().items() if value or key == "ok"}
        lines.append(f"  {name}: " + ", ".join(f"{value:,} {key}" for key, value in some.items()))
    found = summary.searches
    lines.append(f"  {found.searched:,} results searched, {found.stored:,} from the store")
    lines += _stage_lines(summary.stages)
    shown = summary.slowest[:3]
    if shown:
        lines.append(
            "  slowest: " + ", ".join(f"{point.layer} on {point.architecture} {point.seconds:.2f} s" for point in shown)
        )
    head = "Summary" if seconds is None else f"Summary of a run of {duration(seconds)}"
    return "\n".join([head, *lines])


def _stage_lines(found: Sequence[Stage]) -> list[str]:
    width = max((len(stage.stage) for stage in found), default=0)
    head = [f"  {'stage':{width}}  jobs   seconds  core s  of start  peak MB"] if found else []
    return head + [
        f"  {stage.stage:{width}}  {stage.jobs:4d}  {stage.seconds:8.1f}  {stage.cpu_seconds:6.1f}"
        f"  {stage.start_cpu_seconds:8.1f}  {stage.peak_memory_mb:7.0f}"
        for stage in found
    ]
