"""Waiting for events, never for a time: a test that passes on an idle machine passes on a busy one."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import gettempdir

LIMIT_S = 1800.0
"""Seconds after which something that should have happened is taken for lost; no healthy machine comes near."""


def until(condition: Callable[[], object], seconds: float = LIMIT_S, pause_s: float = 0.02) -> None:
    """Wait until ``condition`` holds; fail where it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(pause_s)


def installed(programs: tuple[str, ...], packages: tuple[str, ...]) -> str | None:
    """Return why ``programs`` are missing after an attempt to install Debian's ``packages``; None where all are there.

    Only root installs, and only where JOULELOOP_NO_INSTALL is not set. Locks of the package manager that another
    process holds are waited for.
    """
    if all(map(shutil.which, programs)):
        return None
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return f"not installed, and installing {' and '.join(packages)} needs root on Debian"
    if os.environ.get("JOULELOOP_NO_INSTALL"):
        return f"not installed, and JOULELOOP_NO_INSTALL forbids to install {' and '.join(packages)}"
    with Path(gettempdir(), "jouleloop-tests-install.lock").open("w") as own:
        flock(own, LOCK_EX)
        for command in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
            error = _apt_get(*command)
            if error:
                return f"apt-get {command[0]} failed: {error[-300:]}"
    lost = [name for name in programs if shutil.which(name) is None]
    return f"not installed: {', '.join(lost)}" if lost else None


def _apt_get(*command: str) -> str:
    """Return what apt-get complains of, nothing where it succeeds; try again while somebody else holds a lock."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    arguments = ["apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={LIMIT_S:.0f}", *command]
    end = time.monotonic() + LIMIT_S
    while True:
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        locked = "Could not get lock" in done.stderr or "Unable to lock" in done.stderr
        if not done.returncode or not locked or time.monotonic() > end:
            return done.stderr.strip() if done.returncode else ""
        time.sleep(1)
