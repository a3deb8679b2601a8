"""Writes less code for what kernels do most: variables, items of arrays, loops, calls.

numba keeps variables in memory, copies an array's record for each item that is read, and asks after each call what may
have gone wrong. LLVM finds most of that idle, but each instruction is made, printed and read before: two of three.
"""

# mypy: disable-error-code="no-untyped-call"

from collections import Counter
from typing import Any

from llvmlite.ir import Constant, IntType, PointerType, Undefined
from llvmlite.ir.instructions import InsertValue
from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.unsafe import eh
from numba.np import arrayobj

#: Where a builder notes, in `CPUCallConv`, that its function catches errors.
_CATCHES = "_CPUCallConv__eh_try_state"


class _Lower(Lower):
    """Writes the code of one function."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that are assigned once, above all that reads them: values without a place in memory."""
        super()._find_singly_assigned_variable()
        assigned: Counter[str] = Counter()
        above: set[str] = set()
        self._tries = False
        for _, block in sorted(self.blocks.items()):
            for one in block.body:
                names = [var.name for var in one.list_vars()]
                if isinstance(one, ir.Assign):
                    assigned[one.target.name] += 1
                    names.remove(one.target.name)
                    self._tries |= isinstance(one.value, ir.Global) and one.value.value is eh.exception_check
                above.update(name for name in names if not assigned[name])
        once = {name for name, times in assigned.items() if times == 1 and name not in above}
        self._plain = {name for name in assigned if not self._counts(name)}
        self._singly_assigned_vars |= once & self._plain

    def _counts(self, name: str) -> bool:
        """Whether references to a variable's value are counted."""
        return bool(
            self.context.enable_nrt and self.context.data_model_manager[self.typeof(name)].contains_nrt_meminfo()
        )

    def pre_block(self, block: Any) -> None:
        """Look for what catches errors in functions that do."""
        self._cur_ir_block = block
        if self._tries or self.context.enable_nrt:
            super().pre_block(block)

    def lower_inst(self, inst: Any) -> None:
        """Write the code of one statement."""
        if type(inst) is ir.Assign:
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
        elif isinstance(inst, ir.StaticSetItem) and self._is_filled(inst):
            self._fill(inst)
        else:
            super().lower_inst(inst)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Return a value; functions and modules have none."""
        value = inst.value
        if isinstance(value, ir.Global | ir.FreeVar) and isinstance(ty, types.Callable | types.Module):
            return self.context.get_dummy_value()
        if isinstance(value, ir.Expr) and value.op == "getiter" and inst.target.name in self._singly_assigned_vars:
            counter = self._start_counting(ty, value)
            if counter is not None:
                return counter
        return super().lower_assign(ty, inst)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Assign to a variable; nobody needs what it was where that is not counted."""
        if name in self._singly_assigned_vars or name not in self._plain:
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End a variable; nothing is to be done for a value that is not counted."""
        if name not in self._plain:
            super().delvar(name)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Return the value of an expression."""
        if expr.op == "static_getitem" and expr.index_var and isinstance(self.typeof(expr.value.name), types.Array):
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        if expr.op in {"pair_first", "pair_second"} and not self.context.enable_nrt:
            return taken(self.builder, self.loadvar(expr.value.name), (int(expr.op == "pair_second"),))
        if expr.op == "getattr" and expr.attr == "shape" and isinstance(self.typeof(expr.value.name), types.Array):
            shape = self.context.data_model_manager[self.typeof(expr.value.name)].get_field_position("shape")
            return taken(self.builder, self.loadvar(expr.value.name), (shape,))
        if expr.op == "call" and isinstance(resty, types.RangeType) and not expr.kws and not expr.vararg:
            return self._range(resty, [self.loadvar(one.name) for one in expr.args], expr)
        if expr.op == "iternext":
            counted = self._count(self.typeof(expr.value.name), resty, self.loadvar(expr.value.name))
            if counted is not None:
                return counted
        return super().lower_expr(resty, expr)

    def _range(self, kind: Any, given: list[Any], expr: Any) -> Any:
        """Return start, stop and step of a range."""
        number = kind.dtype
        bounds = [
            self.context.cast(self.builder, value, self.typeof(one.name), number)
            for value, one in zip(given, expr.args, strict=True)
        ]
        if len(bounds) == 1:
            bounds.insert(0, self.context.get_constant(number, 0))
        if len(bounds) == 2:
            bounds.append(self.context.get_constant(number, 1))
        made = Constant(self.context.get_value_type(kind), Undefined)
        for i, value in enumerate(bounds):
            made = self.builder.insert_value(made, value, i)
        return made

    def _start_counting(self, kind: Any, expr: Any) -> Any:
        """Return what counts through a range whose step is a number, None for all else: the place of the next item."""
        if not isinstance(self.typeof(expr.value.name), types.RangeType):
            return None
        builder, given = self.builder, self.loadvar(expr.value.name)
        start, stop, step = (taken(builder, given, (i,)) for i in range(3))
        if not isinstance(step, Constant) or not step.constant or not kind.yield_type.signed:
            return None
        with builder.goto_entry_block():
            place = builder.alloca(start.type)
        builder.store(start, place)
        place.is_natural = step.constant > 0 and _is_natural(start)
        made = Constant(self.context.get_value_type(kind), Undefined)
        for i, value in enumerate((place, stop, step)):
            made = builder.insert_value(made, value, i)
        return made

    def _count(self, kind: Any, pair: Any, counter: Any) -> Any:
        """Return the next item of a range, and whether there is one; None where it is counted as numba does."""
        if not isinstance(kind, types.RangeIteratorType) or not isinstance(counter, InsertValue):
            return None
        builder = self.builder
        place, stop, step = (taken(builder, counter, (i,)) for i in range(3))
        item = builder.load(place)
        item.is_natural = place.is_natural
        there = builder.icmp_signed("<" if step.constant > 0 else ">", item, stop)
        builder.store(builder.add(item, step, flags=("nsw",)), place)
        made = builder.insert_value(Constant(self.context.get_value_type(pair), Undefined), item, 0)
        return builder.insert_value(made, there, 1)

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
        if isinstance(kind, types.Array) and kind.ndim == len(_indices(self.typeof(index_var.name))):
            place = self._place(target_var, index_var)
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
            or not all(isinstance(one, types.Integer) for one in kinds)
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
            if kinds[axis].signed and not _is_natural(i):
                length = taken(builder, record, (shape, axis))
                i = builder.select(builder.icmp_signed("<", i, i.type(0)), builder.add(i, length), i)
            at = i if at is None else builder.add(at, i)
        return builder.gep(taken(builder, record, (fields.get_field_position("data"),)), [at])


def _is_natural(number: Any) -> bool:
    """Whether a number is known not to be negative: it is written so, or counts upwards from one that is."""
    if isinstance(number, Constant):
        return isinstance(number.constant, int) and number.constant >= 0
    return bool(getattr(number, "is_natural", False))


def _indices(kind: Any) -> Any:
    return getattr(kind, "types", (kind,))


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


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(NativeLowering):
    """Writes the code of a function with `_Lower`."""

    _name = "lean_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that does it."""
        return _Lower


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
