"""Factors that do not divide the layer, as the mapper of Timeloop 4 takes them: rounded up, and cut where they end.

Source: Timeloop 4 (commit 4cf6d4c) ``src/util/numeric.cpp``, ``Factors::Factors``; ``src/mapspaces/uber.cpp``,
``Uber::AssignIndexFactors``.
"""

import math
from collections.abc import Iterator

from jouleloop.division import divisors
from jouleloop.mapspace.space import FREE, MapSpace

#: Ends of the loops of one dimension, slot by slot from inside.
Chain = tuple[int, ...]


def rounded_chains(space: MapSpace) -> tuple[tuple[Chain, ...], ...]:
    """Return by dimension all ends that its loops may have.

    The layer over all fixed factors, rounded up, is split evenly among the free loops. From inside outward every loop
    takes no more than what is left, rounded up. Two splits may come to the same.
    """
    return tuple(tuple(dict.fromkeys(_chains(space, d, bound))) for d, bound in enumerate(space.problem.bounds))


def index_factorizations(space: MapSpace) -> int:
    """Return the number of splits of all dimensions, as Timeloop counts."""
    return math.prod(sum(1 for _ in _chains(space, d, bound)) for d, bound in enumerate(space.problem.bounds))


def imperfect_chains(space: MapSpace, d: int, passes: int, place: int = 0) -> Iterator[Chain]:
    """Yield the ends of all loops of a dimension from ``place`` on, where none need divide the ``passes`` left.

    ``docs/search-residual.md``, "The mapspace", says which these are.
    """
    if place == len(space.slots):
        if passes == 1:
            yield ()
        return
    slot = space.slots[place]
    fixed = slot.fixed[d]
    stands = fixed == 1 or passes > 1
    ends = range(slot.least[d], min(slot.most[d], passes) + 1) if fixed == FREE else (fixed,) * stands
    for end in ends:
        for more in imperfect_chains(space, d, -(-passes // end), place + 1):
            yield (end, *more)


def _chains(space: MapSpace, d: int, bound: int) -> Iterator[Chain]:
    slots = space.slots
    given = math.prod(slot.fixed[d] for slot in slots if slot.fixed[d] != FREE)
    limits = tuple((slot.least[d], slot.most[d]) for slot in slots if slot.fixed[d] == FREE)
    if any(not slot.least[d] <= slot.fixed[d] <= slot.most[d] for slot in slots if slot.fixed[d] != FREE):
        return
    for split in _splits(-(-bound // given), limits):
        free = iter(split)
        left, ends = bound, []
        for slot in slots:
            end = min(left, next(free) if slot.fixed[d] == FREE else slot.fixed[d])
            ends.append(end)
            left = -(-left // end)
        yield tuple(ends)


def _splits(number: int, limits: tuple[tuple[int, int], ...]) -> Iterator[Chain]:
    """Yield all factors within the limits that multiply to a number."""
    if not limits:
        if number == 1:
            yield ()
        return
    least, most = limits[0]
    for factor in divisors(number):
        if least <= factor <= most:
            for more in _splits(number // factor, limits[1:]):
                yield (factor, *more)
