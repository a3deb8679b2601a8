"""Knowing that a run was killed: what it left locked is freed by the next run, what a living run holds is not."""

import json
import os
import socket
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not a POSIX system: Snakemake's own lock and its --unlock remain
    _LOCKS = False
else:
    _LOCKS = True

_NAME = "jouleloop.lock"
#: Kept open as long as this process lives; the system frees the lock when it dies, however it dies.
_HELD: dict[Path, int] = {}


def _process(number: int) -> list[int]:
    """Return the process and when it began, as far as the system tells: numbers of processes are used again."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return [number]
    state, *further = text.rpartition(")")[2].split()
    return [number] if state == "Z" else [number, int(further[18])]


def _is_dead(noted: bytes, machine: str) -> bool:
    """Whether the process that was noted was one of ``machine`` and is no more."""
    try:
        last = json.loads(noted)
        own, process = last["machine"] == machine, last.get("process")
        return bool(own and (process is None or process != _process(process[0]) or len(process) == 1))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return False


def free_stale_locks(folder: Path) -> bool:
    """Remove Snakemake's locks in ``folder`` (``.snakemake``) where the run that made them on this machine is dead.

    Snakemake's locks are plain files that stay when it is killed; only then is it right to remove them, and only the
    system's own lock, which ends with its process, tells. Where another machine made them, or the file system has no
    locks, nothing is removed and ``snakemake --unlock`` remains for the user.

    Returns
    -------
    bool
        Whether anything was removed.
    """
    if not _LOCKS or folder.resolve() in _HELD:
        return False
    path = folder / _NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return False
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    _HELD[folder.resolve()] = handle
    last = os.pread(handle, 4096, 0)
    machine = socket.gethostname()
    locks = [child for child in (folder / "locks").glob("*") if child.is_file()]
    if last and locks and not _is_dead(last, machine):
        # Another machine was last at work here, and may be alive; or this one, where locks mean nothing.
        return False
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps({"machine": machine, "process": _process(os.getpid())}).encode(), 0)
    if last == b"":
        return False
    for child in locks:
        child.unlink(missing_ok=True)
    return bool(locks)
