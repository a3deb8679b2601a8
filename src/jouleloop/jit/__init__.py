"""Kernels without numba: where they are kept, and a stand-in for each that loads numba when the first is called.

Reading a table or drawing a figure imports modules with kernels and calls none; numba takes longer to import than most
of them. The first call tells numba of all kernels, before anything is compiled.
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

#: Versions whose kernels are kept, some 50 MB each.
KEPT_VERSIONS = 6

#: What numba and the libraries below it take [bytes]: without it they crash, or never come to an end.
_LIBRARIES_BYTES = 450 * 10**6
_DECORATOR = re.compile(rb"^@njit\b", re.MULTILINE)
_Function = TypeVar("_Function", bound=Callable[..., Any])
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


class _Waiting:
    """Kernels and records that numba does not know yet."""

    def __init__(self) -> None:
        self.kernels: list[_Kernel] = []
        self.records: list[type[Any]] = []

    def introduce(self) -> Any:
        """Return the module that makes kernels, which knows all that was defined; raise `MemoryError` without room."""
        if "jouleloop.jit.machine" not in sys.modules:
            need(_LIBRARIES_BYTES)
            # numba tries what does not fit, and colours an error for each that nobody reads.
            os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
        machine: Any = importlib.import_module("jouleloop.jit.machine")
        kernels, self.kernels = self.kernels, []
        records, self.records = self.records, []
        for record_ in records:
            machine.introduce_record(record_)
        for kernel in kernels:
            machine.introduce(kernel)
        return machine


_WAITING = _Waiting()
#: Records, and numbers: of these the class tells the type.
_PLAIN: set[type[Any]] = {bool, float, int}


def record(kind: type[_Record]) -> type[_Record]:
    """Mark a class of named tuples whose values kernels take by address, see `jouleloop.jit.records`."""
    _WAITING.records.append(kind)
    _PLAIN.add(kind)
    return kind


class _Kernel:
    """A function that is compiled, or loaded, for the types of the arguments it is called with."""

    def __init__(
        self, function: Callable[..., Any], *, apart: bool = False, vectors: bool = False, inline: str = "never"
    ) -> None:
        functools.update_wrapper(self, function)
        self.function: Any = function
        self.name = f"{function.__module__.removeprefix('jouleloop.')}.{function.__qualname__}"
        self.apart, self.vectors, self.inline = apart, vectors, inline == "always"
        self._parameters = function.__code__.co_argcount
        self._entries: dict[tuple[Any, ...], Callable[..., Any]] = {}
        _WAITING.kernels.append(self)

    def __call__(self, *arguments: Any) -> Any:
        lacking = self._parameters - len(arguments)
        if lacking:
            arguments += self.function.__defaults__[-lacking:]
        kinds = tuple(map(_kind_of, arguments))
        entry = self._entries.get(kinds)
        if entry is not None:
            # Records of one class may hold arrays of other types: numba looks at these.
            with contextlib.suppress(TypeError):
                return entry(*arguments)
        self._entries[kinds] = _WAITING.introduce().entry(self, arguments, entry)
        return self._entries[kinds](*arguments)

    def __reduce__(self) -> Any:
        """Let numba's cache name a kernel that another one closes over."""
        return str, (self.name,)


def _kind_of(value: Any) -> Any:
    """Return what tells types of arguments apart, but for what records hold; numpy is not loaded for it."""
    kind = type(value)
    if kind in _PLAIN:
        return kind
    if isinstance(value, tuple):
        return (kind, *map(_kind_of, value))
    flags = getattr(value, "flags", None)
    return kind if flags is None else (kind, value.dtype, value.ndim, flags.num)


@overload
def njit(function: _Function, /) -> _Function: ...
@overload
def njit(*, inline: str = "never", apart: bool = False, vectors: bool = False) -> Callable[[_Function], _Function]: ...
def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function for the types it is called with, or load what was compiled before: `numba.njit`.

    With ``apart`` it is compiled once, and other kernels call it by its address. Without, it becomes a part of each.
    With ``vectors`` its loops take several iterations at once where they may, which takes longer to compile; it has to
    be one that Python calls. A kernel calls no other that calls it, nor itself.
    """
    if function is None:
        return lambda given: _Kernel(given, **options)
    return _Kernel(function, **options)
