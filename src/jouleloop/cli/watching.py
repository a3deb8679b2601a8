"""One search on a terminal: where it stands, and how Ctrl-C stops it with what it has."""

import contextlib
from collections.abc import Iterator

import typer

from jouleloop.jit import cache_folder
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.signals import asked_by_signals, exit_code
from jouleloop.study.progress import UNTOLD, search_line
from jouleloop.terminal.console import print_note, stderr


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


@contextlib.contextmanager
def told_as_stored() -> Iterator[None]:
    """End the command where somebody stops a search inside, and say that the same command goes on from there."""
    try:
        yield
    except KeyboardInterrupt as error:
        left = f"{str(error) or 'interrupted'}\nwhat was found before is stored: the same command goes on with it"
        print_note(left)
        raise typer.Exit(exit_code()) from error


def say_if_compiling() -> None:
    """Say on standard error that the kernels are compiled now, where this version of them was never used here."""
    kernels = cache_folder()
    if not kernels.is_dir() or not any(kernels.iterdir()):
        stderr.print("compiling the search, once for this version", highlight=False)
