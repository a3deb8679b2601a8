"""Kernels without numba: where they are kept, and a stand-in for each that loads numba when the first is called.

Reading a table or drawing a figure imports modules with kernels and calls none; numba takes longer to import than most
of them. The first call makes all of them real, in every module that has them by name, before anything is compiled.
"""

import contextlib
import functools
import importlib
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

from jouleloop.memory import need
from jouleloop.sources import PACKAGE, cache_home, digest_of, remembered, with_imports

#: What numba and the libraries below it take [bytes]: without it they crash, or never come to an end.
_LIBRARIES_BYTES = 450 * 10**6
_DECORATOR = re.compile(rb"^@njit\b", re.MULTILINE)
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


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
    """Return the folder, or a private temporary one where it cannot be written."""
    found = cache_folder()
    with contextlib.suppress(OSError):
        found.mkdir(parents=True, exist_ok=True)
        if os.access(found, os.W_OK):
            return found
    return Path(tempfile.mkdtemp(prefix="jouleloop-kernels-"))


class _Kernels:
    """All kernels that were defined, until the first is called."""

    def __init__(self) -> None:
        self.waiting: list[_StandIn] = []

    def make(self) -> None:
        """Make all kernels, and put them in the place of their stand-ins; raise `MemoryError` without room."""
        need(_LIBRARIES_BYTES)
        made = importlib.import_module("jouleloop.jit.machine").make
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            one.kernel = made(one.function, one.options)
        for names in {id(one.function.__globals__): one.function.__globals__ for one in waiting}.values():
            for name, value in names.items():
                if isinstance(value, _StandIn):
                    names[name] = value.kernel


_KERNELS = _Kernels()


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
def njit(*, inline: str = "never") -> Callable[[_Kernel], _Kernel]: ...
def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function for the types it is called with, or load what was compiled before: `numba.njit`."""
    return (lambda given: _StandIn(given, options)) if function is None else _StandIn(function, options)
