"""A mapping for a search that had to stop, with none or far from its bound: the simplest, made better step by step."""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from jouleloop.division import divisors, primes
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.sample import assembled
from jouleloop.mapspace.space import MapSpace
from jouleloop.mapspace.spatial import arrangements_of, fits_mesh, parallelism
from jouleloop.model.evaluation import Evaluation

#: Most mappings to look at on a way up, a fraction of a millisecond each.
_MOST_TRIED = 1500
#: What a step changes, beside the factors of a dimension.
_KEEP, _ORDER = -1, -2


@dataclass(frozen=True)
class _Point:
    """A mapping in numbers."""

    factors: tuple[tuple[int, ...], ...]
    """By slot (`MapSpace.slots`) and dimension."""
    kept: tuple[int, ...]
    """By data space: which choice of the levels that keep it."""
    inner: tuple[int, ...]
    """By level: which dimension loops innermost, where the constraints leave it open."""


@dataclass(frozen=True)
class Climbed:
    """What was found, and its value."""

    value: float
    mapping: Mapping
    evaluation: Evaluation


def climb(
    space: MapSpace,
    evaluate: Callable[[Mapping], Evaluation],
    value: Callable[[Evaluation], float],
    seconds: float | None = None,
) -> Climbed | None:
    """Return a mapping of the mapspace, no better than the optimum; none where the simplest ones are not allowed.

    All loops are as far outside as the constraints let them be; then prime factors move from slot to slot, and data
    spaces to other levels, while that helps. Equal inputs give equal mappings where the seconds do not end it.

    Parameters
    ----------
    evaluate
        Counts a mapping, or raises `MappingError` where it is none.
    value
        What is to be least.
    seconds
        Time after which it ends with the best so far, though not before the first mapping is counted.
    """
    factors = _outermost(space)
    if factors is None:
        return None
    end = math.inf if seconds is None else time.monotonic() + seconds
    starts = [_Point(factors, kept, (0,) * len(space.temporal)) for kept in _extremes(space)]
    found: list[Climbed] = []
    for start in starts:
        if not found or time.monotonic() < end:
            found += _climbed(space, start, evaluate, value, end)
    return min(found, key=lambda one: one.value, default=None)


def _climbed(
    space: MapSpace,
    point: _Point,
    evaluate: Callable[[Mapping], Evaluation],
    value: Callable[[Evaluation], float],
    end: float,
) -> list[Climbed]:
    """Return the best mapping on the way up from a point; nothing where that point is none."""
    left = iter(range(_MOST_TRIED))

    def look(point: _Point) -> Climbed | None:
        more = next(left, None)
        mapping = _mapping(space, point) if more == 0 or (more and time.monotonic() < end) else None
        if mapping is None:
            return None
        try:
            evaluation = evaluate(mapping)
        except MappingError:
            return None
        return Climbed(value(evaluation), mapping, evaluation)

    best = look(point)
    better = best is not None
    while better:
        better = False
        for step in _steps(space):
            # Again and again the same way, while it helps.
            while (near := _moved(space, point, *step)) and (found := look(near)) and best and found.value < best.value:
                point, best, better = near, found, True
    return [best] if best else []


def _outermost(space: MapSpace) -> tuple[tuple[int, ...], ...] | None:
    """Return the factors that put all loops as far outside as they may be; none where that is not all of a bound."""
    columns = []
    temporal = [time for inside in space.spatial for time in ((True,) if inside is None else (False, True))]
    for d, bound in enumerate(space.problem.bounds):
        column = [slot.least[d] if slot.is_open(d) else slot.fixed[d] for slot in space.slots]
        rest, over = divmod(bound, math.prod(column))
        for n in reversed(range(len(column))):
            if temporal[n] and space.slots[n].is_open(d) and not over:
                most = max(f for f in divisors(rest) if f == 1 or column[n] * f <= space.slots[n].most[d])
                column[n], rest = column[n] * most, rest // most
        if over or rest > 1:
            return None
        columns.append(column)
    return tuple(zip(*columns, strict=True))


def _extremes(space: MapSpace) -> Iterator[tuple[int, ...]]:
    """Yield the choice that keeps most, and the one that keeps least."""
    yield tuple(0 for _ in space.columns)
    yield tuple(len(column) - 1 for column in space.columns)


def _steps(space: MapSpace) -> Iterator[tuple[int, int, int, int]]:
    """Yield all ways to go: what changes (a dimension's factors, what is kept, an order), and how; see `_moved`."""
    slots = range(len(space.slots))
    for d, bound in enumerate(space.problem.bounds):
        for prime in primes(bound):
            for source, target in itertools.permutations(slots, 2):
                if space.slots[source].is_open(d) and space.slots[target].is_open(d):
                    yield d, source, target, prime
    for level, d in itertools.product(range(len(space.temporal)), range(len(space.problem.bounds))):
        yield _ORDER, level, d, 0
    for v, column in enumerate(space.columns):
        for choice in range(len(column)):
            yield _KEEP, v, choice, 0


def _moved(space: MapSpace, point: _Point, what: int, place: int, target: int, prime: int) -> _Point | None:
    """Return the point one step away, none where there is none.

    A prime factor of dimension ``what`` moves from slot ``place`` to slot ``target``; or data space ``place`` is kept
    by choice ``target``; or dimension ``target`` loops innermost at level ``place``.
    """
    if what == _KEEP:
        return replace(point, kept=(*point.kept[:place], target, *point.kept[place + 1 :]))
    if what == _ORDER:
        return replace(point, inner=(*point.inner[:place], target, *point.inner[place + 1 :]))
    factors = [list(row) for row in point.factors]
    rest, over = divmod(factors[place][what], prime)
    factors[target][what] *= prime
    if over or rest < space.slots[place].least[what] or factors[target][what] > space.slots[target].most[what]:
        return None
    factors[place][what] = rest
    return replace(point, factors=tuple(map(tuple, factors)))


def _mapping(space: MapSpace, point: _Point) -> Mapping | None:
    """Return the mapping of a point; none where its spatial factors fit no mesh or use too few units."""
    rows = iter(point.factors)
    fanout = space.arch.fanout[::-1]
    inside, loops, times = [], [], []
    for slot, fan in zip(space.spatial, fanout, strict=True):
        factors = (1,) * len(space.problem.bounds) if slot is None else next(rows)
        if slot is not None and not fits_mesh(slot.rank, slot.split, factors, fan):
            return None
        inside.append(factors)
        loops.append(() if slot is None else arrangements_of(slot.rank, slot.split, factors, fan)[0])
        times.append(next(rows))
    if parallelism(tuple(inside), fanout) < space.min_parallelism:
        return None
    keep = np.stack([column[n] for column, n in zip(space.columns, point.kept, strict=True)], axis=1)
    ties = [[int(d != first) for d in range(len(space.problem.bounds))] for first in point.inner]
    return assembled(space, list(zip(*times, strict=True)), loops, keep, ties)
