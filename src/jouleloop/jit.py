"""Compiled kernels: kept by the version of their code, and loaded only if they are what was stored.

A compiled kernel holds all that it calls and the constants it was compiled with, which numba's own cache does not see,
and numba loads whatever bytes it finds. Here one hash of the code of all kernels, without docstrings and comments,
names the folder; each file in it begins with the hash of its content. So a change in a callee compiles anew, an
explanation does not, checkouts of the same code share what is compiled, and a damaged file is compiled anew.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from llvmlite import __version__ as llvmlite_version
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from jouleloop.sources import PACKAGE, cache_home, digest_of, remembered, with_imports

_DECORATOR = re.compile(rb"^@njit\b", re.MULTILINE)
_DIGEST_BYTES = hashlib.sha256().digest_size
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
def _folder() -> Path:
    """Return the folder, or a private temporary one where it cannot be written."""
    folder = cache_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="jouleloop-kernels-"))


class KernelCache:
    """The machine code of one kernel, a file for each tuple of argument types; stands where numba has its own cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__.removeprefix('jouleloop.')}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(_folder())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the stored code for the types in ``signature``, None where there is none or the file is damaged.

        Unlike numba's own cache this does not first make numba ready to compile, which takes longer than the loading.
        """
        try:
            stored = self._path(signature, context.codegen()).read_bytes()
        except OSError:
            return None
        digest, content = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            return None
        rtsys.initialize(context)
        return CompileResult._rebuild(context, *pickle.loads(content))  # noqa: S301, SLF001 - as numba's cache does

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store what was compiled, whole or not at all; where there is no room for it, the next process compiles."""
        if result.library.has_dynamic_globals:
            return
        content = dumps(result._reduce())  # noqa: SLF001
        path = self._path(signature, result.codegen)
        with contextlib.suppress(OSError):
            handle, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(content).digest() + content)
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise

    def _path(self, signature: Any, codegen: Any) -> Path:
        versions = (platform.python_version(), numba.__version__, llvmlite_version, codegen.magic_tuple())
        return _folder() / f"{self._name}-{hashlib.sha256(repr((signature, versions)).encode()).hexdigest()[:16]}"


@overload
def njit(function: _Kernel, /) -> _Kernel: ...
@overload
def njit(*, inline: str = "never") -> Callable[[_Kernel], _Kernel]: ...
def njit(function: Any = None, /, **options: Any) -> Any:
    """Compile a function for the types it is called with, or load what was compiled before: `numba.njit`."""
    if function is None:
        return lambda given: njit(given, **options)
    kernel = numba.njit(**options)(function)
    kernel._cache = KernelCache(function)  # noqa: SLF001 - where numba keeps its own
    return kernel
