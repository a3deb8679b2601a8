"""Limits on memory: what a process may have, so that a lack of it is a message and no crash inside a library.

Libraries that are loaded or compile without enough memory abort, crash or try again for ever (OpenBLAS, LLVM); a
process that takes more than its control group may have is killed without a word. So a limit that is too low is
refused at the start, that of a control group becomes one that allocations fail at, and memory for what cannot fail
is looked for before.
"""

import contextlib
import errno
import os
from pathlib import Path

from jouleloop.errors import Fault, JouleloopError, raise_all

try:
    import resource
except ImportError:  # not a POSIX system
    _LIMITS: dict[str, int] = {}
else:
    _LIMITS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}

_MB = 10**6
#: What a process needs at least [bytes] under each limit: addresses, data, and memory of a control group.
LEAST = {"ulimit -v": 1000 * _MB, "ulimit -d": 500 * _MB, "control group": 400 * _MB}
#: What is left of a control group's memory for all that is no data of the process [bytes].
_BESIDE = 32 * _MB
_GROUPS = Path("/sys/fs/cgroup")
#: Files with a group's limit, and with how often it was too low.
_LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
_EVENT_FILES = ("memory.events", "memory.oom_control")
#: A limit that is none, as control groups of version 1 state it, is near 2^63.
_NO_LIMIT = 2**60
#: What takes address space by the number of cores or in advance, and how it takes less.
_FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
#: Where Arrow takes memory from.
_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")


class MemoryLimitError(JouleloopError):
    """A limit on memory is too low for anything."""


def check() -> dict[str, int]:
    """Return the limits on memory [bytes] by name; raise `MemoryLimitError` where a limit is below `LEAST`."""
    limits = {name: limit for name, number in _LIMITS.items() if (limit := _soft(number)) is not None}
    group = group_limit()
    if group is not None:
        limits["control group"] = group
    faults = [
        Fault(
            f"the limit on memory of {limit // _MB:,} MB ({name}) is too low",
            allowed=f"at least {LEAST[name] // _MB:,} MB",
        )
        for name, limit in limits.items()
        if limit < LEAST[name]
    ]
    raise_all(faults, MemoryLimitError)
    return limits


def prepare() -> None:
    """Let this process keep to the limits on memory; to be called before numpy is imported, see `check`."""
    # What a part of a table took is given back: the pools of Arrow's own keep it.
    os.environ.setdefault(*_POOL)
    limits = check()
    if limits:
        for name, value in _FRUGAL.items():
            os.environ.setdefault(name, value)
    group = limits.get("control group")
    if group is not None and _LIMITS:
        number = _LIMITS["ulimit -d"]
        soft, hard = resource.getrlimit(number)
        data = group - _BESIDE
        if soft == resource.RLIM_INFINITY or soft > data:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, (data, hard))


def need(size: int) -> None:
    """Raise `MemoryError` where the limits leave less than ``size`` bytes: for what ends the process without them."""
    if not _LIMITS:
        return
    limits = [_soft(number) for number in _LIMITS.values()]
    if limits == [None, None]:
        return
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return
    # Address space, and data with stack.
    used = [int(pages[0]) * os.sysconf("SC_PAGE_SIZE"), int(pages[5]) * os.sysconf("SC_PAGE_SIZE")]
    for limit, taken in zip(limits, used, strict=True):
        if limit is not None and limit - taken < size:
            raise MemoryError


def group_limit() -> int | None:
    """Return the memory [bytes] that the process's control group may have, None where there is no limit."""
    found = [_number(folder / name) for folder in _folders() for name in _LIMIT_FILES]
    return min((limit for limit in found if limit is not None and limit < _NO_LIMIT), default=None)


def group_kills() -> int:
    """Return how many processes of the control group were killed because it had no memory left."""
    kills = 0
    for folder in _folders():
        for name in _EVENT_FILES:
            with contextlib.suppress(OSError, ValueError):
                lines = (folder / name).read_text(encoding="ascii").splitlines()
                kills = max([kills, *(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))])
    return kills


def is_lack(error: BaseException | None) -> bool:
    """Whether an error comes of a lack of memory, or is what a library's loader or a new thread makes of it."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        text = str(error)
        if isinstance(error, ImportError | OSError) and ("allocate memory" in text or "failed to map" in text):
            return True
        if isinstance(error, RuntimeError) and "can't start new thread" in text:
            return True
        error = error.__cause__ or error.__context__
    return False


def lack() -> str:
    """Return the message for a lack of memory, with the limits there are."""
    limits = [f"{limit // _MB:,} MB by {name}" for name, n in _LIMITS.items() if (limit := _soft(n)) is not None]
    return "not enough memory" + (f" (allowed: {', '.join(limits)})" if limits else "")


def _soft(number: int) -> int | None:
    limit = resource.getrlimit(number)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _folders() -> list[Path]:
    """Return the folders of the process's control group and of all that it lies in."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    found: dict[Path, None] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _GROUPS / "memory" if controllers else _GROUPS
        inside = root / path.lstrip("/")
        # In a container the path may be that of the machine: then the root of what is mounted is the group.
        found |= dict.fromkeys(folder for folder in (inside, *inside.parents) if folder.is_relative_to(root))
    return list(found)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or "max"
        return None
