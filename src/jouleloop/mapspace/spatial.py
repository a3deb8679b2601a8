"""Every way to unroll a layer over the meshes of an architecture, and every admissible arrangement of those loops."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from jouleloop.mapspace.space import FREE, MapSpace, Slot, divisors
from jouleloop.workload.problem import IntArray

#: One arrangement of a level's spatial loops, outermost first: (dimension index, factor, axis index).
Arrangement = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Unrolling:
    """Spatial factors by level (innermost first) and dimension, with every arrangement on the mesh axes.

    Attributes
    ----------
    factors
        Shape (levels, dimensions).
    arrangements
        For each level the admissible arrangements, at least one.
    """

    factors: IntArray
    arrangements: tuple[tuple[Arrangement, ...], ...]


def unrollings(space: MapSpace) -> Iterator[Unrolling]:
    """Yield every choice of spatial factors that the fan-outs and constraints admit, in a canonical order."""
    dims = len(space.problem.bounds)
    levels = len(space.temporal)
    fanout = space.arch.fanout[::-1]
    open_time = [any(slot.fixed[d] == FREE for slot in space.temporal) for d in range(dims)]
    rest = [
        bound // math.prod(slot.fixed[d] for slot in space.temporal if slot.fixed[d] != FREE)
        for d, bound in enumerate(space.problem.bounds)
    ]

    def choose(level: int, left: tuple[int, ...]) -> Iterator[list[tuple[tuple[int, ...], tuple[Arrangement, ...]]]]:
        if level == levels:
            if all(open_time[d] or left[d] == 1 for d in range(dims)):
                yield []
            return
        slot = space.spatial[level]
        if slot is None:
            for more in choose(level + 1, left):
                yield [((1,) * dims, ((),)), *more]
            return
        for factors in _factor_choices(slot, left, math.prod(fanout[level])):
            arrangements = _arrangements(slot, factors, fanout[level])
            if not arrangements:
                continue
            remaining = tuple(a // b for a, b in zip(left, factors, strict=True))
            for more in choose(level + 1, remaining):
                yield [(factors, arrangements), *more]

    for choice in choose(0, tuple(rest)):
        yield Unrolling(np.array([c[0] for c in choice], np.int64), tuple(c[1] for c in choice))


def _factor_choices(slot: Slot, left: tuple[int, ...], most_units: int) -> Iterator[tuple[int, ...]]:
    def pick(d: int, units: int) -> Iterator[tuple[int, ...]]:
        if d == len(left):
            yield ()
            return
        if slot.fixed[d] != FREE:
            options: tuple[int, ...] = (slot.fixed[d],) if left[d] % slot.fixed[d] == 0 else ()
        else:
            options = tuple(f for f in divisors(left[d]) if slot.least[d] <= f <= slot.most[d])
        for factor in options:
            if factor > units:
                break
            for more in pick(d + 1, units // factor):
                yield (factor, *more)

    yield from pick(0, most_units)


def _arrangements(slot: Slot, factors: tuple[int, ...], fanout: tuple[int, int]) -> tuple[Arrangement, ...]:
    """Return the distinct arrangements of these factors; empty where no split fits the mesh."""
    dims = range(len(factors))
    if slot.split is None:
        moving = [d for d in dims if factors[d] > 1]
        splits = range(len(moving) + 1)
    else:
        moving = list(dims)
        splits = range(slot.split, slot.split + 1)
    groups = [
        list(group)
        for _, group in itertools.groupby(sorted(moving, key=lambda d: (slot.rank[d], d)), lambda d: slot.rank[d])
    ]
    found: dict[Arrangement, None] = {}
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        inner_first = [d for order in orders for d in order]
        for split in splits:
            used = [1, 1]
            loops: list[tuple[int, int, int]] = []
            for position, d in enumerate(inner_first):
                axis = 0 if position < split else 1
                used[axis] *= factors[d]
                if factors[d] > 1:
                    loops.append((d, factors[d], axis))
            if used[0] <= fanout[0] and used[1] <= fanout[1]:
                found[tuple(reversed(loops))] = None
    return tuple(found)
