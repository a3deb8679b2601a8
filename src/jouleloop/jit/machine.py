"""Makes kernels with numba's extension interface: types the calls between them, and decides what is linked into what.

numba links what a function calls into it, and optimises that once more at every level. Here a part is compiled alone,
with little effort, and linked into nothing but the kernel that Python calls; that one is optimised as a whole, once. A
kernel that is marked ``apart`` is compiled once, and others call it by the address that stands in a table. All are
kept: what is compiled later links the parts that are there.
"""

# mypy: disable-error-code="no-untyped-call,untyped-decorator"

import contextlib
import hashlib
import inspect
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numba
import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from jouleloop.jit import store
from jouleloop.jit.records import LentArray, RecordType, address_in, lent, register
from jouleloop.memory import need

#: What compiling one kernel takes at most, and loading one [bytes]: without it LLVM ends the process.
_COMPILING_BYTES, _LOADING_BYTES = 300 * 10**6, 100 * 10**6
#: Addresses of kernels apart, each where its name and types say: compiled code of every process has the same places.
_TABLE = np.zeros(2**20, np.intp)
#: Effort of LLVM for what is linked into others, and for kernels.
_PART, _WHOLE = 1, 3
Kinds = tuple[Any, ...]
_NUMBERS = (None, bool, int, float)


@dataclass
class _Made:
    """A kernel for some types of arguments."""

    dispatcher: Any
    kinds: Kinds
    effort: int
    calls: dict[tuple[str, Kinds], str] = field(default_factory=dict)
    """The names in the code of what it calls; none for what it, or a part of it, calls by address."""
    parts: dict[Any, None] = field(default_factory=dict)
    """The code of what it calls otherwise, and of what that calls."""

    @property
    def result(self) -> Any:
        """What numba knows of the compiled function."""
        return self.dispatcher.overloads[self.kinds]

    @property
    def symbol(self) -> str:
        """The name that code which calls it has for it."""
        return str(self.result.fndesc.llvm_func_name)

    def note(self, kernel: Any, called: "_Made") -> None:
        """Note that it calls a kernel."""
        if _by_address(kernel, called.kinds):
            self.calls[kernel.name, called.kinds] = ""
        else:
            self.calls |= {one: "" for one, symbol in called.calls.items() if not symbol}
            self.calls[kernel.name, called.kinds] = called.symbol
            self.parts |= {**called.parts, called.result.library: None}


_CONFIG: Any = numba.config
_LOCK = threading.RLock()
_KERNELS: dict[str, Any] = {}
#: Those of them that numba does not know: it need not, to load what calls them.
_UNTYPED: list[Any] = []
_MADE: dict[tuple[Any, Kinds, int], _Made] = {}
#: What is being compiled, outermost first.
_MAKING: list[_Made] = []
_PLACES: dict[int, tuple[str, Kinds]] = {}


def entry(kernel: Any, arguments: tuple[Any, ...], known: Any) -> Any:
    """Return what Python calls with arguments as these, and as those it knows; it raises `TypeError` for others."""
    with _LOCK:
        kinds = _kinds_of(kernel, map(numba.typeof, arguments))
        made = _make(kernel, kinds, from_python=True)
        _check(kernel.name, made.result.signature)
        if known is None:
            known = made.dispatcher
        else:
            known.add_overload(made.result)
        known.disable_compile()
    return known


def introduce(kernel: Any) -> None:
    """Let kernels call a kernel."""
    _KERNELS[kernel.name] = kernel
    _UNTYPED.append(kernel)


def _tell(kernel: Any) -> None:
    """Tell numba how a call of a kernel is typed, and written."""
    signature = inspect.signature(kernel.function)

    @type_callable(kernel)
    def _typing(_: Any) -> Any:
        def typer(*arguments: Any, **named: Any) -> Any:
            given = tuple(types.unliteral(one) for one in signature.bind(*arguments, **named).args)
            kinds = _kinds_of(kernel, given)
            made = _make(kernel, kinds)
            _MAKING[-1].note(kernel, made)
            return made.result.signature.return_type(*given)

        typer.__signature__ = signature  # type: ignore[attr-defined]
        return typer

    @lower_builtin(kernel, types.VarArg(types.Any))
    def _call(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
        kinds = _kinds_of(kernel, called.args)
        made = _make(kernel, kinds)
        result = made.result
        arguments = [context.cast(builder, *one) for one in zip(arguments, called.args, kinds, strict=True)]
        if not _by_address(kernel, kinds):
            if _MAKING[-1].effort == _WHOLE:
                for library in (result.library, *reversed(made.parts)):
                    context.active_code_library.add_linking_library(library)
            return context.call_internal(builder, result.fndesc, result.signature, arguments)
        record = next(one for one, kind in zip(arguments, kinds, strict=True) if isinstance(kind, RecordType))
        address = address_in(context, builder, record, _place_of(kernel.name, kinds))
        convention = context.call_conv
        function = convention.get_function_type(called.return_type, kinds).as_pointer()
        status, returned = convention.call_function(
            builder, builder.inttoptr(address, function), called.return_type, kinds, arguments
        )
        with builder.if_then(status.is_error, likely=False):
            convention.return_status_propagate(builder, status)
        return returned


def introduce_record(kind: type[Any]) -> None:
    """Let kernels read a class of named tuples."""
    register(kind, _TABLE.ctypes.data)


def _kinds_of(kernel: Any, given: Iterable[Any]) -> Kinds:
    """Return the types of arguments that a kernel sees: what returns numbers alone is lent its arrays."""
    returned = kernel.function.__annotations__.get("return", Any)
    numbers = all(one in _NUMBERS for one in get_args(returned) or (returned,))
    return tuple(map(lent, given) if numbers else given)


def _by_address(kernel: Any, kinds: Kinds) -> bool:
    return kernel.apart and any(isinstance(one, RecordType) for one in kinds)


def _place_of(name: str, kinds: Kinds) -> int:
    digest = hashlib.sha256(repr((name, kinds)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % len(_TABLE)


def _make(kernel: Any, kinds: Kinds, *, from_python: bool = False) -> _Made:
    """Return a kernel, loaded or compiled, and all that it calls."""
    apart = _by_address(kernel, kinds)
    # What is linked into others is optimised there, and Python cannot call it.
    effort = _WHOLE if from_python or apart else _PART
    found = _MADE.get((kernel, kinds, effort))
    if found is None:
        found = _MADE[kernel, kinds, effort] = _kept(kernel, kinds, effort)
        if apart:
            _publish(kernel.name, found)
    return found


def _publish(name: str, made: _Made) -> None:
    """Put the address of a kernel where others find it."""
    place = _place_of(name, made.kinds)
    if _PLACES.setdefault(place, (name, made.kinds)) != (name, made.kinds):
        raise RuntimeError(f"{name} and {_PLACES[place][0]} have one place: rename one")
    _TABLE[place] = made.result.library.get_pointer_to_function(made.symbol)


def _kept(kernel: Any, kinds: Kinds, effort: int) -> _Made:
    """Return a kernel from its folder; where there is none, or it is damaged, compile it and keep it."""
    home = store.place(kernel, kinds, effort)
    loaded = _load(kernel, kinds, effort, home)
    if loaded is not None:
        return loaded
    need(_COMPILING_BYTES)
    while _UNTYPED:
        _tell(_UNTYPED.pop())
    try:
        with store.keeping(home) as temporary:
            made = _compile(kernel, _cached(kernel, effort, temporary), kinds, effort)
            linked = effort == _WHOLE
            store.seal(temporary, home, {one: symbol for one, symbol in made.calls.items() if not (linked and symbol)})
    except OSError:  # no room for it: the next process compiles
        made = _compile(kernel, _dispatcher(kernel, effort), kinds, effort)
    return made


def _load(kernel: Any, kinds: Kinds, effort: int, home: Path) -> _Made | None:
    """Return a kernel from a folder with all that it calls; None where it has to be compiled."""
    calls = store.read(home)
    if calls is None:
        return None
    need(_LOADING_BYTES)
    called = {one: _make(_KERNELS[one[0]], one[1]) for one in calls}
    # A part calls others by the names that they had when it was compiled: one that was lost has another now.
    if any(symbol not in ("", called[one].symbol) for one, symbol in calls.items()):
        store.remove(home)
    if store.read(home) != calls:  # another process replaces it meanwhile
        return None
    made = _compile(kernel, _cached(kernel, effort, home), kinds, effort)
    if not made.dispatcher.stats.cache_hits:
        store.remove(home)
        return None
    for (name, _), other in called.items():
        made.note(_KERNELS[name], other)
    return made


def _check(name: str, signature: Any) -> None:
    """Refuse to return to Python what would not outlive the call, or not survive a signal."""
    returned = {type(one) for one in _parts_of(signature.return_type)}
    if any(issubclass(one, types.BaseNamedTuple) for one in returned):
        raise TypeError(f"{name}: a waiting signal breaks a named tuple that is returned")
    if returned & {types.Array, LentArray} and any(isinstance(one, LentArray | RecordType) for one in signature.args):
        raise TypeError(f"{name}: nothing holds an array of a record that is returned")


def _cached(kernel: Any, effort: int, home: Path) -> Any:
    with _set(CACHE_DIR=str(home)):
        return _dispatcher(kernel, effort, cache=True)


def _dispatcher(kernel: Any, effort: int, **options: Any) -> Any:
    """Return what compiles a kernel, without what C would call, and a part without what Python would."""
    compiler: Any = numba.njit
    if effort == _PART:
        options |= {"no_cpython_wrapper": True, "forceinline": kernel.inline}
    return compiler(no_cfunc_wrapper=True, **options)(kernel.function)


def _compile(kernel: Any, dispatcher: Any, kinds: Kinds, effort: int) -> _Made:
    _MAKING.append(_Made(dispatcher, kinds, effort))
    try:
        with _set(OPT=type(_CONFIG.OPT)(effort), LOOP_VECTORIZE=int(kernel.vectors)):
            dispatcher.compile(kinds)
        return _MAKING[-1]
    finally:
        _MAKING.pop()


@contextlib.contextmanager
def _set(**settings: Any) -> Iterator[None]:
    """Let numba's settings be others meanwhile."""
    before = {name: getattr(_CONFIG, name) for name in settings}
    try:
        vars(_CONFIG).update(settings)
        yield
    finally:
        vars(_CONFIG).update(before)


def _parts_of(kind: Any) -> list[Any]:
    return [kind, *(part for inner in getattr(kind, "types", ()) for part in _parts_of(inner))]
