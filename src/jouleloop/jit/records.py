"""Lets kernels read records by address: numba's extension interface for named tuples whose class is marked `record`.

numba hands a named tuple over field by field, 250 numbers for the arrays of a search: most of the code of a call.
A record goes as one address. Kernels read its fields. They neither write them nor make records; what the fields'
arrays hold they do write.
"""

# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)


class RecordType(types.Type):
    """The type of a record: the name of its class, and the types of its fields in their order."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        self.places = {field: place for place, (field, _) in enumerate(fields)}
        super().__init__(name=f"{name}({', '.join(str(kind) for _, kind in fields)})")


@register_model(RecordType)
class _Address(models.PrimitiveModel):
    """A record is held as the address of its fields."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        fields = ir.LiteralStructType([manager[one].get_value_type() for _, one in kind.fields])
        super().__init__(manager, kind, fields.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    """Says which type a field has."""

    key = RecordType

    def generic_resolve(self, kind: RecordType, name: str) -> Any:  # type: ignore[override]
        """Return the type of a field, None where there is none."""
        return kind.fields[kind.places[name]][1] if name in kind.places else None


@lower_getattr_generic(RecordType)
def _read_field(context: Any, builder: Any, kind: RecordType, address: Any, name: str) -> Any:
    """Write what reads a field; nobody changes it during a call, so LLVM may read it once."""
    place = kind.places[name]
    field = builder.load(cgutils.gep_inbounds(builder, address, 0, place))
    field.set_metadata("invariant.load", builder.module.add_metadata([]))
    if context.enable_nrt:
        context.nrt.incref(builder, kind.fields[place][1], field)
    return field


@unbox(RecordType)
def _unbox(kind: RecordType, given: Any, c: Any) -> Any:
    """Write what lays the fields of a named tuple side by side; they are held until the call ends."""
    record = cgutils.alloca_once(c.builder, c.context.get_value_type(kind).pointee)
    failed, cleanups = cgutils.false_bit, []
    for place, (_, one) in enumerate(kind.fields):
        field = c.unbox(one, c.pyapi.tuple_getitem(given, place))
        failed = c.builder.or_(failed, field.is_error)
        c.builder.store(field.value, cgutils.gep_inbounds(c.builder, record, 0, place))
        cleanups.append((one, field))

    def cleanup() -> None:
        for one, field in reversed(cleanups):
            if field.cleanup is not None:
                field.cleanup()
            if c.context.enable_nrt:
                c.context.nrt.decref(c.builder, one, field.value)

    return NativeValue(record, is_error=failed, cleanup=cleanup)


def register(record: type[Any]) -> None:
    """Let numba take named tuples of a class for records."""
    name = f"{record.__module__}.{record.__qualname__}"

    @typeof_impl.register(record)
    def _typeof(value: Any, context: Any) -> RecordType:
        return RecordType(
            name, tuple((field, typeof_impl(one, context)) for field, one in zip(value._fields, value, strict=True))
        )
