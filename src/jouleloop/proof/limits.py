"""What one verification may take: seconds and memory, so that a hostile file ends with a clear line, and steps."""

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
#: Steps of a verification that a writer allows, of one layer with imperfect factors and of a chain. A bound is one.
MOST_STEPS, MOST_CHAIN_STEPS = 200_000, 1_000_000
#: Those of a nest that is counted; and of a way to run a group, or *every word once* in one subproblem.
NEST_STEPS, WAY_STEPS = 20, 10


class Exceeded(Exception):  # noqa: N818 - a verdict, not an error of the program
    """Verifying takes more than allowed; the text says which limit."""


@dataclass
class Verdict:
    """Subproblems; cuts of tiles left out; nests evaluated one by one; of a chain, ways to run a group; all steps."""

    parts: int = 0
    cuts: int = 0
    nests: int = 0
    ways: int = 0
    steps: int = 0
    most_steps: float = math.inf

    def took(self, steps: int = 1, *, cuts: int = 0, nests: int = 0, ways: int = 0) -> None:
        """Count what was looked at in some steps; raise `Exceeded` beyond the most."""
        self.cuts, self.nests, self.ways = self.cuts + cuts, self.nests + nests, self.ways + ways
        self.steps += steps
        if self.steps > self.most_steps:
            raise Exceeded(f"it takes more than {self.most_steps:,} steps")


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

    def end(_number: int, frame: FrameType | None) -> None:
        # What is raised in a callback of the garbage collector is lost: another alarm follows until our code runs.
        if frame is None or not str(frame.f_globals.get("__name__")).startswith("jouleloop."):
            return
        signal.setitimer(signal.ITIMER_PROF, 0)
        raise Exceeded(f"it takes more than {seconds:g} processor seconds")

    handler = signal.signal(signal.SIGPROF, end) if timed else None
    try:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, seconds, 0.01)
        yield
    except MemoryError:
        raise Exceeded(f"it takes more than {memory_bytes / 1e9:g} GB of memory") from None
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
