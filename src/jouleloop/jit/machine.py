"""Makes kernels: numba with a cache that checks what it loads, and with parts that are compiled once.

A compiled kernel holds all that it calls and the constants it was compiled with, which numba's own cache does not see,
and numba loads whatever bytes it finds. Here one hash of the code of all kernels, without docstrings and comments,
names the folder; each file in it begins with the hash of its content. So a change in a callee compiles anew, an
explanation does not, checkouts of the same code share what is compiled, and a damaged file is compiled anew.

numba makes machine code, and wrappers for Python, of every function that a kernel calls, and optimises what is called
once more at every level. Here only what Python calls is a kernel; the rest is linked into it and optimised there, once.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
from llvmlite import __version__ as llvmlite_version
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult, Flags, compile_extra
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from jouleloop import jit
from jouleloop.memory import need

#: What loading and compiling one kernel takes at most [bytes]: without it LLVM ends the process.
_LOADING_BYTES, _COMPILING_BYTES = 100 * 10**6, 300 * 10**6
_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCache:
    """The machine code of one kernel, a file for each tuple of argument types; stands where numba has its own cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__.removeprefix('jouleloop.')}.{function.__qualname__}"

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(jit.folder())

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
        need(_LOADING_BYTES)
        rtsys.initialize(context)
        return CompileResult._rebuild(context, *pickle.loads(content))  # noqa: S301, SLF001 - as numba's cache does

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store what was compiled, whole or not at all; where there is no room for it, the next process compiles."""
        if result.library.has_dynamic_globals or isinstance(result.library, _Part):
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
        return jit.folder() / f"{self._name}-{hashlib.sha256(repr((signature, versions)).encode()).hexdigest()[:16]}"


class _Part(JITCodeLibrary):
    """The code of a function that only kernels call: it is linked into them as it is, and never compiled alone."""

    def finalize(self) -> None:
        """Link what the function calls."""
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # as the base class does, since version 0.63 of numba
                self._reload_init.update(library._reload_init)  # noqa: SLF001
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001
        self._finalized = True


class _FromPython:
    """Stands where numba has the address of a compiled function: calls a part from Python, as tests do."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _kernel(self) -> Any:
        return make(self._function, {})

    def __call__(self, *arguments: Any) -> Any:
        return self._kernel(*arguments)


class _Compiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel, and what it calls as parts of it."""

    depth = 0

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        kernel = _Compiler.depth == 0
        if kernel:
            need(_COMPILING_BYTES)
        _Compiler.depth += 1
        try:
            result = super()._compile_core(args, return_type) if kernel else self._compile_part(args, return_type)
        finally:
            _Compiler.depth -= 1
        if kernel:
            if any(isinstance(part, types.BaseNamedTuple) for part in _parts_of(result.signature.return_type)):
                raise TypeError(f"{self.py_func.__qualname__}: a waiting signal breaks a named tuple that is returned")
            for environment in result._find_referenced_environments():  # noqa: SLF001
                result.codegen.set_env(environment.env_name, environment)
        return result

    def _compile_part(self, args: Any, return_type: Any) -> Any:
        target = self.targetdescr.target_context
        flags: Any = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        library = _Part(target.codegen(), self.py_func.__qualname__)  # type: ignore[no-untyped-call]
        result = compile_extra(
            self.targetdescr.typing_context,
            target,
            self.py_func,
            args,
            return_type,
            flags,
            self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )
        result = result._replace(entry_point=_FromPython(self.py_func))
        target.insert_user_function(result.entry_point, result.fndesc, [library])
        return result


def _parts_of(returned: Any) -> list[Any]:
    return [returned, *(part for inner in getattr(returned, "types", ()) for part in _parts_of(inner))]


def make(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the kernel of a function: what `numba.njit` makes of it, with the cache and the compiler above."""
    kernel = numba.njit(**options)(function)
    kernel._cache = KernelCache(function)  # noqa: SLF001 - where numba keeps its own
    compiler = kernel._compiler  # noqa: SLF001
    kernel._compiler = _Compiler(  # noqa: SLF001
        function, kernel.targetdescr, kernel.targetoptions, kernel.locals, compiler.pipeline_class
    )
    add_kernel = kernel.add_overload

    def add_overload(result: Any) -> None:
        if isinstance(result.library, _Part):
            kernel.overloads[tuple(result.signature.args)] = result
        else:
            add_kernel(result)

    kernel.add_overload = add_overload
    return kernel
