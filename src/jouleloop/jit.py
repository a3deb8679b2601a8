"""Where compiled kernels are kept: one folder a version of the sources, so that an edit never meets stale machine code.

numba looks only at the file of the function it loads, not at the functions that one calls; a change in a callee would
go unseen. Every module with kernels imports this one before numba compiles anything.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import numba

_ROOMS = ("model", "search", "theory/fully_connected")


def cache_folder() -> Path:
    """Return the folder for the kernels of this version of the sources."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((package / room).glob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root / "jouleloop" / f"kernels-{digest.hexdigest()[:16]}"


def use_cache_folder() -> None:
    """Point numba to the folder, or to a private temporary one where it cannot be written; a user's own choice wins."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    chosen = str(folder) if writable else tempfile.mkdtemp(prefix="jouleloop-kernels-")
    setattr(numba.config, "CACHE_DIR", chosen)  # noqa: B010 - numba's settings are not declared


use_cache_folder()
