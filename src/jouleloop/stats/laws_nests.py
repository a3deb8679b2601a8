"""Nests like another one whose loops are long: their counts show how each grows, as those of a loop of two do not."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jouleloop.mapping.mapping import Mapping
from jouleloop.workload.problem import Problem

#: Timeloop executes iterations 0, 1, last but one and last, which are neighbours up to 4 iterations.
_LONG = 6

#: The residual end that a loop gets, of the one that it has and its new end.
Choice = Callable[[int, int, int], int]


def long_nests(problem: Problem, mapping: Mapping, sizes: Sequence[str]) -> Iterator[tuple[Problem, Mapping]]:
    """Yield nests of the same loops and order: less and less general, the last is the nest itself.

    First temporal loops over ``sizes`` are long, then as long as they were: windows slide otherwise in a loop of four.
    Either way residual ends have nothing special at first; then loops that run to their ends still do, and those that
    end at once still do; then loops end where they did.
    """
    found = []
    for least, choose in itertools.product((_LONG, 1), (_middle, _alike, _same)):
        nest = _long_nest(problem, mapping, sizes, least, choose)
        if nest not in found:
            found.append(nest)
            yield nest


def _middle(rest: int, end: int, new_end: int) -> int:
    if _LONG - 1 <= rest < end:
        return rest
    return min(_LONG - 1, max(new_end - 1, 1))


def _alike(rest: int, end: int, new_end: int) -> int:
    return rest if rest == 1 else new_end if rest == end else _middle(rest, end, new_end)


def _same(rest: int, end: int, new_end: int) -> int:
    return new_end if rest == end else rest


def _long_nest(
    problem: Problem, mapping: Mapping, sizes: Sequence[str], least: int, choose: Choice
) -> tuple[Problem, Mapping]:
    """Return the nest and the problem that it is one of."""
    bound = dict(problem.bound)
    outermost: dict[str, tuple[int, int]] = {}
    for position, level in enumerate(mapping.levels):
        for place, (dimension, _) in enumerate(level.loops):
            outermost.setdefault(dimension, (position, place))
    last = dict.fromkeys(sizes, 0)
    tile = dict.fromkeys(sizes, 1)
    levels = []
    ends = [[*temporal, *spatial] for temporal, spatial in mapping.residual_ends()]
    for position in range(len(mapping.levels) - 1, -1, -1):
        level = mapping.levels[position]
        loops = list(level.loops)
        for place in range(len(loops) - 1, -1, -1):
            dimension, end = loops[place]
            if dimension not in tile:
                continue
            new_end = max(end, least) if place < len(level.temporal) else end
            whole = outermost[dimension] == (position, place)
            rest = new_end if whole else choose(ends[position][place], end, new_end)
            last[dimension] += (rest - 1) * tile[dimension]
            tile[dimension] *= new_end
            loops[place] = dimension, new_end
        temporal = loops[: len(level.temporal)]
        spatial = [(d, b, axis) for (d, b), (_, _, axis) in zip(loops[len(temporal) :], level.spatial, strict=True)]
        levels.append(replace(level, temporal=tuple(temporal), spatial=tuple(spatial)))
    bound |= {size: last[size] + 1 for size in sizes if tile[size] > 1}
    early = {**dict(mapping.imperfect), **{size: bound[size] for size in sizes if size in bound}}
    early = {d: size for d, size in early.items() if size != tile.get(d)}
    return (
        Problem.build(problem.shape, bound, problem.coefficient),
        Mapping(tuple(levels[::-1]), tuple(sorted(early.items()))),
    )
