"""Writes calls that hand on what went wrong: numba asks after each what that is."""

# mypy: disable-error-code="no-untyped-call"

from typing import Any

from numba.core import types

#: Where a builder notes, in `CPUCallConv`, that its function catches errors.
_CATCHES = "_CPUCallConv__eh_try_state"


class _Status:
    """How a call ended; what went wrong stands where the caller tells it as well."""

    def __init__(self, builder: Any, code: Any) -> None:
        self.code = code
        self.is_error = builder.icmp_signed("!=", code, code.type(0))


def calling(call: Any) -> Any:
    """Return ``call``, which calls a function, for those that hand on what went wrong as they were told."""

    def called(
        self: Any, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None
    ) -> tuple[Any, Any]:
        own = builder.function.args
        if len(own) < 2 or own[1].name != "excinfo" or isinstance(resty, types.Optional) or _catches(builder) or attrs:
            return call(self, builder, callee, resty, argtys, args, attrs)  # type: ignore[no-any-return]
        kind = callee.function_type.args[0].pointee
        with builder.goto_entry_block():
            result = builder.alloca(kind)
        given = self._get_arg_packer(argtys).as_arguments(builder, args)
        code = builder.call(callee, [result, own[1], *given])
        value = kind(None) if resty is types.none else builder.load(result)
        return _Status(builder, code), self.context.get_returned_value(builder, resty, value)

    return called


def handing_on(propagate: Any) -> Any:
    """Return ``propagate``, which ends a function whose call failed."""

    def handed_on(self: Any, builder: Any, status: Any) -> None:
        if isinstance(status, _Status):
            builder.ret(status.code)
        else:
            propagate(self, builder, status)

    return handed_on


def _catches(builder: Any) -> bool:
    return hasattr(builder, _CATCHES) or hasattr(builder, "_in_try_block")
