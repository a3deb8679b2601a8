"""Makes kernels: numba with a cache that checks what it loads, and with parts that are compiled once.

A compiled kernel holds all that it calls and the constants it was compiled with, which numba's own cache does not see,
and numba loads whatever bytes it finds. Here one hash of the code of all kernels, without docstrings and comments,
names the folder; each file in it begins with the hash of its content. So a change in a callee compiles anew, an
explanation does not, checkouts of the same code share what is compiled, and a damaged file is compiled anew.

numba makes machine code, and wrappers for Python, of every function that a kernel calls, and optimises what is called
once more at every level. Here only what Python calls is a kernel; the rest is linked into it and optimised there, once.
"""

import contextlib
import gc
import hashlib
import os
import pickle
import platform
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import __version__ as llvmlite_version
from llvmlite.binding import parse_bitcode
from numba.core import cgutils, ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags, compile_extra
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.datamodel.packer import ArgPacker
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.typed_passes import AnnotateTypes

from jouleloop import jit
from jouleloop.memory import need

#: What loading and compiling one kernel takes at most [bytes]: without it LLVM ends the process.
_LOADING_BYTES, _COMPILING_BYTES = 100 * 10**6, 300 * 10**6
_DIGEST_BYTES = hashlib.sha256().digest_size
#: Objects after which Python looks for garbage while it compiles; 700 by default.
_COLLECTED_AFTER = 100_000
#: Of the files: raised where what is in them changes.
_FORMAT = 2


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
        return _loaded(context, pickle.loads(content))  # noqa: S301 - as numba's cache does

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store what was compiled, whole or not at all; where there is no room for it, the next process compiles."""
        if result.library.has_dynamic_globals or isinstance(result.library, _Part):
            return
        content = dumps(_stored(result))
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
        versions = (_FORMAT, platform.python_version(), numba.__version__, llvmlite_version, codegen.magic_tuple())
        return jit.folder() / f"{self._name}-{hashlib.sha256(repr((signature, versions)).encode()).hexdigest()[:16]}"


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
        "bitcode": linked.as_bitcode(),
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
    return CompileResult(**(dict.fromkeys(CompileResult._fields) | fields))


class _Loaded(JITCodeLibrary):
    """The code of a kernel that was stored; what others need to link it is parsed when they do."""

    def load(self, stored: dict[str, Any]) -> None:
        """Take over the machine code."""
        self._bitcode = stored["bitcode"]
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

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        codegen = self.targetdescr.target_context.codegen()
        if codegen._library_class is _Part:  # noqa: SLF001
            return _compile_part(self, args, return_type)
        need(_COMPILING_BYTES)
        library = JITCodeLibrary(codegen, self.py_func.__qualname__)
        library.enable_object_caching()
        with _parts_only(codegen):
            result = _compile(self, args, return_type, library, no_cfunc_wrapper=True)
        if any(isinstance(part, types.BaseNamedTuple) for part in _parts_of(result.signature.return_type)):
            raise TypeError(f"{self.py_func.__qualname__}: a waiting signal breaks a named tuple that is returned")
        for environment in result._find_referenced_environments():  # noqa: SLF001
            codegen.set_env(environment.env_name, environment)
        return result


@contextlib.contextmanager
def _parts_only(codegen: Any) -> Iterator[None]:
    """Let all that numba compiles meanwhile be a part, its own functions too; numba's lock is held, no other thread's.

    Compiling makes millions of small objects that mostly stay: Python looks rarely for those that do not.
    """
    compiler: Any = _FunctionCompiler
    dispatcher: Any = Dispatcher
    compiling, adding, collecting = compiler._compile_core, dispatcher.add_overload, gc.get_threshold()  # noqa: SLF001
    compiler._compile_core = _compile_part  # noqa: SLF001
    dispatcher.add_overload = _add_part
    codegen._library_class = _Part  # noqa: SLF001
    gc.set_threshold(_COLLECTED_AFTER, *collecting[1:])
    try:
        yield
    finally:
        gc.set_threshold(*collecting)
        codegen._library_class = JITCodeLibrary  # noqa: SLF001
        dispatcher.add_overload = adding
        compiler._compile_core = compiling  # noqa: SLF001


def _add_part(dispatcher: Any, result: Any) -> None:
    """Note a part where numba finds it; only a kernel has an address that Python can call."""
    dispatcher.overloads[tuple(result.signature.args)] = result


def _compile(compiler: Any, args: Any, return_type: Any, library: Any, **flags: bool) -> Any:
    """Compile a function into a library, as numba does."""
    chosen: Any = Flags()
    compiler.targetdescr.options.parse_as_flags(chosen, compiler.targetoptions)
    chosen = compiler._customize_flags(chosen)  # noqa: SLF001
    for name, value in flags.items():
        setattr(chosen, name, value)
    return compile_extra(
        compiler.targetdescr.typing_context,
        compiler.targetdescr.target_context,
        compiler._get_implementation(args, {}),  # noqa: SLF001
        args,
        return_type,
        chosen,
        compiler.locals,
        library=library,
        pipeline_class=_Pipeline,
    )


def _compile_part(compiler: Any, args: Any, return_type: Any) -> Any:
    target = compiler.targetdescr.target_context
    library = _Part(target.codegen(), compiler.py_func.__qualname__)  # type: ignore[no-untyped-call]
    result = _compile(
        compiler, args, return_type, library, no_cpython_wrapper=True, no_cfunc_wrapper=True, no_compile=True
    )
    result = result._replace(entry_point=_FromPython(compiler.py_func))
    target.insert_user_function(result.entry_point, result.fndesc, [library])
    return result


class _Pipeline(Compiler):
    """How a kernel and its parts are compiled: as numba does, but for named tuples and references."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        target = self.state.targetctx
        self.state.targetctx = target.subtarget(get_arg_packer=partial(ArgPacker, _Models(target.data_model_manager)))

    def define_pipelines(self) -> Any:
        """Return numba's pipeline with `_Borrow` in it."""
        [passes] = super().define_pipelines()  # type: ignore[no-untyped-call]
        passes.add_pass_after(_Borrow, AnnotateTypes)
        passes.finalize()
        return [passes]


class _Models:
    """How values of numba's types are handed to a function: a named tuple by its address.

    numba hands over each of its numbers, 250 for the arrays of a search: most of the code it makes were such calls.
    """

    def __init__(self, models: Any) -> None:
        self._models = models

    def lookup(self, kind: Any) -> Any:
        """Return the model of a type."""
        model = self._models.lookup(kind)
        return _ByAddress(model) if isinstance(kind, types.BaseNamedTuple) else model


class _ByAddress:
    """A value of which functions are handed the address."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        """Return what is handed over."""
        return self._model.get_value_type().as_pointer()

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the address of a copy of a value."""
        return cgutils.alloca_once_value(builder, value)

    def from_argument(self, builder: Any, address: Any) -> Any:
        """Return the value at an address."""
        return builder.load(address)


@register_pass(mutates_CFG=False, analysis_only=True)
class _Borrow(AnalysisPass):
    """Counts no references in a part that makes no array and returns none: its caller holds all that it reads."""

    _name = "borrow"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Switch the counting off where all that is counted was handed over, or is a part of such."""
        models, kinds = state.targetctx.data_model_manager, state.typemap
        counted = {name for name, kind in kinds.items() if _is_data(kind) and models[kind].contains_nrt_meminfo()}
        if (
            isinstance(state.library, _Part)
            and not models[state.return_type].contains_nrt_meminfo()
            and not any(_makes(one, counted, kinds) for block in state.func_ir.blocks.values() for one in block.body)
        ):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _is_data(kind: Any) -> bool:
    return not isinstance(kind, types.Callable | types.Module)


def _makes(statement: Any, counted: set[str], kinds: Any) -> bool:
    """Whether a statement may make an array: any but those that take a value out of another, or put some together."""
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        return statement.value.name in counted  # an array into a part of another: both may overlap
    if not isinstance(statement, ir.Assign) or statement.target.name not in counted:
        return False
    value = statement.value
    if not isinstance(value, ir.Expr):
        return not isinstance(value, ir.Arg | ir.Var)
    if value.op == "getitem":
        return any(isinstance(part, types.Array) for part in _parts_of(kinds[value.index.name]))
    if value.op == "call":
        return not isinstance(kinds[value.func.name], types.NamedTupleClass)
    if value.op == "exhaust_iter":
        return not isinstance(kinds[value.value.name], types.BaseTuple)
    return value.op not in {"getattr", "static_getitem", "build_tuple", "cast", "phi"}


def _parts_of(kind: Any) -> list[Any]:
    return [kind, *(part for inner in getattr(kind, "types", ()) for part in _parts_of(inner))]


class _Pair(NamedTuple):
    """What `check` hands a kernel."""

    row: Any
    factor: Any


def _part(pair: _Pair, i: int) -> float:
    return float(pair.row[i] * pair.factor[0])


def check() -> None:
    """Compile a small kernel with a part where this version of numba was never used with these kernels; see its result.

    Raises
    ------
    Exception
        Of any kind, where numba has other parts than those that this module rests on.
    """
    versions = f"{numba.__version__}-{llvmlite_version}-{platform.python_version()}-{_FORMAT}"
    note = jit.folder() / f".checked-{versions}"
    if note.exists():
        return
    part = make(_part, {}, kept=False)

    def total(pair: _Pair, count: int) -> float:
        found = 0.0
        for i in range(count):
            found += max(part(pair, i), 0.5)
        return found

    pair = _Pair(np.array([1.0, 2.0, 0.25]), np.array([2.0]))
    if make(total, {}, kept=False)(pair, 3) != 6.5:
        raise ValueError("a small kernel computes something else")
    with contextlib.suppress(OSError):
        note.touch()


def make(function: Callable[..., Any], options: dict[str, Any], *, kept: bool = True) -> Any:
    """Return the kernel of a function: what `numba.njit` makes of it, with the cache and the compiler above."""
    kernel = numba.njit(**options)(function)
    if kept:
        kernel._cache = KernelCache(function)  # noqa: SLF001 - where numba keeps its own
    compiler = kernel._compiler  # noqa: SLF001
    kernel._compiler = _Compiler(  # noqa: SLF001
        function, kernel.targetdescr, kernel.targetoptions, kernel.locals, compiler.pipeline_class
    )
    template = kernel.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        """Take a constant for any value of its type: numba would compile a function anew for each."""
        return template([types.unliteral(one) for one in arguments], {k: types.unliteral(v) for k, v in named.items()})

    kernel.get_call_template = get_call_template
    return kernel
