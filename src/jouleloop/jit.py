"""Where compiled kernels are kept: one folder a version of their code, so that an edit never meets stale machine code.

numba looks only at the file of the function it loads, not at the functions that one calls, and at the file's every
byte. Here one hash of the code of all kernels, without docstrings and comments, stands for their version: a change in a
callee is seen, an explanation compiles nothing. Checkouts of the same code share what is compiled. Every room with
kernels imports this module before numba compiles anything.
"""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from jouleloop.sources import PACKAGE, digest_of, with_imports

_DECORATOR = re.compile(rb"^@(nb\.|numba\.)?njit\b", re.MULTILINE)
_LOCATOR = f"{__name__}.KernelLocator"


def kernel_modules(root: Path = PACKAGE) -> set[Path]:
    """Return the modules with kernels and those that kernels can take anything from.

    Machine code holds the constants it was compiled with, and the fields of the records it was given: a module of a
    room with kernels counts wherever a kernel's module imports it, any other where it is a constant that is imported.
    """
    kernels = {path for path in root.rglob("*.py") if _DECORATOR.search(path.read_bytes())}
    rooms = {path.parent for path in kernels}
    return with_imports(
        kernels, root, follow=lambda path, names: path.parent in rooms or any(name.isupper() for name in names)
    )


def cache_folder(root: Path = PACKAGE) -> Path:
    """Return the folder for the kernels of this version of their code."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME")
    parent = Path(chosen) if chosen else (Path(base) if base else Path.home() / ".cache") / "jouleloop"
    return parent / f"kernels-{digest_of(kernel_modules(root), root)}"


class KernelLocator(caching._CacheLocator):  # noqa: SLF001 - what numba offers to derive from
    """Tells numba where the machine code of a function of this package is; other functions are left to numba."""

    folder = Path()

    def __init__(self, path: Path) -> None:
        self._path = path

    def get_cache_path(self) -> str:
        """Return the folder of one room's kernels."""
        return str(self._path)

    def get_source_stamp(self) -> str:
        """Return nothing of the file: the folder's name tells the version already."""
        return ""

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart; the module's and function's names do."""
        return "kernel"

    @classmethod
    def from_function(cls, _function: Callable[..., Any], file: str) -> "KernelLocator | None":
        """Return the locator of a function of this package, or None."""
        path = Path(file).resolve()
        if not path.is_relative_to(PACKAGE):
            return None
        found = cls(cls.folder / path.parent.relative_to(PACKAGE))
        found._path.mkdir(parents=True, exist_ok=True)
        return found


def use_cache_folder() -> None:
    """Point numba to the folder, or to a private temporary one where it cannot be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    KernelLocator.folder = folder if writable else Path(tempfile.mkdtemp(prefix="jouleloop-kernels-"))
    implementation = getattr(caching, "CacheImpl", None) or getattr(caching, "_CacheImpl")  # noqa: B009
    numbas_own = ",".join(locator.__name__ for locator in implementation._locator_classes)  # noqa: SLF001
    known = os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES") or numbas_own
    setattr(numba.config, "CACHE_LOCATOR_CLASSES", f"{_LOCATOR},{known}")  # noqa: B010 - settings are not declared
    if not os.environ.get("NUMBA_CACHE_DIR"):
        # For a numba that knows no locators but its own.
        setattr(numba.config, "CACHE_DIR", str(KernelLocator.folder))  # noqa: B010


use_cache_folder()

njit = numba.njit
"""Taken from here where nothing else in a room would import this module before numba compiles."""
