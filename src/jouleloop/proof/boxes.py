"""Boxes of indices by rank: where instances on a mesh hold theirs, and what two boxes have in common."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

Offset = tuple[int, ...]
#: By rank the first index, and the one after the last.
Box = tuple[tuple[int, int], ...]
Boxes = tuple[Box, ...]


def shifted(box: Box, by: Offset) -> Box:
    """Return a box elsewhere."""
    return tuple((low + n, high + n) for (low, high), n in zip(box, by, strict=True))


@cache
def offsets_of(loops: tuple[tuple[int, Offset], ...], ranks: int) -> tuple[Offset, ...]:
    """Return the index offset of every instance that some loops unroll, outermost first: each its end and its step."""
    return tuple(
        tuple(sum(i * step[r] for i, (_, step) in zip(place, loops, strict=True)) for r in range(ranks))
        for place in itertools.product(*(range(end) for end, _ in loops))
    )


@cache
def shares(offsets: tuple[Offset, ...], without: frozenset[int]) -> list[tuple[int, int]]:
    """Return how many instances, but some, hold one box, and of how many boxes that is so."""
    boxes = Counter(offset for place, offset in enumerate(offsets) if place not in without)
    return list(Counter(boxes.values()).items())


def beside(place: int, columns: int, rows: int) -> list[int]:
    """Return the places next to one on a mesh."""
    row, column = divmod(place, columns)
    sides = ((row >= 1, -columns), (row + 1 < rows, columns), (column >= 1, -1), (column + 1 < columns, 1))
    return [place + step for there, step in sides if there and row < rows]


@cache
def handed_on(
    offsets: tuple[Offset, ...], before: tuple[Offset, ...], need: Offset, mesh: tuple[int, int]
) -> frozenset[int]:
    """Return the instances at ``offsets`` whose words a mesh neighbour held, when all were at ``before``."""
    found = set()
    for place, offset in enumerate(offsets):
        wanted = tuple(o + n for o, n in zip(offset, need, strict=True))
        if any(other < len(before) and before[other] == wanted for other in beside(place, *mesh)):
            found.add(place)
    return frozenset(found)


def values(rank: Mapping[int, int], seen: Sequence[int], bounds: Sequence[int]) -> int:
    """Distinct values of a rank of so many indices by dimension, of all ``bounds``, at least (*every word once*)."""
    open_dims = [d for d in rank if bounds[d] > 1]
    if len(open_dims) < 2:
        return math.prod([seen[d] for d in open_dims])
    step = math.gcd(*(rank[d] for d in open_dims))
    run = max((seen[d] for d in open_dims if rank[d] == step and seen[d] == bounds[d]), default=1)
    gained = ((seen[d] - 1) * (min(rank[d] // step, run) - 1) for d in open_dims)
    return 1 + sum(seen[d] - 1 for d in open_dims) + max(gained, default=0)


def less(box: Box, other: Box) -> Boxes:
    """Return ``box`` less ``other`` as slices (``AAHR::MultiSubtract``)."""
    if any(b <= c or d <= a for (a, b), (c, d) in zip(box, other, strict=True)):
        return (box,)
    middle, parts = list(box), []
    for r, (low, high) in enumerate(other):
        a, b = middle[r]
        if a < low:
            parts.append((*middle[:r], (a, low), *middle[r + 1 :]))
        if high < b:
            parts.append((*middle[:r], (high, b), *middle[r + 1 :]))
        middle[r] = max(a, low), min(b, high)
    return tuple(parts)


def same_but_moved(parts: Boxes, before: Boxes) -> Offset | None:
    """Return by how much ``parts`` are ``before`` moved, if they are (``MultiAAHR::operator ==``)."""
    if len(parts) != len(before) or not parts:
        return None
    need = tuple(min(one[r][0] for one in parts) - min(one[r][0] for one in before) for r in range(len(parts[0])))
    return need if set(parts) <= {shifted(one, need) for one in before} else None
