"""The kernels of a search, compiled once before many processes need them at the same time."""

import platform
import subprocess
import sys
from pathlib import Path

from jouleloop.jit import cache_folder

#: One small layer of each kind of kernels.
_LAYERS = ("fc:64x64", "conv:C4xM8xP4xQ4xR3xS3")


def compiled() -> bool:
    """Whether this version of the kernels was compiled with this Python."""
    return _note().exists()


def compile_kernels(project: Path = Path()) -> str:
    """Search small layers in processes of their own, which leave the compiled kernels behind; return what went wrong.

    Says so where they were not compiled before: it takes half a minute.
    """
    if not compiled():
        print("compiling the kernels of the search, once", file=sys.stderr, flush=True)
    for layer in _LAYERS:
        command = [sys.executable, "-m", "jouleloop", "map", "--arch", "simba", "--layer", layer, "--json"]
        finished = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)  # noqa: S603
        if finished.returncode not in (0, 1):
            return finished.stderr.strip()[-300:]
    if _note().parent.is_dir():  # else they cannot be kept
        _note().touch()
    return ""


def _note() -> Path:
    return cache_folder() / f".compiled-{platform.python_version()}"
