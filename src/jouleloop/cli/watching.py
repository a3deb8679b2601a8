"""One search on a terminal: where it stands, and how Ctrl-C stops it with what it has."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from jouleloop.jit import cache_folder
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.study.progress import UNTOLD, search_line
from jouleloop.terminal.console import stderr

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def watched(seconds: float | None, *, profile: bool = False) -> Iterator[Watch]:
    """Yield a watch that stops a search after so many seconds, or at the first signal; a second one ends the process.

    On a terminal it shows how the search goes.
    """
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(stderr.status(UNTOLD)) if stderr.is_terminal else None
        tell = None if status is None else lambda _, progress: status.update(search_line(progress()))
        watch = Watch(Limit(seconds), tell, profile=profile)
        stack.enter_context(stopped_by_signals(watch))
        yield watch


@contextlib.contextmanager
def stopped_by_signals(watch: Watch) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM ask ``watch`` to stop; the second one does what it did before."""
    # Only the main thread may say what a signal does.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        watch.stop()
        for one, handler in before.items():
            signal.signal(one, handler)

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def say_if_compiling() -> None:
    """Say on standard error that the kernels are compiled now, where this version of them was never used here."""
    kernels = cache_folder()
    if not kernels.is_dir() or not any(kernels.iterdir()):
        stderr.print("compiling the search, once for this version", highlight=False)
