"""One search on a terminal: where it stands, and how Ctrl-C stops it with what it has."""

import contextlib
from collections.abc import Callable, Iterator

from rich.status import Status

from jouleloop.jit import cache_folder
from jouleloop.optimum.limit import Limit, Progress, Watch
from jouleloop.signals import asked_by_signals
from jouleloop.terminal.console import stderr


@contextlib.contextmanager
def watched(seconds: float | None, *, profile: bool = False) -> Iterator[Watch]:
    """Yield a watch that stops a search after so many seconds, or at the first signal; a second one ends the process.

    On a terminal it shows how the search goes.
    """
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(stderr.status("native searches")) if stderr.is_terminal else None
        watch = Watch(Limit(seconds), None if status is None else _shown(status), profile=profile)
        stack.enter_context(asked_by_signals(watch.stop))
        yield watch


def line(progress: Progress) -> str:
    """Return where a search stands in one line."""
    best = "no mapping yet" if progress.best is None else f"best {progress.best:,.0f} {progress.unit}"
    gap = "" if progress.gap is None else f", gap {progress.gap:.2%}"
    left = f"{progress.parts_left:,} of {progress.parts:,} parts left"
    return f"{best}, at least {progress.lower_bound:,.0f}{gap}; {left}, {progress.seconds:.0f} s"


def _shown(status: Status) -> Callable[[Callable[[], Progress]], None]:
    return lambda progress: status.update(line(progress()))


def say_if_compiling() -> None:
    """Say on standard error that the kernels are compiled now, where this version of them was never used here."""
    kernels = cache_folder()
    if not kernels.is_dir() or not any(kernels.iterdir()):
        stderr.print("compiling the search, once for this version", highlight=False)
