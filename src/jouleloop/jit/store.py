"""Keeps kernels: a folder for each, with the files of numba's own cache, what it calls, and a digest.

numba loads whatever bytes it finds. The digest covers the name of the folder and all in it: what is damaged, or stands
under another name, is removed and compiled anew. What a compiled kernel calls and the constants it holds, which numba
does not see, name the folder above: `jouleloop.jit.cache_folder`.
"""

import contextlib
import hashlib
import pickle
import platform
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba

from jouleloop import jit

_DIGEST, _CALLS = "digest", "calls"
#: Of what machine code shares with other: raised where `jouleloop.jit` changes.
_FORMAT = "10"


@cache
def _machine() -> tuple[str, ...]:
    """Return what compiled code depends on, but its source: versions and the processor."""
    config: Any = numba.config
    told = [platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        told += [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return (_FORMAT, platform.python_version(), numba.__version__, str(config.CPU_NAME), *told)


def place(kernel: Any, kinds: tuple[Any, ...], effort: int) -> Path:
    """Return the folder of a kernel for some types of arguments."""
    source = Path(kernel.function.__code__.co_filename)
    content = source.read_bytes() if source.exists() else b""
    told = repr((kernel.name, kinds, effort, str(source.resolve()), _machine())).encode() + content
    return jit.folder() / f"{kernel.name}-{hashlib.sha256(told).hexdigest()[:16]}"


def read(home: Path) -> Any:
    """Return what a kernel calls, see `jouleloop.jit.machine`; None where there is no kernel, removed if damaged."""
    try:
        if (home / _DIGEST).read_bytes() == _digest(home, home.name):
            return pickle.loads((home / _CALLS).read_bytes())  # noqa: S301 - as numba's cache does
    except OSError:
        pass
    remove(home)
    return None


def remove(home: Path) -> None:
    """Remove a kernel that is damaged, or calls what is no more."""
    shutil.rmtree(home, ignore_errors=True)


def _digest(folder: Path, name: str) -> bytes:
    """Return the digest of a kernel under its name: the intact files of another kernel are none of this name."""
    digest = hashlib.sha256(name.encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _DIGEST):
        digest.update(f"\0{path.relative_to(folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()


@contextlib.contextmanager
def keeping(home: Path) -> Iterator[Path]:
    """Give a folder that stands in its place at the end, whole or not at all."""
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=home.parent))
    try:
        yield temporary
        with contextlib.suppress(OSError):  # another process has kept it meanwhile, and others may be loading that
            temporary.rename(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def seal(folder: Path, home: Path, calls: Any) -> None:
    """Write what a kernel calls, and the digest that it is to have under another name."""
    (folder / _CALLS).write_bytes(pickle.dumps(calls))
    (folder / _DIGEST).write_bytes(_digest(folder, home.name))
