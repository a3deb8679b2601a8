"""Writes less code for what kernels do most: variables and loops; arrays and calls stand in modules of their own.

numba keeps variables in memory. LLVM finds most of what it writes idle, but each instruction is made, printed and read
before: two of three.
"""

# mypy: disable-error-code="no-untyped-call"

import operator
from collections import Counter
from typing import Any

from llvmlite.ir import Constant, Undefined
from llvmlite.ir.instructions import InsertValue
from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.unsafe import eh

from jouleloop.jit.arrays import ArrayLower, are_numbers, is_natural, taken

#: Operators that divide whole numbers: whether they return the rest.
_DIVIDES = {operator.floordiv: False, operator.ifloordiv: False, operator.mod: True, operator.imod: True}
#: Operators that numba writes otherwise where a number is constant.
_POWERS = {operator.pow, operator.ipow}


class _Lower(ArrayLower):
    """Writes the code of one function."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that are assigned once, above all that reads them: values without a place in memory."""
        if self.context.enable_nrt:
            super()._find_singly_assigned_variable()
        else:  # of those that it finds all are found below
            self._singly_assigned_vars, self._blk_local_varmap = set(), {}
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
        self._borrowed = self._find_borrowed(once) if self.context.enable_nrt else set()
        self._plain |= self._borrowed
        self._singly_assigned_vars |= once & self._plain
        self._uncounted = self.context.subtarget(enable_nrt=False) if self._borrowed else self.context

    def _find_borrowed(self, once: set[str]) -> set[str]:
        """Return the variables whose values are parts of an argument: the caller holds it, so nobody counts them.

        What is returned is the caller's own: it is counted.
        """
        found: set[str] = set()
        statements = [one for _, block in sorted(self.blocks.items()) for one in block.body]
        returned = {one.value.name for one in statements if isinstance(one, ir.Return)}
        for one in statements:
            if isinstance(one, ir.Assign) and one.target.name in once - returned and self._is_part(one.value, found):
                found.add(one.target.name)
        return found

    def _is_part(self, value: Any, borrowed: set[str]) -> bool:
        """Whether a value is an argument, or a part of what is borrowed."""
        if isinstance(value, ir.Arg | ir.Var):
            return isinstance(value, ir.Arg) or value.name in borrowed
        if not isinstance(value, ir.Expr) or value.op not in {"getattr", "static_getitem", "getitem"}:
            return False
        if value.value.name not in borrowed or not isinstance(
            self.typeof(value.value.name), types.Array | types.BaseTuple
        ):
            return False
        # Other indices than numbers make an array.
        return value.op != "getitem" or are_numbers(self.typeof(value.index.name))

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
            name, context = inst.target.name, self.context
            self.context = self._uncounted if name in self._borrowed else context
            value = self.lower_assign(self.typeof(name), inst)
            self.context = context
            self.storevar(value, name)
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
        if expr.op in {"pair_first", "pair_second"} and not self._counts(expr.value.name):
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

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Return what an operator makes of two values; numba looks first for each with a constant."""
        kinds = [self.typeof(one.name) for one in (expr.lhs, expr.rhs)]
        if op in _POWERS or not all(isinstance(kind, types.Number | types.Boolean) for kind in kinds):
            return super().lower_binop(resty, expr, op)
        builder, context, signature = self.builder, self.context, self.fndesc.calltypes[expr]
        pair = [
            context.cast(builder, self.loadvar(one.name), kind, taken_)
            for one, kind, taken_ in zip((expr.lhs, expr.rhs), kinds, signature.args, strict=True)
        ]
        kind = signature.return_type
        if op in _DIVIDES and getattr(kind, "signed", False):
            pair = [context.cast(builder, value, one, kind) for value, one in zip(pair, signature.args, strict=True)]
            made = self._divide(*pair, rest=_DIVIDES[op])
        else:
            function = context.get_function(context.typing_context.resolve_value_type(op), signature)
            made = function(builder, pair)
        return context.cast(builder, made, kind, resty)

    def _divide(self, number: Any, by: Any, *, rest: bool) -> Any:
        """Return the quotient, rounded down, or the rest; numba asks for the lowest number by -1, too, a trap."""
        builder, zero = self.builder, by.type(0)
        above = isinstance(by, Constant) and by.constant > 0
        if not above:
            with cgutils.if_unlikely(builder, builder.icmp_signed("==", by, zero)):
                self.call_conv.return_user_exc(builder, ZeroDivisionError, ("division by zero",))
        left = builder.srem(number, by)
        low = builder.icmp_signed("<", left if above else builder.xor(left, by), zero)
        if not above:
            low = builder.and_(low, builder.icmp_signed("!=", left, zero))
        if rest:
            return builder.select(low, builder.add(left, by), left)
        return builder.sub(builder.sdiv(number, by), builder.zext(low, by.type))

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
        place.is_natural = step.constant > 0 and is_natural(start)
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


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(NativeLowering):
    """Writes the code of a function with `_Lower`."""

    _name = "lean_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that does it."""
        return _Lower
