"""Makes kernels: numba with a cache of our own, and with parts that are compiled once.

numba makes machine code, and wrappers for Python, of every function that a kernel calls, and optimises what is called
once more at every level. Here only what Python calls is a kernel; the rest is linked into it and optimised there, once.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import ir, types
from numba.core.compiler import Compiler, Flags, compile_extra
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.typed_passes import (
    AnnotateTypes,
    NopythonRewrites,
    NopythonTypeInference,
)
from numba.core.untyped_passes import WithLifting

from jouleloop import jit
from jouleloop.jit.libraries import Code, Part, publish
from jouleloop.jit.store import APART, KernelCache, versions
from jouleloop.memory import need

#: What compiling one kernel takes at most [bytes]: without it LLVM ends the process.
_COMPILING_BYTES = 300 * 10**6


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

    #: The name of a kernel that is no part of others: they call it by its address.
    apart: str | None = None

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        codegen = self.targetdescr.target_context.codegen()
        within = codegen._library_class is Part  # noqa: SLF001
        if within and not self.apart:
            return _compile_part(self, args, return_type)
        need(_COMPILING_BYTES)
        result = self._compile_kernel(args, return_type)
        if any(isinstance(part, types.BaseNamedTuple) for part in _parts_of(result.signature.return_type)):
            raise TypeError(f"{self.py_func.__qualname__}: a waiting signal breaks a named tuple that is returned")
        for environment in result._find_referenced_environments():  # noqa: SLF001
            codegen.set_env(environment.env_name, environment)
        if self.apart:
            publish(result.library, result.fndesc)
        return result

    def _compile_kernel(self, args: Any, return_type: Any) -> Any:
        """Compile a kernel. All that numba compiles meanwhile is a part of it."""
        codegen = self.targetdescr.target_context.codegen()
        library: Any = Code(codegen, self.py_func.__qualname__)
        library.enable_object_caching()
        library.apart = (self.apart, tuple(args)) if self.apart else None
        parts_only: list[tuple[Any, str, Any]] = [
            (_FunctionCompiler, "_compile_core", _compile_part),
            (Dispatcher, "add_overload", _add_part),
            (codegen, "_library_class", Part),
        ]
        with _replaced(parts_only):
            return _compile(self, args, return_type, library, no_cfunc_wrapper=True)


@contextlib.contextmanager
def _replaced(names: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Let names of objects mean something else meanwhile; numba's lock is held."""
    with contextlib.ExitStack() as stack:
        for place, name, meaning in names:
            stack.callback(setattr, place, name, getattr(place, name))
            setattr(place, name, meaning)
        yield


_add_kernel = Dispatcher.add_overload


def _add_part(dispatcher: Any, result: Any) -> None:
    """Note a part where numba finds it; only a kernel has an address that Python can call."""
    if isinstance(result.library, Part):
        dispatcher.overloads[tuple(result.signature.args)] = result
    else:
        _add_kernel(dispatcher, result)


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
    library = Part(target.codegen(), compiler.py_func.__qualname__)
    result = _compile(
        compiler, args, return_type, library, no_cpython_wrapper=True, no_cfunc_wrapper=True, no_compile=True
    )
    result = result._replace(entry_point=_FromPython(compiler.py_func))
    target.insert_user_function(result.entry_point, result.fndesc, [library])
    return result


def _named_alike(mangler: Any, name: str, kinds: Any, **_: Any) -> str:
    """Return the name of a function, the same in every process: numba's own has a number of this process."""
    return str(mangler(name, kinds))


class _Pipeline(Compiler):
    """How a kernel and its parts are compiled: as numba does, but for references."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        target = self.state.targetctx
        if self.state.library.apart:
            self.state.targetctx = target.subtarget(mangler=partial(_named_alike, target.mangler))

    def define_pipelines(self) -> Any:
        """Return numba's pipeline with `_Borrow` in it, without what no kernel needs."""
        [passes] = super().define_pipelines()  # type: ignore[no-untyped-call]
        passes.passes = [
            (step, what) for step, what in passes.passes if step not in {WithLifting, NopythonRewrites, AnnotateTypes}
        ]
        passes.add_pass_after(_Borrow, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _Borrow(AnalysisPass):
    """Counts no references where no array is made or returned: the caller, Python too, holds all that is read."""

    _name = "borrow"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Switch the counting off where all that is counted was handed over, or is a part of such."""
        models, kinds = state.targetctx.data_model_manager, state.typemap
        counted = {name for name, kind in kinds.items() if _is_data(kind) and models[kind].contains_nrt_meminfo()}
        if not models[state.return_type].contains_nrt_meminfo() and not any(
            _makes(one, counted, kinds) for block in state.func_ir.blocks.values() for one in block.body
        ):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        return False


def _is_data(kind: Any) -> bool:
    return not isinstance(kind, types.Callable | types.Module)


def _makes(statement: Any, counted: set[str], kinds: Any) -> bool:
    """Whether a statement may make an array: any but those that take a value out of another, or put some together."""
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        return statement.value.name in counted
    if not isinstance(statement, ir.Assign) or statement.target.name not in counted:
        return False
    value = statement.value
    if not isinstance(value, ir.Expr):
        return not isinstance(value, ir.Arg | ir.Var)
    if value.op == "getitem":
        return any(isinstance(part, types.Array) for part in _parts_of(kinds[value.index.name]))
    if value.op == "call":
        return True
    if value.op == "exhaust_iter":
        return not isinstance(kinds[value.value.name], types.BaseTuple)
    return value.op not in {"getattr", "static_getitem", "build_tuple", "cast", "phi"}


def _parts_of(kind: Any) -> list[Any]:
    return [kind, *(part for inner in getattr(kind, "types", ()) for part in _parts_of(inner))]


class _Pair(NamedTuple):
    """What `check` hands a kernel."""

    row: Any
    factor: Any


def _part(pair: _Pair, factor: Any, i: int, share: int) -> float:
    """Read items by numbers of either sign; fail with a share of nothing."""
    return float(pair.row[i] * factor[-1]) + 6 // share


def _apart(pair: _Pair, share: int) -> int:
    """Write rows whole; fail with a share of nothing."""
    pair.factor[1] = pair.row
    pair.factor[0][:] = pair.factor[1]
    return 6 // share


def _whole(part: Callable[..., float], apart: Callable[..., int]) -> Callable[..., float]:
    """Return a function with one of each that is written in our own way: loops, branches, items, rows, calls."""

    def whole(pair: _Pair, count: int, share: int) -> float:
        found, last = 0.0, 0
        for i in range(count):
            pair.factor[0, 1] = 2.0
            found += max(part(pair, pair.factor[0], i, share), 0.5)
            for j in range(i - count, -1, 2):
                pair.factor[1, j] += found
                if pair.factor[-1, 0] > last:
                    last = j
            for k in range(count - 1, i, -1):
                row = pair.factor[k - 1]
                row[k - count] -= last
                found += row[0] * row.shape[0]
        pair.factor[2][:] = last
        found += apart(pair, share)
        return found + last + float(pair.factor.sum())

    return whole


def check() -> None:
    """Compile a small kernel with a part where this version of numba was never used with these kernels; see its result.

    Raises `Exception`, of any kind, where numba has other parts than those that this module rests on.
    """
    note = jit.folder() / f".checked-{'-'.join(map(str, versions()))}"
    if note.exists():
        return
    parts = make(_part, {}, kept=False), make(_apart, {"apart": True}, kept=False)
    kernel = make(_whole(*parts), {}, kept=False)
    pairs = [_Pair(np.array([1.0, 2.0, 0.25]), np.ones((3, 3))) for _ in range(2)]
    computed, expected = kernel(pairs[0], 3, 2), _whole(_part, _apart)(pairs[1], 3, 2)
    if computed != expected or (pairs[0].factor != pairs[1].factor).any():
        raise ValueError("a small kernel computes something else")
    with contextlib.suppress(ZeroDivisionError):
        kernel(pairs[0], 3, 0)
        raise ValueError("a small kernel does not say what fails")
    with contextlib.suppress(OSError):
        note.touch()


def make(function: Callable[..., Any], options: dict[str, Any], *, kept: bool = True) -> Any:
    """Return the kernel of a function: what `numba.njit` makes of it, with the cache and the compiler above."""
    options = dict(options)
    apart = options.pop("apart", False)
    kernel = numba.njit(**options)(function)
    if kept:
        kernel._cache = KernelCache(function)  # noqa: SLF001 - where numba keeps its own
    compiler = kernel._compiler  # noqa: SLF001
    kernel._compiler = _Compiler(  # noqa: SLF001
        function, kernel.targetdescr, kernel.targetoptions, kernel.locals, compiler.pipeline_class
    )
    if apart:
        kernel._compiler.apart = f"{function.__module__}.{function.__qualname__}"  # noqa: SLF001
        APART[kernel._compiler.apart] = kernel  # noqa: SLF001
    template = kernel.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        """Take a constant for any value of its type: numba would compile a function anew for each."""
        return template([types.unliteral(one) for one in arguments], {k: types.unliteral(v) for k, v in named.items()})

    kernel.get_call_template = get_call_template
    return kernel
