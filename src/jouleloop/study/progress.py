"""How far a run is: points done, rate and remaining time over all chunks, wherever they are searched."""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jouleloop.errors import JouleloopError
from jouleloop.files import read_json
from jouleloop.optimum.limit import Progress as SearchProgress
from jouleloop.optimum.limit import Tell, Watch, gap_of
from jouleloop.study.runlog import current_run
from jouleloop.units import said

_FOLDER = "progress"
_SECONDS_BETWEEN = 15.0
#: Seconds after which a search is long enough to be told of.
_LONG_SECONDS = 1.5
#: Where a search stands that has not told yet.
UNTOLD = "listing the parts of the mapspace"


@dataclass(frozen=True)
class RunProgress:
    """Points (a layer on an architecture) of a run."""

    done: int
    """Points with a result, whether searched in this run, stored before, or in a chunk that needed no work."""
    total: int
    searched: int
    """Points searched in this run."""
    seconds: float

    def __str__(self) -> str:
        share = 100 * self.done / self.total if self.total else 100.0
        text = f"{self.done:,} of {self.total:,} points ({share:.0f} %)"
        # A clock that was set back says nothing about the rate.
        if self.searched and self.seconds > 0:
            rate = self.searched / self.seconds
            text += f", {rate:.1f} points/s, about {duration((self.total - self.done) / rate)} left"
        return text


def duration(seconds: float) -> str:
    """Return ``seconds`` as h:mm:ss or m:ss."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def run_progress(logs: Path, finished: Path) -> RunProgress:
    """Return how far the run is whose logs are in ``logs`` and whose finished chunks are noted in ``finished``."""
    noted = current_run(logs)
    done = total = searched = 0
    for name, chunk in noted["chunks"].items():
        total += chunk["layers"]
        state = _read(logs / _FOLDER / f"{name}.json")
        if state.get("run") == noted["run"]:
            done += state["done"]
            searched += state["searched"]
        elif _read(finished / f"{name}.json").get("options") == chunk["options"]:
            done += chunk["layers"]
    return RunProgress(done, total, searched, time.time() - noted["started"])


def standing(best: float | None, lower_bound: float, unit: str) -> str:
    """Return what is known of an optimum that is not proven yet."""
    found = "no mapping yet" if best is None else f"best {best:,.0f} {said(unit)}"
    gap = gap_of(best, lower_bound)
    return f"{found}, at least {lower_bound:,.0f}" + ("" if gap is None else f", gap {gap:.2%}")


def search_line(progress: SearchProgress) -> str:
    """Return where a search stands in one line."""
    known = standing(progress.best, progress.lower_bound, progress.unit)
    return f"{known}; {progress.parts_left:,} of {progress.parts:,} parts left, {progress.seconds:.0f} s"


def long_searches(name: str, stream: TextIO = sys.stderr) -> Tell:
    """Return what prints where a search stands that takes long, and again now and then."""
    printed = 0.0

    def tell(watch: Watch, progress: Callable[[], SearchProgress]) -> None:
        nonlocal printed
        first = printed < watch.started
        due = watch.started + _LONG_SECONDS if first else printed + _SECONDS_BETWEEN
        if time.monotonic() >= due:
            printed = time.monotonic()
            stream.write(f"{name}: {watch.subject}: {search_line(progress())}\n")
            stream.flush()

    return tell


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except JouleloopError:
        return {}
    return found if isinstance(found, dict) else {}


def chunk_progress(logs: Path, finished: Path, name: str, stream: TextIO = sys.stderr) -> Callable[[int, int], None]:
    """Return what a chunk's job calls with the layers found and searched since the last call.

    It notes the chunk's own progress for the others, and prints that of the run now and then.
    """
    run = current_run(logs)["run"]
    path = logs / _FOLDER / f"{name}.json"
    done = searched = 0
    printed = time.monotonic()

    def advance(found: int, new: int) -> None:
        nonlocal done, searched, printed
        done += found + new
        searched += new
        # No more than a display: a failure here must not fail the search.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"run": run, "done": done, "searched": searched}), encoding="utf-8")
        if run and time.monotonic() - printed > _SECONDS_BETWEEN:
            printed = time.monotonic()
            stream.write(f"{name}: {run_progress(logs, finished)}\n")
            stream.flush()

    return advance
