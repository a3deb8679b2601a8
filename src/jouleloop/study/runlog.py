"""What a run leaves under ``results/logs``: the log of every job, and what each job cost in time and memory."""

import contextlib
import json
import logging
import os
import resource
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jouleloop.errors import Fault, InputError, JouleloopError
from jouleloop.files import read_json, write_json
from jouleloop.memory import is_lack, lack
from jouleloop.signals import ended_by_signals, exit_code
from jouleloop.study.outputs import forget_outputs, note_outputs

LOG = logging.getLogger("jouleloop")
LOGS = Path("results/logs")
#: Set to 1 for a line a layer in the logs; `snakemake --verbose` and `jouleloop sweep --verbose` set it.
VERBOSE = "JOULELOOP_VERBOSE"
_RUN, _USAGE = "run.json", ".usage.json"
# Peak memory is in kB on Linux, in bytes on macOS.
_MEMORY_UNIT_MB = 2**20 if sys.platform == "darwin" else 2**10


@dataclass(frozen=True)
class Usage:
    """What one job cost."""

    stage: str
    """Rule that the job belongs to."""
    run: str
    """Identity of the run."""
    seconds: float
    cpu_seconds: float
    """Wall clock and processor time from the start of the process, processes that it started included."""
    start_cpu_seconds: float
    """Processor time until the job began its work: starting Python and importing."""
    peak_memory_mb: float
    """Greatest resident memory of the process, or of one that it started."""


def start_run(folder: Path, chunks: dict[str, dict[str, Any]]) -> str:
    """Note in ``folder`` that a run begins, and which chunks make it up; return its identity."""
    run = uuid.uuid4().hex[:12]
    write_json(folder / _RUN, {"run": run, "started": time.time(), "chunks": chunks})
    return run


def current_run(folder: Path) -> dict[str, Any]:
    """Return what `start_run` noted; empty values where no run was started (such as with ``--no-hooks``)."""
    with contextlib.suppress(JouleloopError):
        noted = read_json(folder / _RUN)
        if isinstance(noted, dict):
            return noted
    return {"run": "", "started": 0.0, "chunks": {}}


def usages(folder: Path, run: str) -> list[Usage]:
    """Return what the jobs of ``run`` cost that have finished so far."""
    found = []
    for path in sorted(folder.rglob(f"*{_USAGE}")):
        # A file of another version of this package is no news of this run.
        with contextlib.suppress(JouleloopError, TypeError):
            usage = Usage(**read_json(path))
            if usage.run == run:
                found.append(usage)
    return found


@contextlib.contextmanager
def logged(path: str | Path | None, outputs: Iterable[str | Path] = ()) -> Iterator[None]:
    """Log to the file ``path``; a user's mistake, a lack of memory or an interrupt is a message, not a traceback.

    SIGTERM counts as an interrupt: a search stores what it has found. What the job cost, and the digests of its
    ``outputs``, are noted beside the log.
    """
    # What the process needed before is mostly the time its imports took.
    start = time.process_time()
    started = time.monotonic() - start
    try:
        with ended_by_signals(), log_to(Path(path) if path else None, verbose=os.environ.get(VERBOSE) == "1"):
            try:
                if path:
                    forget_outputs(Path(path))
                yield
                if path:
                    note_outputs(Path(path), outputs)
                    _note_usage(Path(path), time.monotonic() - started, start)
            except JouleloopError as error:
                for fault in error.faults:
                    LOG.error("%s", fault)  # noqa: TRY400 - a user's mistake needs no traceback
                raise
            except KeyboardInterrupt:
                LOG.error("interrupted")  # noqa: TRY400
                raise
            except Exception as error:
                if is_lack(error):
                    LOG.error("%s", lack())  # noqa: TRY400
                else:
                    LOG.exception("unexpected error")
                raise
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was stored stays\n")
        raise SystemExit(exit_code()) from None
    except JouleloopError as error:
        sys.stderr.writelines(f"error: {fault}\n" for fault in error.faults)
        raise SystemExit(error.exit_code) from None
    except Exception as error:
        if not is_lack(error):
            raise
        sys.stderr.write(f"error: {lack()}\n")
        raise SystemExit(1) from None


class _LogFile(logging.FileHandler):
    """A log that loses lines where there is no room for them: what fails then says so itself, without a traceback."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Leave out ``record``."""


@contextlib.contextmanager
def log_to(path: Path | None, *, verbose: bool = True) -> Iterator[None]:
    """Write what this package logs to the file ``path``, if there is one; ``verbose`` is a line a layer."""
    if path is None:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFile(path, mode="w", encoding="utf-8")
    except OSError as error:
        raise InputError(Fault(f"cannot be written: {error.strerror}", str(path))) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    before = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG if verbose else logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)
        with contextlib.suppress(OSError):
            handler.close()


def _note_usage(log: Path, seconds: float, start_cpu_seconds: float) -> None:
    parts = log.parts
    inside = parts[parts.index(LOGS.name) + 1 :] if LOGS.name in parts else (log.name,)
    folder = Path(*parts[: len(parts) - len(inside)])
    # Processes that it has waited for belong to it: figures are drawn by some.
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, others.ru_maxrss) / _MEMORY_UNIT_MB
    usage = Usage(
        stage=Path(inside[0]).stem,
        run=current_run(folder)["run"],
        seconds=round(seconds, 3),
        cpu_seconds=round(time.process_time() + others.ru_utime + others.ru_stime, 3),
        start_cpu_seconds=round(start_cpu_seconds, 3),
        peak_memory_mb=round(memory, 1),
    )
    LOG.info("%.1f s, %.1f s of one core, %.0f MB", usage.seconds, usage.cpu_seconds, usage.peak_memory_mb)
    # Without a room for it (a full disk, say), the job's result counts all the same.
    with contextlib.suppress(OSError, JouleloopError):
        log.with_suffix(_USAGE).write_text(json.dumps(asdict(usage)) + "\n", encoding="utf-8")
