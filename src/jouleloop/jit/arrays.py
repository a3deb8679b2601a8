"""Writes less code for arrays: their items, parts and records.

numba copies an array's record for each item that is read, and looks for overlaps and for what is to be repeated where
one array is assigned to another.
"""

# mypy: disable-error-code="no-untyped-call"

from typing import Any

from llvmlite.ir import Constant, IntType, PointerType, Undefined
from llvmlite.ir.instructions import InsertValue
from numba.core import cgutils, ir, types
from numba.core.lowering import Lower
from numba.np import arrayobj


class ArrayLower(Lower):
    """Writes the code of statements about arrays."""

    def lower_inst(self, inst: Any) -> None:
        """Write the code of one statement."""
        if isinstance(inst, ir.StaticSetItem) and self._is_filled(inst):
            self._fill(inst)
        elif (
            isinstance(inst, ir.StaticSetItem)
            and inst.index == slice(None)
            and is_copied(self.typeof(inst.target.name), None, self.typeof(inst.value.name))
        ):
            fields = self.context.data_model_manager[self.typeof(inst.target.name)]
            record = self.loadvar(inst.target.name)
            self._copy(inst.target, taken(self.builder, record, (fields.get_field_position("data"),)), inst.value)
        else:
            super().lower_inst(inst)

    def _is_filled(self, inst: Any) -> bool:
        """Whether a statement gives all items of an array the same number."""
        kind = self.typeof(inst.target.name)
        return (
            inst.index == slice(None)
            and isinstance(kind, types.Array)
            and kind.layout == "C"
            and isinstance(self.typeof(inst.value.name), types.Number | types.Boolean)
        )

    def _fill(self, inst: Any) -> None:
        """Give all items of an array the same number."""
        builder, context, kind = self.builder, self.context, self.typeof(inst.target.name)
        fields, record = context.data_model_manager[kind], self.loadvar(inst.target.name)
        data, many = (taken(builder, record, (fields.get_field_position(name),)) for name in ("data", "nitems"))
        item = context.cast(builder, self.loadvar(inst.value.name), self.typeof(inst.value.name), kind.dtype)
        with cgutils.for_range(builder, many) as loop:
            arrayobj.store_item(context, builder, kind, item, builder.gep(data, [loop.index]))

    def _copy(self, target: Any, place: Any, value: Any) -> None:
        """Copy all items of an array to a place in another; both may overlap.

        The sizes must be equal. NumPy repeats a single item, too, which no kernel asks for: numba writes 300
        instructions for such a statement.
        """
        builder, context = self.builder, self.context
        whole, part = self.typeof(target.name), self.typeof(value.name)
        records = self.loadvar(target.name), self.loadvar(value.name)
        many: Any = context.get_constant(types.intp, 1)
        differ: Any = cgutils.false_bit
        for axis in range(part.ndim):
            length, given = (
                taken(builder, record, (context.data_model_manager[kind].get_field_position("shape"), place_))
                for record, kind, place_ in zip(
                    records, (whole, part), (whole.ndim - part.ndim + axis, axis), strict=True
                )
            )
            differ = builder.or_(differ, builder.icmp_signed("!=", length, given))
            many = builder.mul(many, length)
        with cgutils.if_unlikely(builder, differ):
            self.call_conv.return_user_exc(builder, ValueError, ("an array does not fit what it is assigned to",))
        data = taken(builder, records[1], (context.data_model_manager[part].get_field_position("data"),))
        size = context.get_abi_sizeof(context.get_data_type(part.dtype))
        cgutils.raw_memmove(builder, place, data, many, size)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Return an item of an array, or a part of one that the first indices choose."""
        kind, place = self.typeof(value.name), self._place(value, index)
        if place is None or (isinstance(resty, types.Array) and resty.layout != "C"):
            return super().lower_getitem(resty, expr, value, index, signature)
        if not isinstance(resty, types.Array):
            item = arrayobj.load_item(self.context, self.builder, kind, place)
            return self.context.cast(self.builder, item, kind.dtype, resty)
        record, fields = self.loadvar(value.name), self.context.data_model_manager[kind]
        shape = [
            taken(self.builder, record, (fields.get_field_position("shape"), axis))
            for axis in range(kind.ndim - resty.ndim, kind.ndim)
        ]
        meminfo = taken(self.builder, record, (fields.get_field_position("meminfo"),))
        made = array_record(self.context, self.builder, resty, meminfo, place, shape)
        self.incref(resty, made)
        return made

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write an item of an array."""
        kind, place = self.typeof(target_var.name), None
        index = self.typeof(index_var.name)
        copied = is_copied(kind, index, self.typeof(value_var.name))
        if copied or (isinstance(kind, types.Array) and kind.ndim == len(_indices(index))):
            place = self._place(target_var, index_var)
        if place is not None and copied:
            return self._copy(target_var, place, value_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.loadvar(value_var.name)
        item = self.context.cast(self.builder, value, self.typeof(value_var.name), kind.dtype)
        return arrayobj.store_item(self.context, self.builder, kind, item, place)

    def _place(self, array: Any, index: Any) -> Any:
        """Return the address of the first item that numbers choose in an array of items in a row, None for all else."""
        kind, given = self.typeof(array.name), self.typeof(index.name)
        kinds = _indices(given)
        if (
            not isinstance(kind, types.Array)
            or kind.layout != "C"
            or not 0 < len(kinds) <= kind.ndim
            or not are_numbers(given)
        ):
            return None
        builder, context = self.builder, self.context
        record, found = self.loadvar(array.name), self.loadvar(index.name)
        fields = context.data_model_manager[kind]
        shape = fields.get_field_position("shape")
        at: Any = None
        for axis in range(kind.ndim):
            if at is not None:
                at = builder.mul(at, taken(builder, record, (shape, axis)))
            if axis >= len(kinds):
                continue
            i = taken(builder, found, (axis,)) if isinstance(given, types.BaseTuple) else found
            i = context.cast(builder, i, kinds[axis], types.intp)
            if kinds[axis].signed and not is_natural(i):
                length = taken(builder, record, (shape, axis))
                i = builder.select(builder.icmp_signed("<", i, i.type(0)), builder.add(i, length), i)
            at = i if at is None else builder.add(at, i)
        return builder.gep(taken(builder, record, (fields.get_field_position("data"),)), [at])


def is_natural(number: Any) -> bool:
    """Whether a number is known not to be negative: it is written so, or counts upwards from one that is."""
    if isinstance(number, Constant):
        return isinstance(number.constant, int) and number.constant >= 0
    return bool(getattr(number, "is_natural", False))


def _indices(kind: Any) -> Any:
    return getattr(kind, "types", (kind,))


def are_numbers(index: Any) -> bool:
    """Whether an index of this type is a whole number, or only such."""
    return all(isinstance(one, types.Integer) for one in _indices(index))


def is_copied(whole: Any, index: Any, part: Any) -> bool:
    """Whether a statement gives an array, or the part that an index of this type chooses, the items of another."""
    indices = 0 if index is None else len(_indices(index))
    return (
        isinstance(part, types.Array)
        and isinstance(whole, types.Array)
        and whole.layout == part.layout == "C"
        and part.ndim == whole.ndim - indices
        and part.ndim > 0
        and part.dtype == whole.dtype
        and (index is None or are_numbers(index))
    )


def array_record(context: Any, builder: Any, kind: Any, meminfo: Any, data: Any, shape: list[Any]) -> Any:
    """Return the record of an array of items in a row; the object of Python is that of ``meminfo``."""
    bytes_ = Constant(IntType(64), context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [bytes_]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    many = shape[0]
    for length in shape[1:]:
        many = builder.mul(many, length)
    model = context.data_model_manager[kind]
    made = Constant(model.get_value_type(), Undefined)
    for name, value in (("meminfo", meminfo), ("nitems", many), ("itemsize", bytes_), ("data", data)):
        made = builder.insert_value(made, value, model.get_field_position(name))
    made = builder.insert_value(made, PointerType(IntType(8))(None), model.get_field_position("parent"))
    for name, values in (("shape", shape), ("strides", strides)):
        for axis, value in enumerate(values):
            made = builder.insert_value(made, value, (model.get_field_position(name), axis))
    return made


class ArrayByItems:
    """What functions are handed of an array of items in a row: where they stand, how many, and who holds them."""

    def __init__(self, context: Any, kind: Any) -> None:
        self._context = context
        self._kind = kind
        self._model = context.data_model_manager[kind]

    def get_argument_type(self) -> Any:
        """Return what is handed over."""
        fields = (self._model.get_type("meminfo"), self._model.get_type("data"))
        count = IntType(64)
        return (*(self._context.get_value_type(one) for one in fields), *[count] * self._kind.ndim)

    def as_argument(self, builder: Any, value: Any) -> Any:
        """Return the parts of a record that are handed over."""
        meminfo, data, shape = map(self._model.get_field_position, ("meminfo", "data", "shape"))
        paths = [(meminfo,), (data,), *((shape, axis) for axis in range(self._kind.ndim))]
        return tuple(taken(builder, value, path) for path in paths)

    def from_argument(self, builder: Any, given: Any) -> Any:
        """Return the record."""
        meminfo, data, *shape = given
        return array_record(self._context, builder, self._kind, meminfo, data, shape)


def taken(builder: Any, value: Any, path: tuple[int, ...]) -> Any:
    """Return a part of a value: what was put there where that is seen, else what takes it out."""
    while isinstance(value, InsertValue):
        there = tuple(value.indices)
        if path[: len(there)] == there:
            value, path = value.operands[1], path[len(there) :]
            if not path:
                return value
        elif there[: len(path)] == path:
            break
        else:
            value = value.operands[0]
    return builder.extract_value(value, path)
