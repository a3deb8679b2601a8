"""Kernels without numba: where they are kept, and a stand-in for each that loads numba when the first is called.

Reading a table or drawing a figure imports modules with kernels and calls none; numba takes longer to import than most
of them. The first call makes all of them real, in every module that has them by name, before anything is compiled.
"""

import atexit
import contextlib
import functools
import importlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

from jouleloop.memory import need
from jouleloop.sources import PACKAGE, cache_home, digest_of, remembered, with_imports

#: Versions whose kernels are kept, some 10 MB each.
KEPT_VERSIONS = 16

#: What numba and the libraries below it take [bytes]: without it they crash, or never come to an end.
_LIBRARIES_BYTES = 450 * 10**6
_DECORATOR = re.compile(rb"^@njit\b", re.MULTILINE)
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])
_Record = TypeVar("_Record", bound=tuple[Any, ...])


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
    version = remembered("kernels", _version) if root == PACKAGE else _version(root)
    return (Path(chosen) if chosen else cache_home()) / f"kernels-{version}"


def _version(root: Path = PACKAGE) -> str:
    return digest_of(kernel_modules(root), root)


@cache
def folder() -> Path:
    """Return the folder, or where it cannot be written a temporary one that ends with the process."""
    found = cache_folder()
    with contextlib.suppress(OSError):
        new = not found.is_dir()
        found.mkdir(parents=True, exist_ok=True)
        if os.access(found, os.W_OK):
            os.utime(found)  # it was used, see `_forget`
            if new:
                _forget(found.parent)
            return found
    alone = Path(tempfile.mkdtemp(prefix="jouleloop-kernels-"))
    atexit.register(shutil.rmtree, alone, ignore_errors=True)
    print(f"note: {found} cannot be written, so this process compiles kernels that no other can use", file=sys.stderr)
    return alone


def _forget(home: Path) -> None:
    """Remove the kernels of all versions but those that were used last.

    A process that still has one of them in use has loaded what it called, and compiles again what it finds no more.
    """
    found = [(path.stat().st_mtime, path) for path in home.glob("kernels-*")]
    for _, path in sorted(found, reverse=True)[KEPT_VERSIONS:]:
        shutil.rmtree(path, ignore_errors=True)


def _maker() -> Callable[[Callable[..., Any], dict[str, Any]], Any]:
    """Return what makes kernels: ours, or numba alone where ours does not suit its version."""
    try:
        machine = importlib.import_module("jouleloop.jit.machine")
        machine.check()
    except MemoryError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"kernels compile slowly with this version of numba ({what})", file=sys.stderr)
        machine = importlib.import_module("jouleloop.jit.plain")
    return machine.make  # type: ignore[no-any-return]


class _Kernels:
    """All kernels that were defined, until the first is called."""

    def __init__(self) -> None:
        self.waiting: list[_StandIn] = []
        self.records: list[type[Any]] = []

    def make(self) -> None:
        """Make all kernels, and put them in the place of their stand-ins; raise `MemoryError` without room."""
        need(_LIBRARIES_BYTES)
        made = _maker()
        register = importlib.import_module("jouleloop.jit.records").register
        records, self.records = self.records, []
        for record_ in records:
            register(record_)
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one.kernel = made(one.function, one.options)
        for names in {id(one.function.__globals__): one.function.__globals__ for one in waiting}.values():
            for name, value in names.items():
                if isinstance(value, _StandIn):
                    names[name] = value.kernel


_KERNELS = _Kernels()


def record(kind: type[_Record]) -> type[_Record]:
    """Mark a class of named tuples whose values kernels take by address, see `jouleloop.jit.records`."""
    _KERNELS.records.append(kind)
    return kind


class _StandIn:
    """Stands for a kernel until the first is called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function: Any = function
        self.options = options
        self.kernel: Any = None
        _KERNELS.waiting.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self.made()(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the stand-in for where it is not replaced."""
        return self.made()._numba_type_

    def made(self) -> Any:
        """Return the kernel."""
        if self.kernel is None:
            _KERNELS.make()
        return self.kernel


@overload
def njit(function: _Kernel, /) -> _Kernel: ...
@overload
def njit(*, inline: str = "never", apart: bool = False) -> Callable[[_Kernel], _Kernel]: ...
def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function for the types it is called with, or load what was compiled before: `numba.njit`.

    With ``apart`` it is compiled once, and other kernels call it by its address. Without, it becomes a part of each.
    """
    return (lambda given: _StandIn(given, options)) if function is None else _StandIn(function, options)
