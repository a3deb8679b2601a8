"""What a step leaves to ask for where instances lie along a window: of all boxes, and of all instances.

`docs/search.md` states the lemma: *groups of unrollings*, moves of windows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Ints, Records
from jouleloop.optimum.words import instances_at, served_at


@record
class Windows(NamedTuple):
    """Shares that no link takes off, of the data spaces that share a rank.

    Attributes
    ----------
    pose
        By data space and tile the number of its extents along shared dimensions.
    boxes, instances
        By data space, factors, pose, whether loops may fall back while a dimension goes on that leaves the data
        space in place, and a rank that each step moves (see `Lattice.ranks`; last, any may): the boxes that a step asks
        for, over the widest of them that `Boundaries` takes off; and the share of instances that are filled by no link.
        At least, of steps that fetch.
    """

    pose: Ints
    boxes: Floats
    instances: Floats


def windows_of(
    coef: Ints, side: Records, extent: Ints, bounds: Ints, rows: Sequence[Ints]
) -> tuple[Windows, list[Ints]]:
    """Return what links leave, for all tiles and all factors of some levels; by level and factors their numbers.

    Parameters
    ----------
    coef
        Projection, shape (data spaces, ranks, dimensions); ``side`` as `find_sides` returns it.
    extent
        Indices of every tile, unrolled ones included, shape (tiles, dimensions).
    rows
        By level the factors that an unrolling may have there.
    """
    spaces = len(coef)
    pose = np.zeros((spaces, len(extent)), np.int64)
    factors = np.concatenate(rows)
    number = np.zeros((len(factors), spaces), np.int64)
    tables: list[tuple[Floats, Floats]] = []
    ranks = shared_ranks(side["halo"])
    several = max(map(len, ranks)) + 1
    for v in range(spaces):
        shared = side["halo"][v] >= 0
        own, numbers = np.unique(np.where(shared, factors, 1), axis=0, return_inverse=True)
        poses, places = np.unique(np.where(shared, extent, 1), axis=0, return_inverse=True)
        # Some versions of NumPy return columns.
        number[:, v], pose[v] = numbers.ravel(), places.ravel()
        boxes, (left, filled) = np.ones((len(own), len(poses))), np.ones((2, len(own), len(poses), 2))
        along = np.ones((2, len(own), len(poses), several))
        widest, any_stands = np.ones(len(own)), np.zeros(boxes.shape, np.bool_)
        for a, r in enumerate(ranks[v]):
            mine, row = side["halo"][v] == r, coef[v, r]
            f, n = np.unique(own[:, mine], axis=0, return_inverse=True)
            e, m = np.unique(poses[:, mine], axis=0, return_inverse=True)
            shape, at = (len(f), len(e)), (n.ravel()[:, None], m.ravel()[None, :])
            rank = _Rank(np.ones(shape), np.zeros(shape, np.bool_), np.ones((*shape, 2)), np.ones((*shape, 2)))
            _look_along(row[mine], e, f, bounds[mine], rank)
            # One rank moves at least; what it leaves is left of all ranks.
            most, stands = own[:, mine].max(axis=1), rank.stands[at]
            widest = np.maximum(widest, most)
            boxes *= rank.boxes[at] / most[:, None]
            along[..., a] = rank.left[at][..., 1], rank.filled[at][..., 1]
            # A dimension of one rank may go on and leave it in place while all others fall back.
            for least, some in ((left, rank.left[at]), (filled, rank.filled[at])):
                some[..., 0] = np.where(any_stands, some[..., 1], some[..., 0])
                least[..., 0] = np.where(stands, least[..., 1], least[..., 0])
                np.minimum(least, some, out=least)
            any_stands |= stands
        along[..., len(ranks[v]) :] = 0.0
        least, filled = (
            np.maximum(any_[..., None], one[:, :, None]) for any_, one in zip((left, filled), along, strict=True)
        )
        tables.append(((boxes * widest[:, None])[..., None, None] * least, filled))
    size = tuple(max(one[0].shape[k] for one in tables) for k in (0, 1))
    all_boxes, all_filled = np.ones((2, spaces, *size, 2, several))
    for v, (boxes, filled) in enumerate(tables):
        all_boxes[v, : boxes.shape[0], : boxes.shape[1]] = boxes
        all_filled[v, : filled.shape[0], : filled.shape[1]] = filled
    return Windows(pose, all_boxes, all_filled), np.split(number, np.cumsum([len(row) for row in rows])[:-1])


def shared_ranks(halo: Ints) -> list[list[int]]:
    """Return by data space the ranks that dimensions share; ``halo`` of its dimensions, see `SIDE`."""
    return [np.unique(own[own >= 0]).tolist() for own in halo]


@record
class _Rank(NamedTuple):
    """What moves along a rank leave, by factors and extents.

    Attributes
    ----------
    boxes, stands
        How many boxes there are; whether the rank may stay in place while a loop over it goes on.
    left, filled
        Shares of boxes and instances with none a move away, at least, as a loop over the rank goes on and as any does.
    """

    boxes: Floats
    stands: Bools
    left: Floats
    filled: Floats


@njit
def _look_along(coef: Ints, extents: Ints, factors: Ints, bounds: Ints, found: _Rank) -> None:
    """Write what moves along a rank leave; its dimensions alone are given. What does not fit stays as it is."""
    reach = 0
    for d in range(coef.shape[0]):
        reach += coef[d] * (bounds[d] - 1)
    for n in range(factors.shape[0]):
        for m in range(extents.shape[0]):
            fits = True
            for d in range(coef.shape[0]):
                fits = fits and bounds[d] % (extents[m, d] * factors[n, d]) == 0
            if not fits:
                continue
            held = instances_at(coef * extents[m], factors[n])
            step, times = coef * extents[m] * factors[n], bounds // (extents[m] * factors[n])
            onward, back = _moves(step, times, reach)
            found.boxes[n, m], found.stands[n, m] = (held > 0).sum(), onward[reach]
            found.left[n, m, 0], found.filled[n, m, 0] = _left(held, onward)
            found.left[n, m, 1], found.filled[n, m, 1] = _left(held, onward | back)


@njit
def _moves(step: Ints, times: Ints, reach: int) -> tuple[Bools, Bools]:
    """Return how far a step may move a rank, from -reach on: as a loop over the rank goes on, or as all fall back."""
    back = np.zeros(2 * reach + 1, np.bool_)
    back[reach] = True
    onward = np.zeros(2 * reach + 1, np.bool_)
    for d in range(step.shape[0]):
        on, off = _digits(times[d])
        before, ahead = back.copy(), onward.copy()
        back[:] = False
        onward[:] = False
        for at in range(2 * reach + 1):
            if not (before[at] or ahead[at]):
                continue
            for n in range(times[d]):
                if off[n] and at - n * step[d] >= 0:
                    back[at - n * step[d]] |= before[at]
                    onward[at - n * step[d]] |= ahead[at]
                if on[n] and at + n * step[d] <= 2 * reach:
                    onward[at + n * step[d]] |= before[at]
    return onward, back


@njit
def _digits(times: int) -> tuple[Bools, Bools]:
    """Return how far a dimension may go on in a step, or fall back; its loops and unrolled factors cover so many."""
    on, off = np.zeros(times, np.bool_), np.zeros(times, np.bool_)
    # By what is covered inside, how far the loops there fall back.
    inside = np.zeros((times + 1, times), np.bool_)
    inside[1, 0] = True
    for span in range(1, times + 1):
        if times % span != 0:
            continue
        for back in range(times):
            if not inside[span, back]:
                continue
            off[back] = True
            if span < times:
                on[span - back] = True
            for more in range(2, times // span + 1):
                if (times // span) % more == 0:
                    # Unrolled, or a loop, of which iterations 0 and 1 stand for all.
                    inside[span * more, back] = True
                    inside[span * more, back + span] = True
    return on, off


@njit
def _left(held: Ints, moves: Bools) -> tuple[float, float]:
    """Return the shares of boxes and instances with none a move away, at least, the move not being 0."""
    reach, farthest = moves.shape[0] // 2, held.shape[0] - 1
    boxes, instances = (held > 0).sum(), held.sum()
    most_boxes = most_instances = 0
    for move in range(1, farthest + 1):
        if not (moves[reach + move] or moves[reach - move]):
            continue
        # As many lie at the other end of a move back, places being alike from both ends.
        served = served_at(held, move)
        most_boxes, most_instances = max(most_boxes, (served > 0).sum()), max(most_instances, served.sum())
    return 1.0 - most_boxes / boxes, 1.0 - most_instances / instances
