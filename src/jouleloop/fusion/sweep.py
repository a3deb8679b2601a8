"""Sweeps of chains: one chain at many sizes, on an architecture as it is or at many attributes of it.

A file says ``kind: chain``. Its layers are texts with sizes in braces, such as ``matmul:M{n}xN{n}xK64``.
"""

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, StrictStr

from jouleloop.errors import Fault, InputError, gather, raise_all, unknown
from jouleloop.expressions import ExpressionError, evaluate
from jouleloop.files import read_yaml
from jouleloop.fusion.chain import Chain, ChainLayer, chain_of
from jouleloop.validation import made_of
from jouleloop.workload.sizes import parse_layer
from jouleloop.workload.strict import Strict, key
from jouleloop.workload.sweep import variants_of
from jouleloop.workload.sweep_schema import NAME_PATTERN, Attributes, Combine, Name, Range, Sizes, SweepFile
from jouleloop.workload.variants import Variant

CHAIN = "chain"
#: Points, chains times variants, that a sweep may have: each takes many searches.
MOST_POINTS = 10_000
_MOST_FAULTS = 20
#: What a test may be of: words outside and energy, fused, fused where both grow differently, and apart.
Tested = Literal["fused", "fused_beyond", "apart"]


class ChainSweepFile(Strict):
    """A sweep of chains."""

    name: Name | None = key("Name in tables and file names; the file's name where it is left out.", "text", None)
    description: StrictStr = key("What the sweep is for.", "text", "")
    kind: Literal["chain"] = Field(description="`chain`.", json_schema_extra={"unit": "choice"})
    layers: list[ChainLayer] = Field(
        ..., min_length=2, description="The layers, in the order in which they run; {n} or {n + 2} stands for a size."
    )
    fixed: dict[str, int] = key("Sizes that all points share.", "elements", {})
    ranges: Sizes = key(
        "Sizes that vary: a range with start, stop and step or factor, a list, or one value.", "elements"
    )
    combine: Combine = key("How ranges are combined: product, zip, or union around fixed sizes.", "choice", "product")
    architecture: dict[str, Attributes] = key(
        "Attributes of the architecture that vary, by path such as shared_glb.depth.", "as the attribute", {}
    )
    architecture_combine: Literal["product", "zip"] = key("How they are combined.", "choice", "product")
    architectures: list[Name] = key(
        "Architectures that the sweep runs on; all that are configured without it.", "names", []
    )
    level: StrictStr | None = key(
        "Where shared tensors live; the outermost level on the chip without it.", "text", None
    )
    recompute: bool = key("Whether overlaps of windows may be computed again.", "truth", False)
    variable: StrictStr = key("The size in which growth is tested.", "text")
    expected: dict[str, StrictStr] = key(
        "Growth that theory expects of words outside and of energy: `fused`, `fused_beyond` (from where fused words "
        "stop growing as `fused` says) and `apart`.",
        "growth",
        {},
    )


@dataclass(frozen=True)
class ChainPoint:
    """One chain of a sweep."""

    sizes: tuple[tuple[str, int], ...]
    variant: Variant
    chain: Chain
    count: int = 1
    """How often a network runs it."""


@dataclass(frozen=True)
class ChainSweep:
    """A sweep of chains, checked."""

    name: str
    source: str
    points: tuple[ChainPoint, ...]
    level: str | None
    recompute: bool
    variable: str = ""
    expected: tuple[tuple[str, str], ...] = ()
    architectures: tuple[str, ...] = ()

    def runs_on(self, architecture: str) -> bool:
        """Whether the sweep runs on an architecture of that name."""
        return not self.architectures or architecture in self.architectures


def load_chain_sweep(path: Path) -> ChainSweep:
    """Return the sweep in a file; raise `InputError` with all its faults."""
    return made_of(ChainSweepFile, read_yaml(path), path, partial(_sweep, path=path))


def _sweep(spec: ChainSweepFile, path: Path) -> ChainSweep:
    name = spec.name or path.stem
    faults = [] if re.match(NAME_PATTERN, name) else [Fault("is no name", field="name", value=name)]
    if spec.variable not in spec.ranges:
        faults.append(unknown(spec.variable, spec.ranges, "size that varies", field="variable"))
    faults += [
        unknown(k, get_args(Tested), "test", field="expected") for k in spec.expected if k not in get_args(Tested)
    ]
    points, _ = gather(lambda: _points(spec), lambda: raise_all(faults))
    growth = spec.variable, tuple(sorted(spec.expected.items()))
    return ChainSweep(name, str(path), points, spec.level, spec.recompute, *growth, tuple(spec.architectures))


def _points(spec: ChainSweepFile) -> tuple[ChainPoint, ...]:
    lengths = [len(_values(value)) for value in spec.architecture.values()]
    if (max if spec.architecture_combine == "zip" else math.prod)([1, *lengths]) > MOST_POINTS:
        raise InputError(Fault("there are too many variants", field="architecture", allowed=f"at most {MOST_POINTS}"))
    # Sweeps of layers read attributes in the same form.
    attributes = SweepFile(kind="fc", architecture=spec.architecture, architecture_combine=spec.architecture_combine)
    variants = variants_of(attributes)
    sizes = _sizes(spec)
    if len(sizes) * len(variants) > MOST_POINTS:
        text = f"the sweep has {len(sizes) * len(variants):,} points"
        raise InputError(Fault(text, field="ranges", allowed=f"at most {MOST_POINTS}"))
    chains: list[tuple[tuple[tuple[str, int], ...], Chain]] = []
    faults: list[Fault] = []
    for one in sizes:
        label = ", ".join(f"{name} = {value}" for name, value in one.items())
        try:
            chains.append((tuple(one.items()), _chain(spec, one, label)))
        except InputError as error:
            faults += [Fault(f"{fault.message} (at {label})", None, fault.field, fault.value) for fault in error.faults]
        if len(faults) > _MOST_FAULTS:
            break
    raise_all(faults)
    return tuple(ChainPoint(one, variant, chain) for variant in variants for one, chain in chains)


def _sizes(spec: ChainSweepFile) -> list[dict[str, int]]:
    """Return the sizes of every point, each once."""
    columns = {name: list(_values(value)) for name, value in spec.ranges.items()}
    lengths = {len(column) for column in columns.values() if len(column) > 1}
    if spec.combine == "zip" and len(lengths) > 1:
        raise InputError(Fault("lists that are combined by zip differ in length", field="ranges"))
    if math.prod(map(len, columns.values())) > MOST_POINTS and spec.combine == "product":
        raise InputError(Fault("the ranges have too many points", field="ranges", allowed=f"at most {MOST_POINTS}"))
    if spec.combine == "union":
        missing = [name for name in columns if name not in spec.fixed and len(columns) > 1]
        raise_all([Fault("a union needs a fixed value of each size", field=f"fixed.{name}") for name in missing])
        rows = [{**spec.fixed, name: value} for name, column in columns.items() for value in column]
    else:
        if spec.combine == "zip":
            most = max(lengths, default=1)
            columns = {name: column * (most if len(column) == 1 else 1) for name, column in columns.items()}
        combined = (
            zip(*columns.values(), strict=True) if spec.combine == "zip" else itertools.product(*columns.values())
        )
        rows = [{**spec.fixed, **dict(zip(columns, row, strict=True))} for row in combined]
    return [dict(row) for row in dict.fromkeys(tuple(sorted(row.items())) for row in rows)]


def _values(value: Any) -> list[Any]:
    if isinstance(value, Range):
        return list(value.values()[: MOST_POINTS + 1])
    return value if isinstance(value, list) else [value]


def _chain(spec: ChainSweepFile, sizes: Mapping[str, int], label: str) -> Chain:
    layers, faults = [], []
    for place, one in enumerate(spec.layers):
        try:
            layers.append(parse_layer(_filled(one.layer, sizes)))
        except InputError as error:
            faults += [Fault(f.message, None, f"layers.{place}.layer", f.value) for f in error.faults]
    raise_all(faults)
    return chain_of(label, layers, [one.name for one in spec.layers])


def _filled(text: str, sizes: Mapping[str, int]) -> str:
    """Return a layer's text with its sizes in the place of braces."""

    def value(match: re.Match[str]) -> str:
        try:
            found = evaluate(match[1], sizes)
        except (ExpressionError, ArithmeticError, TypeError, ValueError) as error:
            raise InputError(Fault(f"{error}; sizes are {', '.join(sizes)}", value=match[0])) from error
        if not isinstance(found, int) or isinstance(found, bool):
            raise InputError(Fault("is no whole number", value=match[0]))
        return str(found)

    return re.sub(r"\{([^{}]*)\}", value, text)
