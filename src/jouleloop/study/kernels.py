"""The kernels of a search, compiled once before many processes need them at the same time."""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from jouleloop.jit import cache_folder
from jouleloop.sources import PACKAGE

#: Loops that divide, and those that need not: each has a search of its own.
FACTORS = ("perfect", "imperfect")


def compile_kernels(project: Path = Path(), factors: Iterable[str] = FACTORS) -> str:
    """Search small layers in a process of its own, which leaves the compiled kernels behind; return what went wrong.

    Only where this version was not compiled with this Python before; says so, as it takes a while.
    """
    waiting = [kind for kind in FACTORS if kind in set(factors) and not _note(kind).exists()]
    if waiting:
        print("compiling the kernels of the search, once", file=sys.stderr, flush=True)
        # One process: what several kernels call is typed and lowered once.
        command = [sys.executable, "-m", "jouleloop.api.warm", *waiting]
        finished = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603
        if finished.returncode:
            return finished.stderr.strip()[-300:]
    for kind in waiting:
        if _note(kind).parent.is_dir():  # else they cannot be kept
            _note(kind).touch()
    return ""


def _note(factors: str) -> Path:
    # Kernels are kept by where their source stands.
    place = hashlib.sha256(str(PACKAGE.resolve()).encode()).hexdigest()[:8]
    return cache_folder() / f".compiled-{factors}-{platform.python_version()}-{place}"
