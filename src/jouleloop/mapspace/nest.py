"""Nests in numbers, as searches have them, become mappings in the words of the problem."""

from collections.abc import Iterable, Sequence

import numpy as np

from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import MapSpace

_TIMES, _PLACES = 0, 1


def mapping_of(
    space: MapSpace,
    temporal: Sequence[Iterable[tuple[int, int]]],
    spatial: Sequence[Iterable[tuple[int, int, int]]],
    keep: np.typing.NDArray[np.bool_],
) -> Mapping:
    """Return a mapping.

    Parameters
    ----------
    temporal, spatial
        By level, innermost level first: (dimension, bound) and (dimension, bound, axis) of the loops, outermost first.
    keep
        Shape (levels, data spaces), innermost level first.
    """
    names = space.problem.shape.dimensions
    spaces = [s.name for s in space.problem.data_spaces]
    levels = [
        LevelMapping(
            name,
            tuple((names[d], int(bound)) for d, bound in temporal[k]),
            tuple((names[d], int(bound), "XY"[axis]) for d, bound, axis in spatial[k] if bound > 1),
            frozenset(s for v, s in enumerate(spaces) if keep[k, v]),
            space.reuse[k],
        )
        for k, name in enumerate(reversed(space.arch.level_names))
    ]
    return Mapping(tuple(reversed(levels)))


def mapping_found(
    space: MapSpace,
    dims: np.typing.NDArray[np.int64],
    counts: np.typing.NDArray[np.int64],
    loops: np.typing.NDArray[np.void],
    keep: np.typing.NDArray[np.bool_],
) -> Mapping:
    """Return the mapping of a search's arrays.

    Parameters
    ----------
    dims
        The problem's dimensions that the search numbers.
    counts
        Shape (levels, 2): how many temporal and how many spatial loops there are.
    loops
        Shape (levels, 2, loops), records of dimension (of ``dims``), bound and axis.
    keep
        Shape (levels, data spaces).
    """
    listed = [
        [[(dims[d], *rest) for d, *rest in level[kind, : count[kind]].tolist()] for kind in (_TIMES, _PLACES)]
        for level, count in zip(loops, counts, strict=True)
    ]
    temporal = [[(d, bound) for d, bound, _ in times] for times, _ in listed]
    return mapping_of(space, temporal, [places for _, places in listed], keep)
