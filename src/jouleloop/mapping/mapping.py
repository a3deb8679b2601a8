"""One loop nest on a storage hierarchy: per level the temporal loops in order, the spatial loops and what is kept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jouleloop.errors import Fault, MappingError, raise_all
from jouleloop.mapping.reuse import ALL_REUSE, Reuse
from jouleloop.workload.problem import Problem

#: The two mesh axes of a spatial loop.
AXES = ("X", "Y")


@dataclass(frozen=True)
class LevelMapping:
    """The loops of one storage level."""

    level: str
    """Name of the storage level."""
    temporal: tuple[tuple[str, int], ...]
    """(dimension, bound) of each temporal loop, outermost first; loops of bound 1 are left out."""
    spatial: tuple[tuple[str, int, str], ...]
    """(dimension, bound, axis) of each spatial loop, outermost first; loops of bound 1 are left out."""
    keep: frozenset[str]
    """Names of the data spaces stored here; all others bypass the level."""
    reuse: Reuse = ALL_REUSE
    """Data spaces that the level treats otherwise than all others, because constraints or directives say so."""

    @property
    def loops(self) -> tuple[tuple[str, int], ...]:
        """(dimension, bound) of all loops, outermost first."""
        return (*self.temporal, *((dimension, bound) for dimension, bound, _ in self.spatial))


@dataclass(frozen=True)
class Mapping:
    """A complete loop nest: one `LevelMapping` a storage level, outermost first."""

    levels: tuple[LevelMapping, ...]
    """Outermost first."""
    imperfect: tuple[tuple[str, int], ...] = ()
    """(dimension, bound) of every dimension whose loops do not multiply to its bound but to more, in alphabetical
    order; some of its loops end early in their last run. Empty where all factors are perfect."""

    @property
    def reuse(self) -> dict[str, Reuse]:
        """What levels are told not to reuse, by name, of those that are told anything."""
        return {level.level: level.reuse for level in self.levels if level.reuse}

    def check_factors(self, problem: Problem) -> None:
        """Raise `MappingError` unless the factors of every dimension make up its bound."""
        known = problem.shape.dimensions
        faults = [
            Fault("unknown dimension", field=level.level, value=dimension, allowed=", ".join(known))
            for level in self.levels
            for dimension in dict.fromkeys(d for d, _ in level.loops)
            if dimension not in known
        ]
        raise_all([*faults, *factor_faults(self, problem)], MappingError)

    def residual_ends(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Return by level, outermost first, the residual ends of its temporal and of its spatial loops.

        A loop stops there where every loop of its dimension outside is in its last iteration. The ends determine them:
        they are the digits of bound - 1 in the mixed radix of the ends, plus 1.

        Source: Timeloop ``src/mapping/parser.cpp``, ``ParseAndConstruct``, "Validity checks".
        """
        rest = {dimension: bound - 1 for dimension, bound in self.imperfect}

        def digit(dimension: str, end: int) -> int:
            if dimension not in rest:
                return end
            rest[dimension], value = divmod(rest[dimension], end)
            return value + 1

        found = []
        for level in reversed(self.levels):
            spatial = [digit(d, b) for d, b, _ in reversed(level.spatial)]
            temporal = [digit(d, b) for d, b in reversed(level.temporal)]
            found.append((tuple(temporal[::-1]), tuple(spatial[::-1])))
        return tuple(found[::-1])

    def as_json(self) -> list[dict[str, Any]]:
        """Return the nest as plain data, levels and loops outermost first; a residual end stands last in its loop."""
        return [
            {
                "level": level.level,
                "temporal": [
                    [d, b] if b == end else [d, b, end] for (d, b), end in zip(level.temporal, temporal, strict=True)
                ],
                "spatial": [
                    [d, b, axis] if b == end else [d, b, axis, end]
                    for (d, b, axis), end in zip(level.spatial, spatial, strict=True)
                ],
                "keep": sorted(level.keep),
            }
            | ({"reuse": level.reuse.as_dict()} if level.reuse else {})
            for level, (temporal, spatial) in zip(self.levels, self.residual_ends(), strict=True)
        ]

    def compact(self) -> str:
        """Return the nest on one line, such as ``DRAM P57 Q57 | GLB C16,13 M4X``; canonical for equal nests."""
        parts = []
        for level, (temporal, spatial) in zip(self.levels, self.residual_ends(), strict=True):
            loops = [f"{d}{end_text(b, end)}" for (d, b), end in zip(level.temporal, temporal, strict=True)]
            loops += [f"{d}{end_text(b, end)}{axis}" for (d, b, axis), end in zip(level.spatial, spatial, strict=True)]
            parts.append(" ".join([level.level, *loops]))
        return " | ".join(parts)


def end_text(end: int, residual: int) -> str:
    """Return an end as Timeloop writes it: ``16``, or ``16,13`` where the residual end differs."""
    return str(end) if end == residual else f"{end},{residual}"


def factor_faults(mapping: Mapping, problem: Problem) -> Iterator[Fault]:
    """Yield a fault for every dimension whose loops do not make up its bound."""
    product = dict.fromkeys(problem.shape.dimensions, 1)
    for level in mapping.levels:
        for dimension, bound in level.loops:
            product[dimension] = product.get(dimension, 1) * bound
    early = dict(mapping.imperfect)
    for dimension, bound in problem.bound.items():
        value = product[dimension]
        if early.get(dimension, bound) != bound:
            text = f"loops of {dimension} end at {early[dimension]}, the layer has {bound}"
            yield Fault(text, field=dimension)
        elif (value <= bound) if dimension in early else (value != bound):
            yield Fault(f"factors of {dimension} multiply to {value}, the layer has {bound}", field=dimension)


def ended_early(mapping: Mapping, problem: Problem) -> Mapping:
    """Return a mapping whose loops end early in every dimension whose bound they do not make up."""
    early = {fault.field for fault in factor_faults(mapping, problem)}
    return Mapping(mapping.levels, tuple(sorted((d, problem.bound[d]) for d in early if d)))


def close_mapping(
    levels: Sequence[LevelMapping], ends: Sequence[tuple[Sequence[int | None], Sequence[int | None]]]
) -> Mapping:
    """Return the mapping of ``levels`` whose loops have the stated residual ends, by level (temporal, spatial).

    None, and a residual end that is the end itself, say that the loop always runs to its end.

    Raises `MappingError` where a residual end is larger than its end, or is less than 1.
    """
    faults = []
    reached: dict[str, int] = {}
    product: dict[str, int] = {}
    for level, kinds in zip(levels, ends, strict=True):
        for (dimension, bound), end in zip(level.loops, [*kinds[0], *kinds[1]], strict=True):
            stop = bound if end is None else end
            if not 1 <= stop <= bound:
                text = f"residual end of {dimension} must lie between 1 and its end"
                faults.append(Fault(text, field=level.level, value=f"{bound},{stop}"))
            product[dimension] = product.get(dimension, 1) * bound
            reached[dimension] = reached.get(dimension, 0) * bound + stop - 1
    raise_all(faults, MappingError)
    early = {d: last + 1 for d, last in reached.items() if last + 1 != product[d]}
    return Mapping(tuple(levels), tuple(sorted(early.items())))
