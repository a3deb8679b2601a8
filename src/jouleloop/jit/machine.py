"""Makes kernels: numba with a cache of our own, and with parts that are compiled once.

numba makes machine code, and wrappers for Python, of every function that a kernel calls, and optimises what is called
once more at every level. Here only what Python calls is a kernel; the rest is linked into it and optimised there, once.
"""

import contextlib
import gc
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import cgutils, ir, types
from numba.core.compiler import Compiler, Flags, compile_extra
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.datamodel.packer import ArgPacker
from numba.core.dispatcher import Dispatcher, _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.lowering import Lower
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NopythonRewrites,
    NopythonTypeInference,
)
from numba.core.untyped_passes import WithLifting

from jouleloop import jit
from jouleloop.jit.arrays import ArrayByItems, is_copied
from jouleloop.jit.libraries import Code, Part, publish
from jouleloop.jit.lowering import Lowering
from jouleloop.jit.records import mark
from jouleloop.jit.shortcuts import replaced, shortcuts
from jouleloop.jit.store import APART, KernelCache, versions
from jouleloop.memory import need

#: What compiling one kernel takes at most [bytes]: without it LLVM ends the process.
_COMPILING_BYTES = 300 * 10**6
#: Objects after which Python looks for garbage while it compiles; 700 by default.
_COLLECTED_AFTER = 1_000_000
#: What the frame has room for that all frames of the compiler stand behind [pointers].
_FRAME_OBJECTS = 2**17


class _FromPython:
    """Stands where numba has the address of a compiled function: calls a part from Python, as tests do."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _kernel(self) -> Any:
        return make(self._function, {})

    def __call__(self, *arguments: Any) -> Any:
        return self._kernel(*arguments)


def _with_room(call: Callable[[], Any]) -> Any:
    """Return what ``call`` returns.

    Python keeps the frames of functions in pieces of 16 KB. It asks the system for one, and gives it back, with each
    call that crosses an edge: 300,000 times in the recursion of a compiler. A frame of 1 MB gets a piece of 2 MB.
    """
    return call()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_FRAME_OBJECTS)


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
        result = self._compile_kernel(args, return_type, []) if within else self._compile_alone(args, return_type)
        if any(isinstance(part, types.BaseNamedTuple) for part in _parts_of(result.signature.return_type)):
            raise TypeError(f"{self.py_func.__qualname__}: a waiting signal breaks a named tuple that is returned")
        for environment in result._find_referenced_environments():  # noqa: SLF001
            codegen.set_env(environment.env_name, environment)
        if self.apart:
            publish(result.library, result.fndesc)
        return result

    def _compile_alone(self, args: Any, return_type: Any) -> Any:
        try:
            return self._compile_kernel(args, return_type, shortcuts())
        except MemoryError:
            raise
        except Exception:  # once more as numba does it: it says where it stands
            return self._compile_kernel(args, return_type, [(Lowering, "lowering_class", Lower)])

    def _compile_kernel(self, args: Any, return_type: Any, names: list[tuple[Any, str, Any]]) -> Any:
        """Compile with other meanings of numba's names. All that numba compiles meanwhile is a part, its own too.

        Compiling makes millions of small objects that mostly stay: Python looks rarely for those that do not.
        """
        codegen = self.targetdescr.target_context.codegen()
        library: Any = Code(codegen, self.py_func.__qualname__)
        library.enable_object_caching()
        library.apart = (self.apart, tuple(args)) if self.apart else None
        parts_only: list[tuple[Any, str, Any]] = [
            (_FunctionCompiler, "_compile_core", _compile_part),
            (Dispatcher, "add_overload", _add_part),
            (codegen, "_library_class", Part),
        ]
        collecting = gc.get_threshold()
        gc.set_threshold(_COLLECTED_AFTER, *collecting[1:])
        try:
            with replaced(parts_only + names):
                return _with_room(lambda: _compile(self, args, return_type, library, no_cfunc_wrapper=True))
        finally:
            gc.set_threshold(*collecting)


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
    """How a kernel and its parts are compiled: as numba does, but for named tuples and references."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        target = self.state.targetctx
        others = {"mangler": partial(_named_alike, target.mangler)} if self.state.library.apart else {}
        self.state.targetctx = target.subtarget(get_arg_packer=partial(ArgPacker, _Models(target)), **others)

    def define_pipelines(self) -> Any:
        """Return numba's pipeline with `_Borrow` in it, without what no kernel needs."""
        [passes] = super().define_pipelines()  # type: ignore[no-untyped-call]
        own = {IRLegalization: _Legalize, NativeLowering: Lowering}
        passes.passes = [
            (own.get(step, step), what)
            for step, what in passes.passes
            if step not in {WithLifting, NopythonRewrites, AnnotateTypes}
        ]
        passes.add_pass_after(_Borrow, NopythonTypeInference)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=True)
class _Legalize(IRLegalization):
    """Notes where variables end, as numba does; where nothing is counted nobody asks."""

    _name = "legalize"

    def run_pass(self, state: Any) -> bool:
        """Note it in a function that counts references."""
        return bool(state.targetctx.enable_nrt and super().run_pass(state))  # type: ignore[no-untyped-call]


class _Models:
    """How values of numba's types are handed to a function: a named tuple by its address, an array by its items.

    numba hands over each of its numbers, 250 for the arrays of a search: most of the code it makes were such calls.
    """

    def __init__(self, context: Any) -> None:
        self._context = context

    def lookup(self, kind: Any) -> Any:
        """Return the model of a type."""
        if isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim:
            return ArrayByItems(self._context, kind)
        model = self._context.data_model_manager.lookup(kind)
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
        return mark(cgutils.alloca_once_value(builder, value))

    def from_argument(self, builder: Any, address: Any) -> Any:
        """Return the value at an address."""
        return builder.load(mark(address))


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
        return statement.value.name in counted and not _copies(statement, kinds)
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


def _copies(statement: Any, kinds: Any) -> bool:
    """Whether a statement copies items, as `ArrayLower` does; numba makes an array where both may overlap."""
    if vars(Lowering)["lowering_class"] is Lower:  # see `_compile_alone`
        return False
    static = isinstance(statement, ir.StaticSetItem)
    whole = static and statement.index == slice(None)
    index = statement.index_var if static else statement.index
    return is_copied(kinds[statement.target.name], None if whole else kinds[index.name], kinds[statement.value.name])


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
