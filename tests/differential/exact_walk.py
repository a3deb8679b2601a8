"""Exact counts by execution: every step of every instance, with sets of words, for small problems only."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from jouleloop.arch.architecture import Architecture
from jouleloop.mapping.mapping import Mapping
from jouleloop.workload.problem import DataSpace, Problem

Index = dict[str, int]
Words = frozenset[tuple[int, ...]]


def walk(problem: Problem, arch: Architecture, mapping: Mapping) -> dict[str, Any]:
    """Return steps, operations, and by (level, data space) what is read for inside, received and ever seen."""
    nest = _nest(mapping)
    levels = list(arch.level_names)
    found: dict[str, Any] = {"steps": 0, "operations": 0}
    for working in _time(nest, problem, len(nest)):
        found["steps"] += 1
        found["operations"] += len(working)
    for space in problem.data_spaces:
        kept = [p for p, level in enumerate(mapping.levels) if space.name in level.keep]
        for outer, inner in zip(kept, [*kept[1:], None], strict=True):
            read, received = _pair(problem, space, nest, outer, inner)
            found.setdefault((levels[outer], space.name), [0, 0, 0])[0] = read
            found[levels[outer], space.name][2] = _ever_seen(problem, space, nest, outer)
            if inner is not None:
                found[levels[inner], space.name] = [0, received, 0]
    return found


#: A loop: level, dimension, end, indices that one iteration spans, whether it is unrolled.
Loop = tuple[int, str, int, int, bool]


def _nest(mapping: Mapping) -> list[Loop]:
    """Return all loops, outermost first."""
    found: list[Loop] = []
    span: dict[str, int] = {}
    for position in reversed(range(len(mapping.levels))):
        level = mapping.levels[position]
        loops = [(d, end, False) for d, end in level.temporal] + [(d, end, True) for d, end, _ in level.spatial]
        for d, end, unrolled in reversed(loops):
            found.append((position, d, end, span.get(d, 1), unrolled))
            span[d] = span.get(d, 1) * end
    return found[::-1]


def _time(nest: list[Loop], problem: Problem, count: int) -> Iterator[dict[tuple[int, ...], tuple[Any, Index]]]:
    """Yield for every step of the first ``count`` loops who works: time and tile, by unrolled indices."""
    outside = nest[:count]
    temporal = [k for k, loop in enumerate(outside) if not loop[4]]
    spatial = [k for k, loop in enumerate(outside) if loop[4]]
    for times in product(*(range(outside[k][2]) for k in temporal)):
        working = {}
        for units in product(*(range(outside[k][2]) for k in spatial)):
            at = dict.fromkeys(problem.shape.dimensions, 0)
            for k, index in [*zip(temporal, times, strict=True), *zip(spatial, units, strict=True)]:
                at[outside[k][1]] += index * outside[k][3]
            if all(at[d] < problem.bound[d] for d in at):
                working[units] = (times, at)
        if working:
            yield working


def _box(problem: Problem, space: DataSpace, at: Index, extent: Index) -> tuple[Words, tuple[int, ...]]:
    """Return the words of a tile, and its first."""
    sides, first = [], []
    for rank in space.projection:
        low, length = 0, 1
        for term in rank:
            step = 1 if term.coefficient is None else problem.coefficient[term.coefficient]
            d = term.dimension
            low += step * at[d]
            length += step * (min(extent[d], problem.bound[d] - at[d]) - 1)
        sides.append(range(low, low + length))
        first.append(low)
    return frozenset(product(*sides)), tuple(first)


def _extents(problem: Problem, nest: list[Loop], count: int) -> Index:
    extent = dict.fromkeys(problem.shape.dimensions, 1)
    for _, d, end, _, _ in nest[count:]:
        extent[d] *= end
    return extent


def _ever_seen(problem: Problem, space: DataSpace, nest: list[Loop], level: int) -> int:
    """Return how many words the tiles of a level's instances hold at any time, added up."""
    count = sum(loop[0] < level for loop in nest)
    extent = _extents(problem, nest, count)
    seen: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for working in _time(nest, problem, count):
        for units, (_, at) in working.items():
            seen.setdefault(units, set()).update(_box(problem, space, at, extent)[0])
    return sum(map(len, seen.values()))


def _pair(problem: Problem, space: DataSpace, nest: list[Loop], outer: int, inner: int | None) -> tuple[int, int]:
    """Return words read at level ``outer`` and received inside."""
    count = len(nest) if inner is None else sum(loop[0] < inner for loop in nest)
    extent = _extents(problem, nest, count)
    unrolled = [loop for loop in nest[:count] if loop[4]]
    parents = sum(loop[0] < outer for loop in unrolled)
    read = received = 0
    before: dict[tuple[int, ...], tuple[Any, Words, tuple[int, ...]]] = {}
    # What the loop that stepped last was, and by how much it moved the tile; by instance.
    stepped: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
    for working in _time(nest, problem, count):
        sent: dict[Any, Words] = {}
        for units, (times, at) in sorted(working.items()):
            box, first = _box(problem, space, at, extent)
            new = box
            if units in before:
                times_before, box_before, first_before = before[units]
                loop = next(k for k, (a, b) in enumerate(zip(times, times_before, strict=True)) if a != b)
                move = tuple(a - b for a, b in zip(first, first_before, strict=True))
                inside = units in stepped and stepped[units][0] > loop
                if inner is not None and (not inside or stepped[units][1] == move):
                    new = box - box_before
                stepped[units] = (loop, move)
            before[units] = (times, box, first)
            # The first instance that holds a tile decides what is sent to all that hold it.
            new = sent.setdefault((units[:parents], box), new)
            received += len(new)
        read += sum(map(len, sent.values()))
    return read, received
