"""Takes the copies of records out of the code that numba makes: most of what there was to compile were such copies.

A record (a named tuple) is handed over by its address. numba loads all of it, 250 numbers for the arrays of a search,
keeps it in a variable, and stores it again for every call. Nobody writes to a record that was handed over. So here a
function reads single fields of its argument, once, where it begins, and hands on the address that it was given itself.
"""

from collections import defaultdict
from typing import Any

from llvmlite import ir

_INDEX = ir.IntType(32)
#: Kinds of instructions that nothing but their value comes of.
_PURE = (ir.LoadInstr, ir.GEPInstr, ir.instructions.ExtractValue, ir.instructions.InsertValue)
#: Where a value was handed over: the argument, and the fields that lead from it to the value.
_Place = tuple[Any, tuple[int, ...]]


def mark(address: Any) -> Any:
    """Note that an address is that of a record which is handed over; return it."""
    address.is_record = True
    return address


def without_copies(module: Any) -> None:
    """Take the copies of records out of all functions of a module."""
    for function in module.functions:
        variables = [one for block in function.blocks[:1] for one in block.instructions]
        if any(_is_marked(one) for one in (*function.args, *variables)):
            _Function(function).run()


class _Function:
    """The code of one function, and who uses which of its values."""

    def __init__(self, function: Any) -> None:
        self.entry = function.entry_basic_block
        self.records = [one for one in function.args if _is_marked(one)]
        self.users: dict[int, dict[int, Any]] = defaultdict(dict)
        self.code = [one for block in function.blocks for one in block.instructions]
        self.places: dict[int, _Place | None] = {}
        self.fields: dict[tuple[int, tuple[int, ...], bool], Any] = {}
        self.first: list[Any] = []
        self.gone: set[int] = set()
        for one in self.code:
            for value in _operands(one):
                self.users[id(value)][id(one)] = one

    def run(self) -> None:
        """Rewrite the function."""
        for one in self.code:
            if isinstance(one, ir.AllocaInstr) and _is_marked(one):
                self._hand_on(one)
        for one in self.code:
            if isinstance(one, ir.instructions.ExtractValue):
                self._read_field(one)
        self._remove_unused()
        for block in {id(one.parent): one.parent for one in self.code}.values():
            block.instructions[:] = [one for one in block.instructions if id(one) not in self.gone]
        # Behind the variables, in front of what reads them.
        at = next(i for i, one in enumerate(self.entry.instructions) if not isinstance(one, ir.AllocaInstr))
        self.entry.instructions[at:at] = self.first

    def _hand_on(self, copy: Any) -> None:
        """Let a call take the address that the function was given, where the record was."""
        stores = self._stores(copy)
        calls = [one for one in self.users[id(copy)].values() if isinstance(one, ir.CallInstr)]
        if len(stores) != 1 or len(calls) != 1:
            return
        place = self._place(stores[0].operands[0])
        if place is not None:
            calls[0].replace_usage(copy, self._field(place, load=False))
            del self.users[id(copy)][id(calls[0])]

    def _read_field(self, value: Any) -> None:
        """Let all that use a field of an argument read it from there, but what counts references.

        A variable that was deleted counts none: its copy says so, the argument does not.
        """
        place = self._place(value)
        if place is None:
            return
        for user in list(self.users[id(value)].values()):
            counts = isinstance(user, ir.CallInstr) and user.callee.name.startswith("NRT_")
            if isinstance(user, ir.instructions.ExtractValue) or counts or id(user) in self.gone:
                continue
            field = self._field(place, load=True)
            _replace(user, value, field)
            del self.users[id(value)][id(user)]

    def _place(self, value: Any) -> _Place | None:
        """Return where a value was handed over, None where it was not."""
        if id(value) not in self.places:
            self.places[id(value)] = None
            self.places[id(value)] = self._find_place(value)
        return self.places[id(value)]

    def _find_place(self, value: Any) -> _Place | None:
        if isinstance(value, ir.instructions.ExtractValue):
            place = self._place(value.aggregate)
            return place and (place[0], (*place[1], *value.indices))
        if not isinstance(value, ir.LoadInstr):
            return None
        [address] = value.operands
        if any(address is one for one in self.records):
            return address, ()
        if not isinstance(address, ir.AllocaInstr) or _is_marked(address):
            return None
        # A variable that is assigned once: what is read of it is that, as no program reads a variable without a value.
        users = self.users[id(address)].values()
        if any(not isinstance(one, ir.LoadInstr) and not _stores_to(one, address) for one in users):
            return None
        stores = self._stores(address)
        return self._place(stores[0].operands[0]) if len(stores) == 1 else None

    def _stores(self, address: Any) -> list[Any]:
        """Return what stores to a variable, but the empty values before and after its life; a zero is no such."""
        found = [one for one in self.users[id(address)].values() if _stores_to(one, address)]
        return [one for one in found if getattr(one.operands[0], "constant", one) is not None]

    def _field(self, place: _Place, *, load: bool) -> Any:
        """Return a field of an argument, or its address."""
        argument, path = place
        key = (id(argument), path, load)
        if key not in self.fields:
            if load:
                made = ir.LoadInstr(self.entry, self._field(place, load=False))
            elif path:
                indices = [_INDEX(i) for i in (0, *path)]
                made = ir.GEPInstr(self.entry, argument, indices, inbounds=True, name="")
            else:
                return argument
            self.fields[key] = made
            self.first.append(made)
        return self.fields[key]

    def _remove_unused(self) -> None:
        """Remove what nobody uses any more, and variables that nobody reads."""
        waiting = list(self.code)
        while waiting:
            one = waiting.pop()
            if id(one) in self.gone:
                continue
            users = list(self.users[id(one)].values())
            if isinstance(one, ir.AllocaInstr):
                unused = all(_stores_to(user, one) for user in users)
            else:
                unused = not users and isinstance(one, _PURE)
            if unused:
                for gone in (one, *users):
                    self.gone.add(id(gone))
                    for value in _operands(gone):
                        self.users[id(value)].pop(id(gone), None)
                        waiting.append(value)


def _is_marked(value: Any) -> bool:
    return getattr(value, "is_record", False)


def _operands(instruction: Any) -> list[Any]:
    if isinstance(instruction, ir.PhiInstr):
        return [value for value, _ in instruction.incomings]
    return list(instruction.operands)


def _stores_to(instruction: Any, address: Any) -> bool:
    return (
        isinstance(instruction, ir.StoreInstr)
        and instruction.operands[1] is address
        and instruction.operands[0] is not address
    )


def _replace(instruction: Any, old: Any, new: Any) -> None:
    """Let an instruction use another value."""
    if isinstance(instruction, ir.instructions.InsertValue):
        instruction.aggregate = new if instruction.aggregate is old else instruction.aggregate
        instruction.value = new if instruction.value is old else instruction.value
    if isinstance(instruction, ir.GEPInstr):
        instruction.pointer = new if instruction.pointer is old else instruction.pointer
        instruction.indices = [new if one is old else one for one in instruction.indices]
    instruction.replace_usage(old, new)
