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
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return False
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    _HELD[folder.resolve()] = handle
    last = os.pread(handle, 4096, 0)
    here = {"machine": socket.gethostname()}
    text = json.dumps(here).encode()
    locks = [child for child in (folder / "locks").glob("*") if child.is_file()]
    if last not in (b"", text):
        # Another machine was last at work here. Without its locks it is done; with them, it may be alive.
        if locks:
            return False
        os.ftruncate(handle, 0)
    os.pwrite(handle, text, 0)
    if last == b"":
        return False
    for child in locks:
        child.unlink(missing_ok=True)
    return bool(locks)
