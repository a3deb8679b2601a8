"""Keeps kernels: the machine code of each in a file, checked when it is loaded.

A compiled kernel holds all that it calls and the constants it was compiled with, which numba's own cache does not see,
and numba loads whatever bytes it finds. Here one hash of the code of all kernels, without docstrings and comments,
names the folder. Each file in it begins with the hash of its name and content. So a change in a callee compiles anew,
an explanation does not, checkouts of the same code share what is compiled, and a damaged file is compiled anew.
"""

import contextlib
import hashlib
import pickle
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import __version__ as llvmlite_version
from llvmlite.binding import parse_bitcode
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from jouleloop import jit
from jouleloop.errors import InputError
from jouleloop.files import replacing
from jouleloop.jit.libraries import publish
from jouleloop.memory import need

#: What loading one kernel takes at most [bytes]: without it LLVM ends the process.
_LOADING_BYTES = 100 * 10**6
_DIGEST_BYTES = hashlib.sha256().digest_size
#: Of the files: raised where what is in them changes.
_FORMAT = 7


#: The kernels that others call by their address, by name.
APART: dict[str, Any] = {}


def versions() -> tuple[str | int, ...]:
    """Return the versions of all that makes kernels, but their code."""
    return (_FORMAT, platform.python_version(), numba.__version__, llvmlite_version)


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
        path = self._path(signature, context.codegen())
        try:
            stored = path.read_bytes()
        except OSError:
            return None
        content = stored[_DIGEST_BYTES:]
        if stored[:_DIGEST_BYTES] != _digest(path, content):
            return None
        need(_LOADING_BYTES)
        rtsys.initialize(context)
        kernel = pickle.loads(content)  # noqa: S301 - as numba's cache does
        for name, kinds in kernel["needs"]:
            if name not in APART:
                return None
            APART[name].compile(kinds)
        return _loaded(context, kernel)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store what was compiled, whole or not at all; where there is no room for it, the next process compiles."""
        if not result.library.is_kept or result.library.has_dynamic_globals:
            return
        content = dumps(_stored(result))
        path = self._path(signature, result.codegen)
        with contextlib.suppress(InputError), replacing(path) as temporary:
            temporary.write_bytes(_digest(path, content) + content)

    def _path(self, signature: Any, codegen: Any) -> Path:
        what = repr((signature, (*versions(), codegen.magic_tuple())))
        return jit.folder() / f"{self._name}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"


def _digest(path: Path, content: bytes) -> bytes:
    """Return the digest of a kernel under its name: the intact file of another kernel is none of this name."""
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest()


def _stored(result: Any) -> dict[str, Any]:
    """Return what is kept of a compiled kernel: its object code, and its bitcode for kernels that call it."""
    library, described = result.library, result.fndesc
    # No search needs them, and they may not be stored.
    described.typemap = described.calltypes = None
    linked = library._get_module_for_linking()  # noqa: SLF001
    environments = [result.environment, *result._find_referenced_environments()]  # noqa: SLF001
    return {
        "name": library.name,
        "object": library._get_compiled_object(),  # noqa: SLF001
        "bitcode": b"" if library.apart else linked.as_bitcode(),
        "apart": library.apart,
        "needs": library.needs,
        "symbols": [
            one.name for group in (linked.functions, linked.global_variables) for one in group if not one.is_declaration
        ],
        "described": described,
        "signature": result.signature,
        "environments": [(one.globals["__name__"], one.consts, one.env_name) for one in environments],
    }


def _loaded(context: Any, stored: dict[str, Any]) -> Any:
    """Return a kernel as numba would that has compiled it.

    numba's own way parses the bitcode, whether it is called by another kernel or not, and imports for every function
    in it the module that it is from: half of SciPy with numpy's, for globals that no kernel reads.
    """
    codegen = context.codegen()
    library = _Loaded(codegen, stored["name"])  # type: ignore[no-untyped-call]
    library.load(stored)
    own, *others = [_environment(*one) for one in stored["environments"]]
    described, signature = stored["described"], stored["signature"]
    fields = {
        "typing_context": context.typing_context,
        "target_context": context,
        "entry_point": context.get_executable(library, described, own),
        "signature": signature,
        "objectmode": False,
        "library": library,
        "fndesc": described,
        "environment": own,
        "reload_init": (),
        "referenced_envs": others,
    }
    for one in others:
        codegen.set_env(one.env_name, one)
    if library.apart:
        publish(library, described)
    return CompileResult(**(dict.fromkeys(CompileResult._fields) | fields))


class _Loaded(JITCodeLibrary):
    """The code of a kernel that was stored; what others need to link it is parsed when they do."""

    def load(self, stored: dict[str, Any]) -> None:
        """Take over the machine code."""
        self._bitcode, self.apart, self.needs = stored["bitcode"], stored["apart"], stored["needs"]
        self.enable_object_caching()  # type: ignore[no-untyped-call]
        self._set_compiled_object(stored["object"])  # type: ignore[no-untyped-call]
        self._finalize_final_module()  # type: ignore[no-untyped-call]
        self._codegen._engine._defined_symbols.update(stored["symbols"])  # noqa: SLF001

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = parse_bitcode(self._bitcode)
        return self._shared_module


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Return what numba hands the code of a function for its objects of Python, without the globals of its module."""
    found: Any = lookup_environment(name)
    if found is None:
        found = Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found  # noqa: SLF001
    return found
