"""One search on a terminal: where it stands, and how Ctrl-C stops it with what it has."""

import contextlib
from collections.abc import Iterator

from jouleloop.jit import cache_folder
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.signals import asked_by_signals
from jouleloop.study.progress import UNTOLD, search_line
from jouleloop.terminal.console import stderr


@contextlib.contextmanager
def watched(seconds: float | None, *, profile: bool = False) -> Iterator[Watch]:
    """Yield a watch that stops a search after so many seconds, or at the first signal; a second one ends the process.

    On a terminal it shows how the search goes.
    """
    with contextlib.ExitStack() as stack:
        status = stack.enter_context(stderr.status(UNTOLD)) if stderr.is_terminal else None
        tell = None if status is None else lambda _, progress: status.update(search_line(progress()))
        watch = Watch(Limit(seconds), tell, profile=profile)
        stack.enter_context(asked_by_signals(watch.stop))
        yield watch


def say_if_compiling() -> None:
    """Say on standard error that the kernels are compiled now, where this version of them was never used here."""
    kernels = cache_folder()
    if not kernels.is_dir() or not any(kernels.iterdir()):
        stderr.print("compiling the search, once for this version", highlight=False)
