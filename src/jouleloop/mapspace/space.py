"""The mapspace of one layer on one architecture: every slot that factors can go to, and how loops may be ordered.

Follows Timeloop 3.0.3: ``src/mapspaces/uber.cpp``, ``src/mapspaces/subspaces.cpp`` and ``src/mapping/constraints.cpp``.
Levels are indexed from the innermost storage level (0) outward, as in the model's kernels.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from jouleloop.arch.architecture import Architecture
from jouleloop.division import divisors
from jouleloop.errors import Fault, InputError, unknown
from jouleloop.mapping.reuse import Reuse
from jouleloop.mapspace.constraints import Constraints, LoopConstraint, SpaceName
from jouleloop.mapspace.maximize import resolve_sizes
from jouleloop.workload.problem import Problem

#: Marks a factor that the search may choose.
FREE = 0
#: Most choices of what is kept where that are listed one by one.
MOST_LISTED = 4096


#: What a slot says of one dimension, as the fields of `FactorSlot`.
SLOT = np.dtype([("fixed", np.int64), ("most", np.int64), ("least", np.int64), ("rank", np.int64)])


@dataclass(frozen=True)
class FactorSlot:
    """Where factors may go: the temporal or the spatial loops of one level."""

    fixed: tuple[int, ...]
    """Factor by dimension; `FREE` where it is open."""
    most: tuple[int, ...]
    least: tuple[int, ...]
    """Limits of open factors by dimension."""
    rank: tuple[int, ...]
    """By dimension: loops are ordered innermost first by rank; equal ranks may stand in any order."""
    split: int | None = None
    """Spatial only: how many positions go to X; None where every split is tried."""
    both: bool = False
    """Spatial only: whether a dimension may be unrolled along both axes. Neither order nor axes change a count then,
    unless loops end early."""

    def is_open(self, d: int) -> bool:
        """Whether the constraints leave the factor of a dimension open."""
        return self.fixed[d] == FREE

    def may_loop(self, d: int) -> bool:
        """Whether a dimension may have a factor above 1 here."""
        return self.fixed[d] > 1 or (self.fixed[d] == FREE and self.most[d] > 1)


@dataclass(frozen=True)
class MapSpace:
    """All mappings that the constraints leave open."""

    problem: Problem
    arch: Architecture
    temporal: tuple[FactorSlot, ...]
    spatial: tuple[FactorSlot | None, ...]
    """One slot a level, innermost level first; ``spatial`` is None where the level does not fan out."""
    columns: tuple[np.typing.NDArray[np.bool_], ...]
    """By data space, every admissible choice of the levels that keep it: boolean arrays of shape (choices, levels),
    keeping before bypassing. All combinations are admissible."""
    reuse: tuple[Reuse, ...]
    """What each level is told not to reuse, innermost level first."""
    min_parallelism: float = 0.0
    """Share of all compute units that a mapping has to use at least."""
    rounded: bool = False
    """Whether fixed factors do not divide the layer, and are rounded up as in Timeloop 4."""
    name: SpaceName = "timeloop"
    """Which orders of loops count: those of Timeloop's mapper, or all that the constraints allow."""

    @cached_property
    def keeps(self) -> tuple[np.typing.NDArray[np.bool_], ...]:
        """Every admissible choice of what is kept where: boolean arrays of shape (levels, data spaces).

        Raises `InputError` where there are too many to be listed.
        """
        if self.keep_choices > MOST_LISTED:
            raise InputError(
                Fault(
                    "too many choices of what to bypass to list them",
                    value=self.keep_choices,
                    allowed=f"keep or bypass constraints that leave at most {MOST_LISTED}",
                )
            )
        found = [np.stack(choice, axis=1) for choice in itertools.product(*self.columns)]
        return tuple(sorted(found, key=lambda keep: (~keep).tobytes()))

    @property
    def keep_choices(self) -> int:
        """Number of choices of what is kept where."""
        return math.prod(map(len, self.columns))

    @cached_property
    def slots(self) -> tuple[FactorSlot, ...]:
        """All slots, innermost first: below each level its spatial one where there is one, then its temporal one."""
        found: list[FactorSlot] = []
        for inside, time in zip(self.spatial, self.temporal, strict=True):
            found += [time] if inside is None else [inside, time]
        return tuple(found)

    @cached_property
    def index_factorizations(self) -> int:
        """Number of ways to spread the factors of all dimensions over the slots."""
        total = 1
        for d, bound in enumerate(self.problem.bounds):
            limits = tuple((slot.fixed[d], slot.most[d], slot.least[d], slot.both) for slot in self.slots)
            total *= _count_factorizations(bound, limits)
        return total

    @cached_property
    def permutations(self) -> int:
        """Number of loop orders over all slots, before loops of bound 1 are dropped."""
        return math.prod(_count_orders(slot.rank) ** (1 + slot.both) for slot in self.slots)

    @cached_property
    def spatial_splits(self) -> int:
        """Number of ways to divide spatial loops between the mesh axes."""
        total = 1
        for slot in self.spatial:
            if slot is not None and slot.split is None and not slot.both:
                total *= len(self.problem.bounds) + 1
        return total

    @property
    def size(self) -> int:
        """Number of points, as Timeloop counts: factorizations x permutations x splits x bypasses."""
        return self.index_factorizations * self.permutations * self.spatial_splits * self.keep_choices


@lru_cache(maxsize=1024)
def _count_orders(rank: tuple[int, ...]) -> int:
    return math.prod(math.factorial(len(list(group))) for _, group in itertools.groupby(sorted(rank)))


@lru_cache(maxsize=65536)
def _count_factorizations(bound: int, limits: tuple[tuple[int, int, int, bool], ...]) -> int:
    if not limits:
        return int(bound == 1)
    fixed, most, least, both = limits[0]
    factors = [f for f in divisors(bound) if (least <= f <= most if fixed == FREE else f == fixed)]
    ways = ((f, len(divisors(f)) if both else 1) for f in factors)
    return sum(count * _count_factorizations(bound // f, limits[1:]) for f, count in ways)


def build_mapspace(
    problem: Problem, arch: Architecture, constraints: Constraints, *, imperfect: bool = False, rounds: bool = False
) -> MapSpace:
    """Return the mapspace of a layer under constraints.

    ``imperfect``: loops may end early, so fixed factors need not divide the layer. ``rounds``: they need not, but are
    rounded up, as in Timeloop 4, see `jouleloop.mapspace.rounded`.

    A factor of 0 means the whole dimension. A factor larger than the dimension is ignored and the dimension left open
    at that level, as Timeloop does with a warning.

    Raises `InputError` where constraints name an unknown level or dimension, contradict each other, or do not divide
    the layer.
    """
    constraints = resolve_sizes(constraints, problem, arch)
    faults: list[Fault] = [
        unknown(name, arch.level_names, "storage level in constraints", source=constraints.name)
        for name in constraints.levels
        if name not in arch.level_names
    ]
    sizes = {**problem.bound, **problem.coefficient}
    for name, size in arch.layer_sizes:
        if sizes.get(name, size) != size:
            text = "expressions of the architecture were evaluated for the layer beside it; put this one there instead"
            faults.append(Fault(text, constraints.name, f"{problem.name}.{name}", sizes[name], str(size)))
    temporal, spatial = _all_slots(problem, arch, constraints, faults, imperfect=imperfect)
    rounded = False
    if not faults and not imperfect:
        slots = [*temporal, *(slot for slot in spatial if slot is not None)]
        indivisible = list(_product_faults(problem, slots, constraints.name))
        rounded = rounds and bool(indivisible)
        faults += _product_faults(problem, slots, constraints.name, rounds=True) if rounded else indivisible
    if constraints.space != "timeloop" and (imperfect or rounded):
        text = "is searched where loops divide the layer"
        faults.append(Fault(text, constraints.name, "space", constraints.space, "timeloop"))
    columns = _keep_columns(problem, arch, constraints, faults)
    if faults:
        raise InputError(faults)
    reuse = tuple(constraints.level(name).reuse for name in reversed(arch.level_names))
    least = constraints.min_parallelism
    name = constraints.space
    return MapSpace(problem, arch, tuple(temporal), tuple(spatial), columns, reuse, least, rounded, name)


def _all_slots(
    problem: Problem, arch: Architecture, constraints: Constraints, faults: list[Fault], *, imperfect: bool
) -> tuple[list[FactorSlot], list[FactorSlot | None]]:
    """Return the temporal and the spatial slot of every level, innermost first."""
    temporal: list[FactorSlot] = []
    spatial: list[FactorSlot | None] = []
    pruned = constraints.space == "timeloop"
    free = constraints.axes == "free" and not problem.slides
    for index, (name, fanout) in enumerate(zip(reversed(arch.level_names), reversed(arch.fanout), strict=True)):
        given, fans_out = constraints.level(name), math.prod(fanout) > 1
        # Timeloop's mapper takes one order at tiling level 0 (``uber.cpp``): the innermost loops, or the fan-out below
        # them; and one at a fan-out of one row.
        canonical = pruned and index == 0 and not fans_out
        field, source = f"{name}.temporal", constraints.name
        temporal.append(_slot(problem, given.temporal, field, source, faults, canonical=canonical))
        field, own = f"{name}.spatial", given.spatial
        if fans_out:
            ordered = own.permutation or own.outer_permutation
            canonical = pruned and not ordered and min(fanout) == 1
            slot = _slot(problem, own, field, source, faults, canonical=canonical, split=own.split)
            both = free and min(fanout) > 1 and not ordered and own.split is None
            # Two loops of a dimension that end early may be longer together than it is.
            wide = (own.max_factors.get(d, math.prod(fanout)) for d in problem.shape.dimensions)
            spatial.append(replace(slot, both=both, most=tuple(wide) if both and imperfect else slot.most))
            continue
        spatial.append(None)
        text = "a spatial factor is given where the architecture does not fan out"
        needed = {d: f for d, f in own.factors.items() if f > 1 and f <= problem.bound.get(d, 0)}
        faults += [Fault(text, source, f"{field}.{d}", factor, "1") for d, factor in needed.items()]
    return temporal, spatial


def _slot(
    problem: Problem,
    given: LoopConstraint,
    field: str,
    source: str,
    faults: list[Fault],
    *,
    canonical: bool,
    split: int | None = None,
) -> FactorSlot:
    stated = _stated(given, problem.shape.dimensions, canonical)
    if stated.wrong:
        faults += _wrong(given, problem.shape.dimensions, field, source)
    bounds = problem.bounds
    fixed = [FREE if f is None or f > bound else f or bound for f, bound in zip(stated.factors, bounds, strict=True)]
    most = [bound if m is None else min(bound, m) for m, bound in zip(stated.most, bounds, strict=True)]
    return FactorSlot(tuple(fixed), tuple(most), stated.least, stated.rank, split)


class _Stated(NamedTuple):
    """What constraints state of one slot whatever the layer's sizes, by dimension."""

    factors: tuple[int | None, ...]
    most: tuple[int | None, ...]
    least: tuple[int, ...]
    rank: tuple[int, ...]
    wrong: bool


@lru_cache(maxsize=1024)
def _stated(given: LoopConstraint, dims: tuple[str, ...], canonical: bool) -> _Stated:
    if canonical:
        rank = tuple(range(len(dims)))
    else:
        prefix = len(given.permutation)
        rank = tuple(
            given.permutation.index(d)
            if d in given.permutation
            else prefix + 1 + given.outer_permutation.index(d)
            if d in given.outer_permutation
            else prefix
            for d in dims
        )
    return _Stated(
        tuple(map(given.factors.get, dims)),
        tuple(map(given.max_factors.get, dims)),
        tuple(given.min_factors.get(d, 1) for d in dims),
        rank,
        bool(_wrong(given, dims, "", "")),
    )


def _wrong(given: LoopConstraint, dims: tuple[str, ...], field: str, source: str) -> list[Fault]:
    """Return what is wrong with constraints whatever the layer's sizes."""
    faults = []
    for key in {*given.factors, *given.max_factors, *given.min_factors, *given.permutation, *given.outer_permutation}:
        if key not in dims:
            faults.append(unknown(key, dims, "dimension in constraints", source=source, field=field))
    for key in sorted({d for d in given.permutation if given.permutation.count(d) > 1}):
        faults.append(Fault("dimension stands twice in a permutation", source, field, key))
    for d in dims:
        least = given.min_factors.get(d, 1)
        most = given.max_factors.get(d, least)
        if least > most:
            text = "smallest factor is above the largest"
            faults.append(Fault(text, source, f"{field}.{d}", least, str(most)))
    return faults


def _product_faults(problem: Problem, slots: list[FactorSlot], source: str, *, rounds: bool = False) -> Iterator[Fault]:
    """Yield a fault for each dimension that its given factors do not divide, or do not make up where all are given.

    ``rounds``: they are rounded up as in Timeloop 4, which ends where they leave a rest (``Factors::Factors``).
    """
    for d, (name, bound) in enumerate(problem.bound.items()):
        given = [slot.fixed[d] for slot in slots if slot.fixed[d] != FREE]
        product, all_given = math.prod(given), len(given) == len(slots)
        if bound % product and not rounds:
            text = f"{name} = {bound} is not divisible by the product of its constrained factors, {product}"
            yield Fault(text, source, name)
        elif all_given and (product < bound if rounds else product != bound):
            text = f" < {bound}" if rounds else f", the layer has {bound}"
            yield Fault(f"all factors of {name} are given and multiply to {product}{text}", source, name)


def _keep_columns(
    problem: Problem, arch: Architecture, constraints: Constraints, faults: list[Fault]
) -> tuple[np.typing.NDArray[np.bool_], ...]:
    spaces = [space.name for space in problem.data_spaces]
    options: list[list[tuple[bool, ...]]] = [[] for _ in spaces]
    count = len(arch.levels)
    for index, name in enumerate(reversed(arch.level_names)):
        given = constraints.level(name)
        for space in sorted({*given.keep, *given.bypass} - set(spaces)):
            faults.append(unknown(space, spaces, "data space in constraints", source=constraints.name, field=name))
        for space in sorted(given.keep & given.bypass):
            faults.append(Fault("data space is both kept and bypassed", constraints.name, name, space))
        for column, space in zip(options, spaces, strict=True):
            if space in given.keep:
                column.append((True,))
            elif space in given.bypass:
                column.append((False,))
            else:
                column.append((True,) if index == count - 1 else (True, False))
    found = []
    for column in options:
        choices = list(_columns(tuple(column)))
        if not choices and not faults:
            faults.append(Fault("a data space is bypassed at every level", constraints.name))
        found.append(np.array(choices, np.bool_).reshape(len(choices), count))
    return tuple(found)


@lru_cache(maxsize=1024)
def _columns(options: tuple[tuple[bool, ...], ...]) -> tuple[tuple[bool, ...], ...]:
    return tuple(choice for choice in itertools.product(*options) if any(choice))


def slot_array(slots: tuple[FactorSlot, ...], dims: int) -> np.typing.NDArray[np.void]:
    """Return what slots say of every dimension, of `SLOT`, shape (levels, dimensions)."""
    array = np.empty((len(slots), dims), SLOT)
    for level, slot in enumerate(slots):
        for name in SLOT.names or ():
            array[name][level] = getattr(slot, name)
    return array
