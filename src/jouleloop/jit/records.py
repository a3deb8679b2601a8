"""Lets kernels read records by address: numba's extension interface for named tuples whose class is marked `record`.

numba hands a named tuple over field by field, 250 numbers for the arrays of a search: most of the code of a call.
A record goes as one address. Kernels read its fields. They neither write them nor make records; what the fields'
arrays hold they do write. Python holds the arrays while a kernel runs, so nothing counts references to them; therefore
no kernel returns an array of a record.
"""

# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from typing import Any

from numba import types
from numba.experimental import structref
from numba.extending import NativeValue, lower_cast, lower_getattr_generic, models, register_model, typeof_impl, unbox

_TABLE = "kernels_address"


class LentArray(types.Array):
    """The type of an array that Python hands over, and of its parts: Python holds it while a kernel runs."""

    @property
    def held(self) -> Any:
        """The type of the same array where a kernel holds it."""
        return types.Array(self.dtype, self.ndim, self.layout, readonly=not self.mutable, aligned=self.aligned)

    def __repr__(self) -> str:
        return f"Lent{super().__repr__()}"

    def copy(self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None) -> Any:
        """Return the type of what an array becomes: of a part of it, unless numba asks for what may be written."""
        other = super().copy(dtype, ndim, layout, readonly)
        return lent(other) if dtype is None and readonly is None else other


@register_model(LentArray)
class _Lent(models.ArrayModel):
    """An array none of whose parts counts references."""

    def traverse(self, _: Any) -> Any:
        """Return no part: none has to be held."""
        return []

    def contains_nrt_meminfo(self) -> bool:
        """Return that nothing is counted."""
        return False


def lent(kind: Any) -> Any:
    """Return the type of an array that the caller holds; any other type as it is."""
    if type(kind) is not types.Array:
        return kind
    return LentArray(kind.dtype, kind.ndim, kind.layout, readonly=not kind.mutable, aligned=kind.aligned)


@lower_cast(LentArray, types.Array)
def _as_any(_context: Any, _builder: Any, _from: Any, _to: Any, array: Any) -> Any:
    """Write what takes an array for one that has to be held: it has no owner, so that holding it does nothing."""
    return array


@lower_cast(types.Array, LentArray)
def _as_lent(context: Any, builder: Any, kind: Any, _to: Any, array: Any) -> Any:
    """Write what lends an array to a kernel that is called."""
    return _unheld(context, builder, kind, array)


class RecordType(types.Type):
    """The type of a record: the name of its class, and the types of its fields in their order."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.record, self.fields = name, fields
        self.field_dict = {field: lent(kind) for field, kind in fields}
        self.places = {field: place for place, (field, _) in enumerate(fields, 1)}
        super().__init__(name=f"{name}({', '.join(str(kind) for _, kind in fields)})")


@register_model(RecordType)
class _Address(models.PrimitiveModel):
    """A record is held as the address of its fields, before them the address of the table of kernels."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        fields = types.Tuple((types.intp, *(one for _, one in kind.fields)))
        super().__init__(manager, kind, manager[fields].get_value_type().as_pointer())


# Says which type a field has, by `RecordType.field_dict`; how it is read stands below.
structref.define_attributes(RecordType)


def _unheld(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Write what makes an array one without an owner."""
    meminfo = context.data_model_manager[kind].get_field_position("meminfo")
    return builder.insert_value(array, context.get_constant_null(types.MemInfoPointer(kind.dtype)), meminfo)


@unbox(LentArray)
def _unbox_array(kind: LentArray, given: Any, c: Any) -> Any:
    """Write what takes an array that is held until the call ends."""
    array = c.unbox(kind.held, given)
    return NativeValue(
        _unheld(c.context, c.builder, kind, array.value),
        is_error=array.is_error,
        cleanup=lambda: _let_go(c, [(kind.held, array)]),
    )


def _let_go(c: Any, given: list[tuple[Any, Any]]) -> None:
    for one, value in reversed(given):
        if value.cleanup is not None:
            value.cleanup()
        if c.context.enable_nrt:
            c.context.nrt.decref(c.builder, one, value.value)


def _field(context: Any, builder: Any, address: Any, place: int) -> Any:
    return builder.gep(address, [context.get_constant(types.int32, one) for one in (0, place)], inbounds=True)


def _fixed(builder: Any, address: Any) -> Any:
    """Read what nobody changes during a call, so that LLVM may read it once."""
    value = builder.load(address)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def address_in(context: Any, builder: Any, record: Any, place: int) -> Any:
    """Write what reads an address from the table of kernels that a record points to."""
    table = builder.inttoptr(
        _fixed(builder, _field(context, builder, record, 0)), context.get_value_type(types.CPointer(types.intp))
    )
    return _fixed(builder, builder.gep(table, [context.get_constant(types.intp, place)]))


@lower_getattr_generic(RecordType)
def _read_field(context: Any, builder: Any, kind: RecordType, address: Any, name: str) -> Any:
    """Write what reads a field."""
    place = kind.places[name]
    value, one = _fixed(builder, _field(context, builder, address, place)), kind.field_dict[name]
    if isinstance(one, types.Array):
        value = _unheld(context, builder, one, value)
    return value


def _lay_out(kind: RecordType, given: Any, c: Any, cleanups: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Write what lays the fields of a named tuple side by side; return their address and whether it fails."""
    record = c.builder.alloca(c.context.get_value_type(kind).pointee)
    table = c.pyapi.object_getattr_string(given, _TABLE)
    first = c.unbox(types.intp, table)
    c.pyapi.decref(table)
    c.builder.store(first.value, _field(c.context, c.builder, record, 0))
    failed = first.is_error
    for place, (_, one) in enumerate(kind.fields, 1):
        item = c.pyapi.tuple_getitem(given, place - 1)
        if isinstance(one, RecordType):
            value, fails = _lay_out(one, item, c, cleanups)
        else:
            field = c.unbox(one, item)
            value, fails = field.value, field.is_error
            cleanups.append((one, field))
        failed = c.builder.or_(failed, fails)
        c.builder.store(value, _field(c.context, c.builder, record, place))
    return record, failed


@unbox(RecordType)
def _unbox(kind: RecordType, given: Any, c: Any) -> Any:
    """Write what takes a named tuple apart; its fields are held until the call ends."""
    cleanups: list[tuple[Any, Any]] = []
    record, failed = _lay_out(kind, given, c, cleanups)
    return NativeValue(record, is_error=failed, cleanup=lambda: _let_go(c, cleanups))


def register(record: type[Any], table: int) -> None:
    """Let numba take named tuples of a class for records that point to a table of kernels."""
    name = f"{record.__module__}.{record.__qualname__}"
    setattr(record, _TABLE, table)

    @typeof_impl.register(record)
    def _typeof(value: Any, context: Any) -> RecordType:
        kinds = [(field, typeof_impl(one, context)) for field, one in zip(value._fields, value, strict=True)]
        return RecordType(name, tuple(kinds))
