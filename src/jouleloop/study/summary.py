"""The summary of a run: what became of its points, what the store spared, what took the time."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from jouleloop.errors import InputError
from jouleloop.files import read_json, write_json
from jouleloop.study.progress import duration
from jouleloop.study.provenance import versions
from jouleloop.study.runlog import Usage, current_run, usages
from jouleloop.validation import validate
from jouleloop.workload.strict import Strict
from jouleloop.workload.sweep_schema import unit

SLOWEST = 10
_STATUSES = ("ok", "no_mapping", "invalid", "failed")


class Points(Strict):
    """Rows of the table of energies by outcome."""

    ok: int = Field(description="Points with a mapping and its energy.", json_schema_extra=unit("points"))
    no_mapping: int = Field(
        description="Points that no mapping fits within the constraints.", json_schema_extra=unit("points")
    )
    invalid: int = Field(
        description="Points that the constraints cannot be applied to.", json_schema_extra=unit("points")
    )
    failed: int = Field(description="Points whose search broke.", json_schema_extra=unit("points"))


class Searches(Strict):
    """Distinct layers times architectures by where the result came from."""

    searched: int = Field(description="Searched in this run.", json_schema_extra=unit("results"))
    stored: int = Field(description="Found in the store: cache hits.", json_schema_extra=unit("results"))


class SlowPoint(Strict):
    """One point and the time of its search."""

    architecture: str = Field(description="Architecture.", json_schema_extra=unit("name"))
    layer: str = Field(description="Layer, by its sizes.", json_schema_extra=unit("text"))
    seconds: float = Field(description="Time of its search, whenever that was.", json_schema_extra=unit("s"))


class Stage(Strict):
    """The jobs of one rule."""

    stage: str = Field(description="Rule.", json_schema_extra=unit("name"))
    jobs: int = Field(description="Jobs of this run.", json_schema_extra=unit("jobs"))
    seconds: float = Field(
        description="Wall clock of all jobs together; jobs that ran at the same time count each.",
        json_schema_extra=unit("s"),
    )
    cpu_seconds: float = Field(description="Processor time of all jobs.", json_schema_extra=unit("core seconds"))
    start_cpu_seconds: float = Field(
        description="Part of it until the jobs began their work: starting Python and importing.",
        json_schema_extra=unit("core seconds"),
    )
    peak_memory_mb: float = Field(
        description="Greatest resident memory of any of the jobs.", json_schema_extra=unit("MB")
    )


class RunSummary(Strict):
    """What a run did; it varies from run to run, unlike the tables."""

    run: str = Field(description="Identity of the run that wrote this.", json_schema_extra=unit("text"))
    version: Literal[1] = Field(default=1, description="Version of this layout.", json_schema_extra=unit("number"))
    versions: dict[str, str] = Field(
        default={},
        description="Python and the packages that results pass through.",
        json_schema_extra=unit("name: version"),
    )
    points: dict[str, Points] = Field(
        description="Outcome of the points by architecture.", json_schema_extra=unit("name: points")
    )
    searches: Searches = Field(description="What was searched, and what was known.", json_schema_extra=unit("results"))
    slowest: list[SlowPoint] = Field(
        description=f"The {SLOWEST} points that took longest, slowest first.", json_schema_extra=unit("points")
    )
    stages: list[Stage] = Field(
        description="Cost by rule, dearest first; of the jobs that had finished when this was written.",
        json_schema_extra=unit("stages"),
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
