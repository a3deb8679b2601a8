"""Symmetry: unrollings that differ by the names of dimensions that layer, design and constraints treat alike.

`docs/search.md` states the lemma *symmetry*.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jouleloop.mapspace.space import FactorSlot, MapSpace
from jouleloop.mapspace.spatial import Factors
from jouleloop.model.arrays import Bools, Ints


class Mirror(NamedTuple):
    """An exchange of dimensions that changes no energy and no cycle.

    Attributes
    ----------
    image
        By dimension the one that takes its place; applied twice, it changes nothing.
    turned
        By level, pairs of dimensions of which the images of spatial loops may stand in another order only. Unrollings
        that have such loops have no image. Shape (levels, dimensions, dimensions).
    """

    image: Ints
    turned: Bools


def find_mirrors(space: MapSpace, coef: Ints) -> list[Mirror]:
    """Return the mirrors of a mapspace that exchange one pair of dimensions, or two at once.

    Parameters
    ----------
    coef
        Projection, shape (data spaces, ranks, dimensions).
    """
    bounds = np.array(space.problem.bounds)
    loops = [d for d, bound in enumerate(bounds.tolist()) if bound > 1]
    pairs = [
        (a, b)
        for a, b in itertools.combinations(loops, 2)
        if bounds[a] == bounds[b] and all(_limits(slot, a) == _limits(slot, b) for slot in space.slots)
    ]
    found = []
    for image in _exchanges(pairs, len(bounds)):
        alike = all(sorted(rows.tolist()) == sorted(rows[:, image].tolist()) for rows in coef * (bounds > 1))
        if alike and not any(_turned(slot, image).any() for slot in _ordered(space)):
            none = np.zeros((len(bounds), len(bounds)), np.bool_)
            turned = [none if slot is None else _turned(slot, image) for slot in space.spatial]
            found.append(Mirror(image, np.array(turned)))
    return found


def _limits(slot: FactorSlot, d: int) -> tuple[int, int, int]:
    return slot.fixed[d], slot.most[d], slot.least[d]


def _exchanges(pairs: Sequence[tuple[int, int]], dims: int) -> Iterator[Ints]:
    """Yield every exchange of one pair, then of two."""
    for chosen in itertools.chain(itertools.combinations(pairs, 1), itertools.combinations(pairs, 2)):
        if len(set(itertools.chain(*chosen))) == 2 * len(chosen):
            image = np.arange(dims)
            for a, b in chosen:
                image[[a, b]] = b, a
            yield image


def _ordered(space: MapSpace) -> tuple[FactorSlot, ...]:
    """Return the slots of temporal loops whose order counts: the innermost, without a fan-out below, do not."""
    return space.temporal if space.spatial[0] is not None else space.temporal[1:]


def _turned(slot: FactorSlot, image: Ints) -> Bools:
    """Return which pairs of dimensions a slot orders otherwise than their images, shape (dimensions, dimensions)."""
    rank = np.array(slot.rank)
    order = np.sign(rank[:, None] - rank)
    # Where positions on the axes are given, those of loops of bound 1 count as well.
    looping = np.array([slot.split is not None or slot.may_loop(d) for d in range(len(rank))])
    found: Bools = (order != order[np.ix_(image, image)]) & looping & looping[:, None]
    return found


def firsts(rows: Sequence[Sequence[Factors]], ids: Ints, mirrors: Sequence[Mirror], splits: Sequence[bool]) -> Bools:
    """Return which unrollings have no image that stands before them.

    Parameters
    ----------
    rows, ids
        See `Candidates`; the factors of all dimensions.
    splits
        By level, whether the positions of all loops on the axes are given.
    """
    count = len(ids)
    first = np.arange(count)
    sizes = [max(1, len(own)) for own in rows]
    if not mirrors or count < 2 or math.prod(sizes) > np.iinfo(np.int64).max:
        return np.ones(count, np.bool_)
    weights = np.array([math.prod(sizes[:level]) for level in range(len(sizes))])
    codes = ids @ weights
    order = np.argsort(codes)
    twins = []
    for mirror in mirrors:
        levels = zip(rows, mirror.turned, splits, ids.T, strict=True)
        images = np.stack([_images(own, mirror.image, turned, split)[n] for own, turned, split, n in levels], axis=1)
        wanted = images @ weights
        place = order[np.searchsorted(codes, wanted, sorter=order).clip(max=count - 1)]
        known = (images >= 0).all(axis=1) & (codes[place] == wanted)
        twins.append(np.where(known, place, first))
    before = first + 1
    while (first != before).any():
        before = first
        for twin in twins:
            first = np.minimum(first, first[twin])
    kept: Bools = first == np.arange(count)
    return kept


def _images(rows: Sequence[Factors], image: Ints, turned: Bools, split: bool) -> Ints:
    """Return the number of the image of each row of factors, -1 where there is none."""
    if not rows:
        return np.zeros(0, np.int64)
    number = {factors: n for n, factors in enumerate(rows)}
    factors = np.array(rows, np.int64)
    found = np.array([number.get(tuple(own), -1) for own in factors[:, image].tolist()], np.int64)
    unrolled = (factors > 1) | split
    found[((unrolled @ turned) & unrolled).any(axis=1)] = -1
    return found
