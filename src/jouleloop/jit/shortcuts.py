"""What numba does again and again while it compiles, done once: a third of the time that its Python takes."""

import contextlib
from collections.abc import Iterator
from typing import Any

from numba.core import errors, event, ir, types
from numba.extending import overload
from numba.np import arrayobj


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


@contextlib.contextmanager
def shortcuts() -> Iterator[None]:
    """Let numba take its shortcuts meanwhile; its lock is held."""
    taken: list[tuple[Any, str, Any]] = [
        (arrayobj, "raise_with_shape_context", _wrong_size),
        (types.Function, "get_call_type", _remembering(types.Function.get_call_type)),
        (ir.Inst, "_rec_list_vars", _list_variables),
        # How long each step took: nobody asks.
        (event, "broadcast", lambda _: None),
        # Texts of errors that nobody sees, as another signature fits: not in colours.
        (type(errors.termcolor()), "_markup", lambda _, text, *__: text),
    ]
    with contextlib.ExitStack() as stack:
        for place, name, shortcut in taken:
            if not hasattr(place, name):
                continue
            stack.callback(setattr, place, name, getattr(place, name))
            setattr(place, name, shortcut)
        yield
