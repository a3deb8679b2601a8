"""Every mapping of Timeloop's mapspace, as the package's own `Mapping`, and the best of them by the symbolic counts.

Slow and plain on purpose. The mapspace is `differential.uber`, the counts are `jouleloop.model.symbolic`; neither
shares code with `jouleloop.mapspace`, `jouleloop.optimum` or the kernels.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from differential.case import Case
from differential.uber import Arrangement, Uber
from jouleloop.arch.architecture import Architecture, StorageLevel
from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.model.symbolic import SymbolicEnergies, symbolic_energies
from jouleloop.workload.problem import Problem

#: Temporal loops of bound above 1, innermost first: (dimension, factor).
Loops = tuple[tuple[int, int], ...]
#: What is kept, by storage level and data space.
Mask = tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class Best:
    """The result of an enumeration.

    Attributes
    ----------
    visited
        Valid mappings as Timeloop counts them: those that differ in loops of bound 1 only are counted apart.
    distinct
        Mappings that were evaluated.
    energy_pj, cycles, edp
        The least of each over all mappings, None where there is no mapping.
    """

    visited: int
    distinct: int
    energy_pj: float | None
    cycles: int | None
    edp: float | None

    def value(self, objective: str) -> float | None:
        """Return the least value of an objective."""
        return {"energy": self.energy_pj, "delay": self.cycles, "edp": self.edp}[objective]


class Enumerator:
    """The mapspace of a case on a hierarchy.

    Parameters
    ----------
    constraints
        Used instead of the constraints of the case.
    """

    def __init__(
        self, case: Case, problem: Problem, arch: Architecture, constraints: dict[str, Any] | None = None
    ) -> None:
        self.problem, self.arch = problem, arch
        self.space = Uber(case, constraints)
        self.levels = arch.levels[::-1]
        #: Valid mappings so far, counted as Timeloop does.
        self.visited = 0

    def mappings(self) -> Iterator[Mapping]:
        """Yield every distinct mapping that fits."""
        for choices, masks in self._factorized():
            for choice in itertools.product(*(dict.fromkeys(found) for found in choices)):
                for mask in masks:
                    yield self._mapping(choice, mask)

    def count(self) -> int:
        """Return the number of valid mappings, as Timeloop counts them."""
        self.visited = 0
        for _ in self._factorized():
            pass
        return self.visited

    def _factorized(self) -> Iterator[tuple[list[list[Any]], list[Mask]]]:
        """Yield for every factorization the loops of each tiling level in every order, and the bypasses that fit."""
        for factors in self.space.factorizations():
            masks = [mask for mask in self.space.masks if self._fits(factors, mask)]
            if not masks:
                continue
            choices: list[list[Any]] = []
            for tiling, row in zip(self.space.tilings, factors, strict=True):
                if tiling.spatial:
                    choices.append(tiling.arrangements(row))
                else:
                    choices.append([tuple((d, row[d]) for d in order if row[d] > 1) for order in tiling.orders(row)])
            self.visited += len(masks) * math.prod(len(found) for found in choices)
            yield choices, masks

    def _fits(self, factors: list[tuple[int, ...]], mask: Mask) -> bool:
        """Whether every tile fits its level, and fills the share of it that is asked for.

        Source: ``src/model/buffer.cpp``, ``PreEvaluationCheck``.
        """
        tile = [1] * len(self.space.bounds)
        for tiling, row in zip(self.space.tilings, factors, strict=True):
            tile = [a * b for a, b in zip(tile, row, strict=True)]
            level = self.levels[tiling.storage]
            if tiling.spatial or level.capacity_words is None:
                continue
            room = math.floor(level.capacity_words / level.multiple_buffering)
            words = sum(self._words(space, tile) for space, kept in enumerate(mask[tiling.storage]) if kept)
            if words > room or words < room * level.min_utilization:
                return False
        return True

    def _words(self, space: int, tile: list[int]) -> int:
        """Return the words of the box that a tile of the operation space touches."""
        dims = {name: index for index, name in enumerate(self.problem.shape.dimensions)}
        total = 1
        for rank in self.problem.data_spaces[space].projection:
            size = 1
            for term in rank:
                step = 1 if term.coefficient is None else self.problem.coefficient[term.coefficient]
                size += (tile[dims[term.dimension]] - 1) * step
            total *= size
        return total

    def _mapping(self, choice: tuple[Any, ...], mask: Mask) -> Mapping:
        names = self.problem.shape.dimensions
        temporal: dict[int, Loops] = {}
        spatial: dict[int, Arrangement] = {}
        for tiling, loops in zip(self.space.tilings, choice, strict=True):
            (spatial if tiling.spatial else temporal)[tiling.storage] = loops
        levels = []
        for storage, level in enumerate(self.levels):
            kept = zip(self.space.spaces, mask[storage], strict=True)
            levels.append(
                LevelMapping(
                    level.name,
                    tuple((names[d], bound) for d, bound in reversed(temporal[storage])),
                    tuple((names[d], bound, axis) for d, bound, axis in reversed(spatial.get(storage, ()))),
                    frozenset(name for name, here in kept if here),
                )
            )
        return Mapping(tuple(reversed(levels)))

    def best(self, costs: EnergyCosts, semantics: str, limit: int | None = None) -> Best | None:
        """Return the least energy, delay and EDP; None where more than ``limit`` mappings would be evaluated."""
        distinct = self.visited = 0
        least: tuple[float, int, float] | None = None
        for mapping in self.mappings():
            distinct += 1
            if limit is not None and distinct > limit:
                return None
            energy, cycles = evaluate(self.problem, self.arch, costs, mapping, semantics)
            new = energy, cycles, energy * cycles
            least = new if least is None else (min(least[0], new[0]), min(least[1], new[1]), min(least[2], new[2]))
        energy_pj, cycles_, edp = (None, None, None) if least is None else least
        return Best(self.visited, distinct, energy_pj, cycles_, edp)


def evaluate(
    problem: Problem, arch: Architecture, costs: EnergyCosts, mapping: Mapping, semantics: str
) -> tuple[float, int]:
    """Return energy [pJ] and cycles of a mapping by the symbolic counts."""
    # No bound is a symbol: the same counts, of which the value alone is asked for.
    counts = symbolic_energies(problem, arch, costs, mapping, semantics, sizes=())
    energy = sum((counts.energy_pj(level, space) for level, space in counts.words), Fraction(0))
    energy += counts.operations.value * Fraction(costs.compute_pj)
    units = math.prod(bound for level in mapping.levels for _, bound, _ in level.spatial)
    steps = int(counts.operations.value) // units
    return float(energy), max(steps, *(_cycles(level, counts, steps) for level in arch.levels))


def _cycles(level: StorageLevel, counts: SymbolicEnergies, steps: int) -> int:
    """Return the cycles of a level that a bandwidth slows down.

    Source: ``src/model/buffer.cpp``, ``ComputePerformance``: every data space is divided by the cycles first.
    """
    words = [value for (name, _), value in counts.words.items() if name == level.name]
    read = sum(float(reads.value) / steps for reads, _, _ in words)
    write = sum(float(fills.value + updates.value) / steps for _, fills, updates in words)
    slowdown = 1.0
    for rate, demand in (
        (level.read_bandwidth_words, read),
        (level.write_bandwidth_words, write),
        (level.shared_bandwidth_words, write + read),
    ):
        if rate is not None and rate < demand:
            slowdown = min(slowdown, rate / demand)
    return math.ceil(steps / slowdown)
