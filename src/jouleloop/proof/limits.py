"""What one verification may take: processor seconds and memory, so that a hostile file ends with a clear line.

What a writer states is held to steps, which are the same on every machine.
"""

import contextlib
import math
import resource
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

#: Processor seconds and bytes beyond what the process holds already.
SECONDS, MEMORY_BYTES = 20.0, 10**9
#: Steps of a verification that a writer allows.
MOST_STEPS = 1_000_000


class Exceeded(Exception):  # noqa: N818 - a verdict, not an error of the program
    """Verifying takes more than allowed; the text says which limit."""


@dataclass
class Steps:
    """Counts what is looked at; raises `Exceeded` beyond ``most``."""

    most: float = math.inf
    count: int = 0

    def add(self, number: int = 1) -> None:
        """Count some steps."""
        self.count += number
        if self.count > self.most:
            raise Exceeded(f"it takes more than {self.most:,} steps")


@contextlib.contextmanager
def limited(seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES) -> Iterator[None]:
    """Run what stands inside with at most so many processor seconds and so much more memory; raise `Exceeded`.

    Only a main thread takes signals; in another one the memory alone is limited.
    """
    before = _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Elsewhere than on Linux memory has no limit.
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:  # noqa: PTH123 - a line of the kernel's
        most = int(file.read().split()[0]) * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    timed = threading.current_thread() is threading.main_thread()

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Exceeded(f"it takes more than {seconds:g} processor seconds")

    handler = signal.signal(signal.SIGPROF, end) if timed else None
    try:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    except MemoryError:
        raise Exceeded(f"it takes more than {memory_bytes / 1e9:g} GB of memory") from None
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
