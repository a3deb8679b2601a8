"""One loop nest on a storage hierarchy: per level the temporal loops in order, the spatial loops and what is kept."""

from dataclasses import dataclass
from typing import Any

from jouleloop.errors import Fault, MappingError, raise_all
from jouleloop.workload.problem import Problem

#: The two mesh axes of a spatial loop.
AXES = ("X", "Y")


@dataclass(frozen=True)
class LevelMapping:
    """The loops of one storage level.

    Attributes
    ----------
    level
        Name of the storage level.
    temporal
        (dimension, bound) of each temporal loop, outermost first; loops of bound 1 are left out.
    spatial
        (dimension, bound, axis) of each spatial loop, outermost first; loops of bound 1 are left out.
    keep
        Names of the data spaces stored here; all others bypass the level.
    """

    level: str
    temporal: tuple[tuple[str, int], ...]
    spatial: tuple[tuple[str, int, str], ...]
    keep: frozenset[str]


@dataclass(frozen=True)
class Mapping:
    """A complete loop nest: one `LevelMapping` a storage level, outermost first."""

    levels: tuple[LevelMapping, ...]

    def check_factors(self, problem: Problem) -> None:
        """Raise `MappingError` unless the factors of every dimension multiply to its bound."""
        product = dict.fromkeys(problem.shape.dimensions, 1)
        faults: list[Fault] = []
        for level in self.levels:
            for dimension, bound in [*level.temporal, *((d, b) for d, b, _ in level.spatial)]:
                if dimension not in product:
                    faults.append(
                        Fault("unknown dimension", field=level.level, value=dimension, allowed=", ".join(product))
                    )
                else:
                    product[dimension] *= bound
        for dimension, value in product.items():
            if value != problem.bound[dimension]:
                faults.append(
                    Fault(
                        f"factors of {dimension} multiply to {value}, the layer has {problem.bound[dimension]}",
                        field=dimension,
                    )
                )
        raise_all(faults, MappingError)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the nest as plain data, levels and loops outermost first."""
        return [
            {
                "level": level.level,
                "temporal": [list(loop) for loop in level.temporal],
                "spatial": [list(loop) for loop in level.spatial],
                "keep": sorted(level.keep),
            }
            for level in self.levels
        ]

    def compact(self) -> str:
        """Return the nest on one line, such as ``DRAM P57 Q57 | GLB M4X``; canonical for equal nests."""
        parts = []
        for level in self.levels:
            loops = [f"{d}{b}" for d, b in level.temporal] + [f"{d}{b}{axis}" for d, b, axis in level.spatial]
            parts.append(" ".join([level.level, *loops]))
        return " | ".join(parts)
