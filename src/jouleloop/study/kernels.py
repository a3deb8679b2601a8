"""The kernels of a search, compiled once before many processes need them at the same time."""

import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from jouleloop.jit import cache_folder

#: One small layer of each kind of kernels.
_LAYERS = ("fc:64x64", "conv:C4xM8xP4xQ4xR3xS3")
#: Loops that divide, and those that need not: each has a search of its own.
FACTORS = ("perfect", "imperfect")


def compile_kernels(project: Path = Path(), factors: Iterable[str] = FACTORS) -> str:
    """Search small layers in processes of their own, which leave the compiled kernels behind; return what went wrong.

    Only where this version was not compiled with this Python before; says so, as it takes half a minute.
    """
    waiting = [kind for kind in FACTORS if kind in set(factors) and not _note(kind).exists()]
    if waiting:
        print("compiling the kernels of the search, once", file=sys.stderr, flush=True)
    for kind in waiting:
        for layer in _LAYERS:
            command = [sys.executable, "-m", "jouleloop", "map", "--arch", "simba", "--layer", layer, "--json"]
            command += ["--factors", kind]
            finished = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603
            if finished.returncode not in (0, 1):
                return finished.stderr.strip()[-300:]
        if _note(kind).parent.is_dir():  # else they cannot be kept
            _note(kind).touch()
    return ""


def _note(factors: str) -> Path:
    return cache_folder() / f".compiled-{factors}-{platform.python_version()}"
