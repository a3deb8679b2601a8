"""What numba does again and again while it compiles, done once or not at all: almost half the time of its Python."""

import contextlib
import inspect
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

from llvmlite import ir as llvm
from numba.core import (
    byteflow,
    compiler_machinery,
    errors,
    event,
    interpreter,
    ir,
    itanium_mangler,
    lowering,
    ssa,
    transforms,
    typeinfer,
    types,
    utils,
)
from numba.core.base import BaseContext as TargetContext
from numba.core.callconv import CPUCallConv
from numba.core.datamodel.manager import DataModelManager
from numba.core.datamodel.models import DataModel
from numba.core.inline_closurecall import InlineClosureCallPass
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.extending import overload
from numba.np import arrayobj
from numba.stencils.stencil import StencilFunc

from jouleloop.jit.calls import calling, handing_on


def _wrong_size(given: Any, taken: Any) -> None:
    """Stand for the error of an array that does not fit a slice; numba compiles formatted text for every such place."""
    raise NotImplementedError


@overload(_wrong_size)
def _(given: Any, taken: Any) -> Any:  # noqa: ARG001 - the names are those of the function
    def raises(given: Any, taken: Any) -> None:  # noqa: ARG001
        raise ValueError("an array does not fit the slice that it is assigned to")

    return raises


def _remembering(find: Any) -> Any:
    """Return ``find``, the signature of a function for types of arguments, that looks only once for each types."""

    def found(function: Any, context: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if named:
            return find(function, context, arguments, named)
        known = function.__dict__.setdefault("_jouleloop_signatures", {})
        key = (context, arguments)
        if key not in known:
            known[key] = find(function, context, arguments, named)
        return known[key]

    return found


#: Kinds of values that hold no variable: most of what an instruction has.
_PLAIN = frozenset({str, int, float, bool, type(None), ir.Loc})


def _list_variables(_instruction: Any, value: Any) -> list[Any]:
    """Return the variables in a value, in the order in which numba finds them."""
    kind = type(value)
    if kind is ir.Var:
        return [value]
    if kind in _PLAIN:
        return []
    if kind is dict:
        value = value.values()
    elif isinstance(value, ir.Inst):
        return value.list_vars()  # type: ignore[no-any-return]
    elif not isinstance(value, list | tuple):
        return []
    return [one for part in value if type(part) not in _PLAIN for one in _list_variables(None, part)]


def _pointing(point: Any) -> Any:
    """Return ``point``, the type of addresses of a type, that makes it, and its text, once for a type."""

    def pointed(self: Any, addrspace: int = 0) -> Any:
        if addrspace:
            return point(self, addrspace)
        try:
            return self._jouleloop_pointer
        except AttributeError:
            self._jouleloop_pointer = point(self)
            return self._jouleloop_pointer

    return pointed


class _Silent:
    """Stands where numba notes what it does, for messages that nobody sees."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def debug(self, *_: object) -> None:
        """Say nothing."""


_SILENT = _Silent()


def _process(run: Any) -> Any:
    """Return ``run``, a step after each pass, that finds where variables live only for those that ask."""

    def processed(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if emit_dels or self.func_ir.is_generator:
            run(self, emit_dels, extend_lifetimes)
            return
        self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
        self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
        self.func_ir.generator_info = None

    return processed


def _attributed(find: Any) -> Any:
    """Return ``find``, the type of an attribute of a type, that looks only once for each."""
    known: dict[tuple[int, str], tuple[Any, Any]] = {}

    def found(self: Any, kind: Any, name: str) -> Any:
        key = id(kind), name
        if key not in known:
            known[key] = kind, find(self, kind, name)
        return known[key][1]

    return found


def _modelled(find: Any) -> Any:
    """Return ``find``, how values of a type are held, that looks only once for each."""
    known: dict[tuple[int, int], tuple[Any, Any]] = {}

    def found(self: Any, kind: Any) -> Any:
        key = id(self), id(kind)
        if key not in known:
            known[key] = (self, kind), find(self, kind)
        return known[key][1]

    return found


def _known(find: Any) -> Any:
    """Return ``find``, the type of a value of Python, that looks once for each but functions, which get new types."""
    known: dict[tuple[int, int], tuple[Any, Any]] = {}

    def found(self: Any, value: Any) -> Any:
        key = id(self), id(value)
        if key in known:
            return known[key][1]
        kind = find(self, value)
        if not isinstance(kind, types.Function):
            known[key] = (self, value), kind
        return kind

    return found


def _sized(find: Any) -> Any:
    """Return ``find``, the bytes of a type, that asks LLVM only once for each."""
    known: dict[str, int] = {}

    def found(self: Any, kind: Any) -> int:
        text = str(kind)
        if text not in known:
            known[text] = find(self, kind)
        return known[text]

    return found


def _mangled(mangle: Any) -> Any:
    """Return ``mangle``, a type or a value as a part of a name, that writes each type once: a record has 250 parts."""
    known: dict[int, tuple[Any, str]] = {}

    def found(given: Any) -> Any:
        if not isinstance(given, types.Type):
            return mangle(given)
        if id(given) not in known:
            known[id(given)] = given, mangle(given)
        return known[id(given)][1]

    return found


def _counted(look: Any) -> Any:
    """Return ``look``, whether values of a model hold what is counted, that looks only once for each."""

    def found(self: Any) -> bool:
        try:
            return self._jouleloop_counted  # type: ignore[no-any-return]
        except AttributeError:
            self._jouleloop_counted = look(self)
            return self._jouleloop_counted  # type: ignore[no-any-return]

    return found


def _list_counted(self: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """Return what is counted in a value, each with its type, as numba does, which takes out all else as well."""
    models = self._context.data_model_manager
    model = models[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for inner, part in model.traverse(builder):
        if models[inner].contains_nrt_meminfo():
            found.extend(_list_counted(self, builder, inner, part(value)))
    return found


def _run_step(self: Any, _index: int, step: Any, state: Any) -> None:
    """Run one step of the compiler as numba does, without clocks, notes and looks for what a step left behind."""
    step.analysis = self._analysis
    changed = [one(state) for one in (step.run_initialization, step.run_pass, step.run_finalizer)]
    if compiler_machinery._pass_registry.get(type(step)).mutates_CFG:  # noqa: SLF001
        if any(changed):
            PostProcessor(state.func_ir).run()
        else:
            state.func_ir.blocks = transforms.canonicalize_cfg(state.func_ir.blocks)


class _Renaming:
    """Gives each variable one meaning, as numba does, which walks twice over all blocks for each variable."""

    def __init__(self, run: Any, rewrite: Any) -> None:
        self._run, self._rewrite = run, rewrite
        #: By the number of a block: the block, and what variables it mentions.
        self._mentioned: dict[int, tuple[Any, frozenset[str]]] = {}

    def run(self, blocks: Any) -> Any:
        """Rename the variables of a function."""
        self._mentioned.clear()
        return self._run(blocks)

    def rewrite(self, blocks: dict[int, Any], states: dict[str, Any], handler: Any) -> dict[int, Any]:
        """Rewrite the blocks that mention the variable at hand; any other stays the same."""
        name, found = states["varname"], {}
        for label, block in blocks.items():
            if id(block) not in self._mentioned:
                names = frozenset(one.name for statement in block.body for one in statement.list_vars())
                self._mentioned[id(block)] = block, names
            found[label] = block
            if name in self._mentioned[id(block)][1]:
                found |= self._rewrite({label: block}, states, handler)
        return found


def _close(run: Any) -> Any:
    """Return ``run``, which takes in functions that a function defines, for those that define or fold any."""

    def closed(self: Any) -> None:
        if any(_may_close(one) for block in self.func_ir.blocks.values() for one in block.body):
            run(self)

    return closed


def _may_close(statement: Any) -> bool:
    value = getattr(statement, "value", None)
    if isinstance(value, ir.Expr):
        return value.op in {"make_function", "build_list"}
    return isinstance(value, ir.Global | ir.FreeVar) and (value.value is reduce or isinstance(value.value, StencilFunc))


@contextlib.contextmanager
def replaced(names: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Let names of objects mean something else meanwhile; numba's lock is held. A name that is missing stays so."""
    with contextlib.ExitStack() as stack:
        for place, name, meaning in names:
            if hasattr(place, name):
                stack.callback(setattr, place, name, getattr(place, name))
                setattr(place, name, meaning)
        yield


def shortcuts() -> list[tuple[Any, str, Any]]:
    """Return what numba's names mean with its shortcuts."""
    renaming = _Renaming(ssa._run_ssa, ssa._run_block_rewrite)  # noqa: SLF001
    return [
        (arrayobj, "raise_with_shape_context", _wrong_size),
        (ssa, "_run_ssa", renaming.run),
        (ssa, "_run_block_rewrite", renaming.rewrite),
        (TypingContext, "resolve_getattr", _attributed(TypingContext.resolve_getattr)),
        (DataModelManager, "lookup", _modelled(DataModelManager.lookup)),
        (types.Function, "get_call_type", _remembering(types.Function.get_call_type)),
        (ir.Inst, "_rec_list_vars", _list_variables),
        (DataModel, "contains_nrt_meminfo", _counted(DataModel.contains_nrt_meminfo)),
        (NRTContext, "get_meminfos", _list_counted),
        (TypingContext, "resolve_value_type", _known(TypingContext.resolve_value_type)),
        (TargetContext, "get_abi_sizeof", _sized(TargetContext.get_abi_sizeof)),
        (itanium_mangler, "mangle_type_or_value", _mangled(itanium_mangler.mangle_type_or_value)),
        (llvm.Type, "as_pointer", _pointing(llvm.Type.as_pointer)),
        (PostProcessor, "run", _process(PostProcessor.run)),
        (InlineClosureCallPass, "run", _close(InlineClosureCallPass.run)),
        (CPUCallConv, "call_function", calling(CPUCallConv.call_function)),
        (CPUCallConv, "return_status_propagate", handing_on(CPUCallConv.return_status_propagate)),
        (utils, "pysignature", cache(inspect.signature)),
        # Where numba was when it failed: see `_Compiler`, which asks again.
        (lowering, "new_error_context", lambda *_, **__: _SILENT),
        (typeinfer, "new_error_context", lambda *_, **__: _SILENT),
        *((module, "_logger", _SILENT) for module in (byteflow, ssa, transforms)),
        (errors.WarningsFixer, "catch_warnings", lambda *_, **__: _SILENT),  # type: ignore[attr-defined]
        (ir.Loc, "strformat", lambda *_: ""),
        # How long each step took: nobody asks.
        (event, "start_event", lambda *_, **__: None),
        (event, "end_event", lambda *_, **__: None),
        (compiler_machinery.PassManager, "_runPass", _run_step),
        # What opens a file in `with` has more to be removed; no kernel does.
        (interpreter, "peep_hole_delete_with_exit", lambda function: function),
        # Texts of errors that nobody sees, as another signature fits: not in colours.
        (type(errors.termcolor()), "_markup", lambda _, text, *__: text),
    ]
