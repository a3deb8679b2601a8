"""Signals that end a process: work is given up where it stands, what is finished is kept, nothing is left running.

Python turns SIGINT into an exception wherever it stands, and lets SIGTERM end the process there and then. Here both
raise `Ended` once, what follows from it is not disturbed, and a process that does not come to its end is left.
"""

import _thread
import contextlib
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType

#: What ends a process; the last only where it is not ignored (``nohup``).
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds in which a process that was told to end has to do so, and after which a further signal ends it at once.
_MOST_SECONDS, _PATIENCE_SECONDS = 3.0, 1.0
#: CPU seconds in which a search that was asked to stop has to do so, and seconds that it has where others compute.
_ASKED_CPU_SECONDS, _ASKED_SECONDS = 1.5, 4.0
#: Between two looks at the clocks.
_LOOK_SECONDS = 0.05
_IMPORTS = "<frozen importlib"
_SHOW_CURSOR = b"\x1b[?25h"


class Ended(KeyboardInterrupt):
    """A signal told the process to end."""


def interrupts_raise() -> bool:
    """Whether Ctrl-C raises `KeyboardInterrupt` here: no program has set a handler of its own."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


class _Told:
    """Which signal came and when, if any did, and whether it was raised."""

    number: int | None = None
    at = 0.0
    raised = False


class _Asked:
    """Which turn of `asked_by_signals` it is: what is due later must not strike another one."""

    now = 0


def exit_code() -> int:
    """Return the exit code that tells a shell of the signal that came; of SIGINT where none did."""
    return 128 + (_Told.number or signal.SIGINT)


def end_if_told() -> None:
    """Raise `Ended` where it was raised and got lost: Python cannot hand it on from everywhere."""
    if _Told.raised:
        raise Ended


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals raise `Ended` inside, once; for a process of our own, in its main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Told.number, _Told.raised = None, False
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    before = {number: signal.signal(number, _end) for number in (_SIGNALS[:2] if ignored else _SIGNALS)}
    try:
        yield
    except SystemError as error:
        raise struck(error) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def asked_by_signals(stop: Callable[[], None], numbers: Sequence[int] = _SIGNALS[:2]) -> Iterator[None]:
    """Let the first signal call ``stop`` inside; the second one, or some time, does what the first did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main = threading.get_ident()
    before = {number: signal.getsignal(number) for number in numbers}

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        _Told.number, _Told.at = number, time.monotonic()
        stop()
        restore()

        # Sent to the thread itself, so that a call that waits ends as well.
        def insist() -> None:
            if _Asked.now == turn:
                signal.pthread_kill(main, number)

        _later(_ASKED_SECONDS, insist, _ASKED_CPU_SECONDS)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    _Asked.now = turn = _Asked.now + 1
    for number in before:
        signal.signal(number, ask)
    try:
        yield
    finally:
        _Asked.now += 1
        restore()


@contextlib.contextmanager
def terminated_late() -> Iterator[None]:
    """Let SIGTERM raise `Ended` inside and end the process after that, where it would end the process at once.

    For a library: handlers that a program has set stay as they are.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        number, _Told.number, _Told.raised = _Told.number, None, False
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if number is not None:
            os.kill(os.getpid(), number)


def struck(error: SystemError) -> BaseException:
    """Return what a signal's handler raised while a kernel returned arrays, or the error itself where none did.

    numba makes the arrays with some help of Python, where a signal strikes that has waited while the kernel ran.
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__ or cause.__context__
    return error if cause is None else cause


def leave_when_told() -> None:
    """Let signals end the process at once from here on: nothing is begun yet that has to be given up."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS[:2]:
            signal.signal(number, leave)


def leave_interrupts_to_this() -> None:
    """Let this process alone take Ctrl-C, of those that it starts; it tells them (see ``jouleloop/__init__.py``)."""
    os.environ["JOULELOOP_JOB"] = "1"


def ignore_interrupts() -> None:
    """Leave SIGINT to the process that started this one, here and in what this one starts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def give_up_when_told(first: Callable[[], None], last: Callable[[], None]) -> None:
    """Let signals call ``first`` and raise `Ended`, and ``last`` where the process has to be left; for good."""
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        if not _Told.raised:
            _Told.number, _Told.at, _Told.raised = number, time.monotonic(), True
            _leave_soon(number, last)
            first()
            _raise_where_lost(number)
            raise Ended
        if time.monotonic() - _Told.at > _PATIENCE_SECONDS:
            last()
            leave(number)

    # Nobody asks a task that is struck what it raised, which asyncio would write with a traceback.
    logging.getLogger("asyncio").addFilter(_not_ended)
    sys.excepthook = _leave_where_ended
    for number in _SIGNALS[:2]:
        signal.signal(number, end)


def _leave_where_ended(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Leave where nobody takes what a signal raised: a task may hand it on after its loop was given up."""
    if isinstance(error, Ended):
        leave(_Told.number or signal.SIGINT)
    sys.__excepthook__(kind, error, trace)


def _not_ended(record: logging.LogRecord) -> bool:
    """Whether a record of a log is of something else than a signal that ended what ran."""
    return not (record.exc_info and isinstance(record.exc_info[1], Ended))


def let_it_end() -> None:
    """Let no signal disturb what is left, which takes a moment; where it takes longer, the process is left."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS[:2]:
            signal.signal(number, lambda number, _: _leave_soon(number))


def _leave_soon(number: int, last: Callable[[], None] = lambda: None) -> None:
    """End the process in some seconds, however far it is then."""

    def end() -> None:
        last()
        leave(number)

    _later(_MOST_SECONDS, end)


def _later(seconds: float, what: Callable[[], None], cpu_seconds: float = math.inf) -> None:
    """Call ``what`` after some seconds, or as soon as the process has computed for ``cpu_seconds``."""
    until, worked = time.monotonic() + seconds, time.process_time() + cpu_seconds

    def wait() -> None:
        while time.monotonic() < until and time.process_time() < worked:
            time.sleep(_LOOK_SECONDS)
        what()

    # Not `threading`: a handler may run while the main thread holds the lock that it takes for a new thread.
    with contextlib.suppress(RuntimeError, MemoryError):  # no room for a thread
        _thread.start_new_thread(wait, ())


def leave(number: int, frame: FrameType | None = None) -> None:
    """End the process at once, with a word; may be a signal's handler."""
    del frame
    with contextlib.suppress(OSError):
        os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    os._exit(128 + number)


def is_ours(handler: object) -> bool:
    """Whether a signal's handler is the one that raises `Ended`."""
    return handler == _end


def _end(number: int, frame: FrameType | None) -> None:
    if _Told.raised:
        if time.monotonic() - _Told.at > _PATIENCE_SECONDS:
            leave(number)
        return
    _Told.number, _Told.at, _Told.raised = number, time.monotonic(), True
    # Extension modules that are imported by halves crash; nothing is begun that an exception could keep.
    if _imports(frame):
        leave(number)
    _leave_soon(number)
    _raise_where_lost(number)
    raise Ended


def _raise_where_lost(number: int) -> None:
    """Let the signal strike again where Python drops what it raises: in a finaliser or a callback of the collector."""
    handler, main, others = signal.getsignal(number), threading.main_thread().ident, sys.unraisablehook

    def again() -> None:
        if main is not None and signal.getsignal(number) is handler:
            _Told.raised = False
            signal.pthread_kill(main, number)

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if isinstance(lost.exc_value, Ended):
            _later(_LOOK_SECONDS, again)
        else:
            others(lost)

    sys.unraisablehook = hook


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False
