"""Mappings drawn at random from a mapspace, as a random search draws them."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from jouleloop.division import divisors
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.nest import mapping_of
from jouleloop.mapspace.space import FREE, MOST_LISTED, MapSpace
from jouleloop.mapspace.spatial import Arrangement, Unrolling, unrollings
from jouleloop.optimum.optimise import Search

Limits = tuple[tuple[int, int, int], ...]


def sample_mappings(space: MapSpace, count: int, *, seed: int = 0) -> list[Mapping]:
    """Return ``count`` mappings of a mapspace, some perhaps twice; whether their tiles fit is not looked at.

    The spatial factors are drawn uniformly from all admissible ones, then the temporal factors of every dimension from
    all that remain, the order of loops from all admissible ones, and what is kept from all choices.

    Raises `InputError` where the mapspace is empty.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    places = list(unrollings(space))
    if not places:
        raise InputError(Fault("no spatial factors satisfy fan-out and constraints", value=space.problem.name))
    return [_draw(space, places[int(generator.integers(len(places)))], generator) for _ in range(count)]


def _draw(space: MapSpace, place: Unrolling, generator: np.random.Generator) -> Mapping:
    names = space.problem.shape.dimensions
    keep = _draw_keep(space, generator)
    times = []
    for d, bound in enumerate(space.problem.bounds):
        rest = bound // int(np.prod([factors[d] for factors in place.factors]))
        options = ordered_factors(rest, tuple((s.fixed[d], s.most[d], s.least[d]) for s in space.temporal))
        if not options:
            raise InputError(Fault("no temporal factors satisfy the constraints", field=names[d], value=rest))
        times.append(options[int(generator.integers(len(options)))])
    ties = [generator.permutation(len(names)) for _ in space.temporal]
    loops = [choices[int(generator.integers(len(choices)))] for choices in place.arrangements]
    return assembled(space, times, loops, keep, ties)


def assembled(
    space: MapSpace,
    times: Sequence[Sequence[int]],
    loops: Sequence[Arrangement],
    keep: np.typing.NDArray[np.bool_],
    ties: Sequence[Sequence[int] | np.typing.NDArray[np.int64]],
) -> Mapping:
    """Return the mapping of these factors, its loops in an order that the constraints allow.

    Parameters
    ----------
    times
        Temporal factors by dimension and level, innermost level first, as everything here.
    loops
        Spatial loops by level, outermost loop first.
    keep
        Shape (levels, data spaces).
    ties
        By level, what orders the loops that the constraints leave in any order: a number for each dimension.
    """
    temporal = []
    for k, (slot, tie) in enumerate(zip(space.temporal, ties, strict=True)):
        moving = [d for d in range(len(times)) if times[d][k] > 1]
        order = sorted(moving, key=lambda d: (slot.rank[d], tie[d]), reverse=True)
        temporal.append([(d, times[d][k]) for d in order])
    return mapping_of(space, temporal, loops, keep)


def _draw_keep(space: MapSpace, generator: np.random.Generator) -> np.typing.NDArray[np.bool_]:
    if space.keep_choices <= MOST_LISTED:
        return space.keeps[int(generator.integers(len(space.keeps)))]
    return np.stack([column[int(generator.integers(len(column)))] for column in space.columns], axis=1)


@lru_cache(maxsize=65536)
def ordered_factors(bound: int, limits: Limits) -> tuple[tuple[int, ...], ...]:
    """Return every way to write ``bound`` as a product over slots, each with its fixed factor, most and least."""
    if not limits:
        return ((),) if bound == 1 else ()
    fixed, most, least = limits[0]
    options = (fixed,) if fixed != FREE else tuple(f for f in divisors(bound) if least <= f <= most)
    return tuple((f, *more) for f in options if bound % f == 0 for more in ordered_factors(bound // f, limits[1:]))


def unrolled(search: Search, mapping: Mapping) -> np.ndarray:
    """Return the spatial factors of a mapping, shape (levels, dimensions)."""
    names = search.problem.shape.dimensions
    factors = np.ones((search.levels, len(names)), np.int64)
    for k, level in enumerate(reversed(mapping.levels)):
        for d, bound, _ in level.spatial:
            factors[k, names.index(d)] *= bound
    return factors[:, search.dims]
