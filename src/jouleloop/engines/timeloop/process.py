"""Running one external program: own directory, fixed threads, a time limit that is kept, every line of output seen."""

import math
import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

from jouleloop import signals
from jouleloop.errors import Fault

_KEPT_LINES = 400
_MAX_LINE = 4000
_KILL_GRACE_S = 5.0
#: Variables that silently change what Timeloop counts are not passed on.
_FORBIDDEN_PREFIX = "TIMELOOP_"
#: Timeloop 4 else leaves out of its text all that takes no energy: networks, levels, and the units.
_SHOWN = {"TIMELOOP_HIDE_INCONSEQUENTIAL_STATS": "0"}
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class ProgramRun:
    """How a run ended."""

    return_code: int | None
    """Negative: the signal that ended it. None where it could not be started."""
    timed_out: bool
    """Whether the time limit was reached, however the program ended then."""
    seconds: float
    lines: tuple[str, ...]
    """The last lines of standard output and standard error together."""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.return_code == 0 and not self.timed_out

    def errors(self) -> list[str]:
        """Return what it printed as errors, without repetition."""
        found = [
            line.strip() for line in self.lines if re.match(r"\s*(ERROR|terminate called|.*Assertion .* failed)", line)
        ]
        return list(dict.fromkeys(found))

    def failure(self, program: str) -> Fault:
        """Return in words why this is no success."""
        said = "; ".join(self.errors()[-3:]) or next(
            (line.strip() for line in reversed(self.lines) if line.strip()), ""
        )
        if self.timed_out:
            how = f"stopped after the time limit, {self.seconds:.0f} s"
        elif self.return_code is None:
            how = "could not be started"
        elif self.return_code < 0:
            how = f"crashed with {_signal_name(-self.return_code)}"
        else:
            how = f"ended with exit code {self.return_code}"
        return Fault(f"{program} {how}" + (f": {said}" if said else ""), "engine timeloop")


@dataclass(frozen=True)
class ProgramWatch:
    """How long a program may take, and who sees what it prints."""

    time_limit_s: float = math.inf
    """Seconds after which it is stopped; infinite for no limit."""
    on_line: Callable[[str], bool] | None = None
    """Called with every line of output; where it returns True the line is not kept."""
    interrupt_grace_s: float = 0.0
    """At the time limit, seconds left for an orderly end after SIGINT (the mapper then writes the best mapping so far);
    the whole process group is killed after that."""


def run_program(arguments: Sequence[str], folder: Path, watch: ProgramWatch) -> ProgramRun:
    """Run ``arguments`` in ``folder`` and wait for its end."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(_FORBIDDEN_PREFIX)}
    environment |= {**dict.fromkeys(_THREAD_VARIABLES, "1"), **_SHOWN}
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    start = time.monotonic()
    with _Cancelling() as cancelling:
        return _run(arguments, folder, environment, kept, start, watch, cancelling)


class _Cancelling:
    """Lets SIGTERM, SIGHUP and SIGINT raise, but not before the program is known: a cancelled job leaves none running.

    Elsewhere than in the main thread nothing is changed, nor where somebody else handles a signal.
    """

    def __init__(self) -> None:
        self.replaced: dict[signal.Signals, Any] = {}
        self.armed = False
        self.pending: int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                handler = signal.getsignal(number)
                if handler in (signal.SIG_DFL, signal.default_int_handler) or signals.is_ours(handler):
                    self.replaced[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.replaced.items():
            signal.signal(number, handler)

    def arm(self) -> None:
        """Raise from now on, also for a signal that has come already."""
        self.armed = True
        if self.pending is not None:
            self._arrived(self.pending, None)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if not self.armed:
            self.pending = number
        elif signals.is_ours(handler := self.replaced[signal.Signals(number)]):
            handler(number, frame)
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            raise SystemExit(128 + number)


def _run(
    arguments: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    kept: deque[str],
    start: float,
    watch: ProgramWatch,
    cancelling: _Cancelling,
) -> ProgramRun:
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, the program was located by name
            list(arguments),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return ProgramRun(None, False, 0.0, (error.strerror or str(error),))
    raised: list[BaseException] = []
    reader = threading.Thread(
        target=copy_context().run, args=(_read, process, kept, watch.on_line, raised), daemon=True
    )
    reader.start()
    timed_out = False
    try:
        cancelling.arm()
        # The end of its output is the end of the program; waiting for that needs no polling.
        limited = math.isfinite(watch.time_limit_s)
        reader.join(watch.time_limit_s if limited else None)
        left = max(0.05, watch.time_limit_s - (time.monotonic() - start)) if limited else None
        if not _wait(process, left):
            timed_out = True
            if watch.interrupt_grace_s > 0:
                _send(process, signal.SIGINT)
                _wait(process, watch.interrupt_grace_s)
    finally:
        # Also after an exception here (Ctrl-C, a cancelled job): no program is left running.
        if process.poll() is None:
            _send(process, signal.SIGKILL)
            process.wait()
        reader.join(_KILL_GRACE_S)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    if raised:
        raise raised[0]
    return ProgramRun(process.returncode, timed_out, time.monotonic() - start, tuple(kept))


def _read(
    process: "subprocess.Popen[str]",
    kept: deque[str],
    on_line: Callable[[str], bool] | None,
    raised: list[BaseException],
) -> None:
    """Take every line; after an exception in ``on_line`` go on, since a full pipe would stop the program."""
    if process.stdout is None:
        return
    while line := process.stdout.readline(_MAX_LINE):
        text = line.rstrip("\n")
        used = False
        if on_line is not None and not raised:
            try:
                used = on_line(text)
            except BaseException as error:
                raised.append(error)
        if not used:
            kept.append(text)


def _send(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _wait(process: "subprocess.Popen[str]", seconds: float | None) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
