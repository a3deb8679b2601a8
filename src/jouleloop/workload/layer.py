"""One layer of a neural network: a kind and its sizes, which make a problem; and how a layer is written in one word."""

import json
import math
from dataclasses import dataclass, replace
from typing import Any

from jouleloop.errors import Fault, raise_all, unknown
from jouleloop.files import is_whole
from jouleloop.workload.kind import Kind
from jouleloop.workload.kinds import CONV, GROUPED_CONV, OWN, kind_named
from jouleloop.workload.problem import MAX_PRODUCT, MAX_SIZE, Problem

__all__ = ["CONV", "GROUPED_CONV", "Layer"]


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of a network, all sizes as integers."""

    kind: Kind
    """Which sizes there are, and the problem shape."""
    values: tuple[int, ...]
    """Value of each of ``kind.fields``, such as C, M, R, S, N, P, Q, strides, dilations and groups of a convolution."""
    name: str = ""
    """Label in tables and file names."""

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        for (key, _), value in zip(self.kind.fields, self.values, strict=True):
            if not is_whole(value) or value < 1:
                faults.append(Fault("must be a positive integer", field=key, value=value))
            elif value > MAX_SIZE:
                faults.append(Fault("too large", field=key, value=value, allowed=f"at most {MAX_SIZE}"))
        raise_all(faults)
        if math.prod(self.values) > MAX_PRODUCT:
            self.problem().check_limits()

    @classmethod
    def of(cls, kind: str, *values: int, name: str = "", **sizes: int) -> "Layer":
        """Return the layer with sizes by position, in the order of the kind's fields, or by name; others are 1."""
        found = kind_named(kind)
        given = dict(zip((key for key, _ in found.fields), values, strict=False)) | sizes
        known = [key for key, _ in found.fields]
        raise_all([unknown(key, known, "size", field=key) for key in given if key not in known])
        return cls(found, tuple(given.get(key, n) for key, n in zip(known, found.defaults, strict=True)), name)

    @property
    def sizes(self) -> dict[str, int]:
        """Value by the name of a field, such as ``{"C": 3, …, "groups": 1}``."""
        return {key: value for (key, _), value in zip(self.kind.fields, self.values, strict=True)}

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells a layer from others: its problem, not its kind or name; identities can be sorted."""
        return (self.kind.base, *self.values)

    @property
    def macs(self) -> int:
        """Number of multiply-accumulate operations."""
        return math.prod(self.values[position] for position in self.kind.bound_positions)

    @property
    def input_size(self) -> int | None:
        """Extent of the (padded) input along the first axis; None where no filter slides."""
        if not self.kind.base_windows:
            return None
        window, sizes = self.kind.base_windows[0], self.sizes
        reach = (sizes[window.filter] - 1) * sizes[window.dilation]
        return (sizes[window.output] - 1) * sizes[window.stride] + reach + 1

    def problem(self) -> Problem:
        """Return the layer as a problem; a dimension such as groups or heads only appears where it is above 1."""
        shape = self.kind.shape_of(self.values)
        by_target = dict(zip((target for _, target in self.kind.fields), self.values, strict=True))
        bounds = tuple(by_target[d] for d in shape.dimensions)
        return Problem(shape, bounds, tuple(by_target[key] for key, _ in shape.coefficients), self.label)

    @property
    def label(self) -> str:
        """The name, or a canonical one built from the sizes."""
        if self.name or self.kind.name != OWN:
            return self.name or self.spec()
        sizes = "x".join(f"{key}{value}" for key, value in self.sizes.items())
        return f"{self.kind.shape.name or OWN}:{sizes}"

    def spec(self) -> str:
        """Return the canonical text form that `jouleloop.workload.sizes.parse_layer` reads."""
        if self.kind.name == OWN:
            whole = {"shape": json.loads(self.kind.document), "values": self.values}
            return f"{OWN}:{json.dumps(whole, sort_keys=True, separators=(',', ':'))}"
        form, sizes, default = self.kind.text, self.sizes, self.kind.default
        value = {size: sizes[field] for size, field in self.kind.sizes}
        changed = {size for size, field in self.kind.sizes if sizes[field] != default[field]}
        options = {name: self.kind.shorthand.get(name, (name,)) for name in form.options}
        named = {*form.positional, *form.always}.union(*options.values())
        text = "x".join([str(value[size]) for size in form.positional])
        stated = [*form.always, *(size for size in value if size in changed - named)]
        text += "x".join([f"{size}{value[size]}" for size in stated])
        for name, own in options.items():
            if not changed.isdisjoint(own):
                numbers = [value[size] for size in own]
                text += f"/{name}" + "x".join(map(str, numbers[:1] if len(set(numbers)) == 1 else numbers))
        return f"{self.kind.name}:{text}"

    def renamed(self, name: str) -> "Layer":
        """Return the same layer under another name."""
        return self if name == self.name else replace(self, name=name)
