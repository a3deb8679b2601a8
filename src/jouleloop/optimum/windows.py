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
    near, plain
        By data space and factors, the ranks along which instances differ, as bits; by pose, too, `boxes` of a step that
        no link serves.
    stands, slides
        By data space, factors, pose and rank, whether loops over it may leave it in place together, and the dimensions
        whose loops may move the tile to one that overlaps, as bits.
    """

    pose: Ints
    boxes: Floats
    instances: Floats
    near: Ints
    plain: Floats
    stands: Bools
    slides: Ints


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
    shared, factors = side["halo"] >= 0, np.concatenate(rows)
    own = [np.unique(np.where(mine, factors, 1), axis=0, return_inverse=True) for mine in shared]
    poses = [np.unique(np.where(mine, extent, 1), axis=0, return_inverse=True) for mine in shared]
    ranks = shared_ranks(side["halo"])
    shape = len(coef), max(len(one) for one, _ in own), max(len(one) for one, _ in poses), max(map(len, ranks))
    boxes, instances = np.ones((2, *shape[:3], 2, shape[3] + 1))
    # Some versions of NumPy return columns.
    pose, number = (np.stack([numbers.ravel() for _, numbers in found]) for found in (poses, own))
    near, plain = np.zeros(shape[:2], np.int64), np.ones(shape[:3])
    stands, slides = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
    for v, (mine, others) in enumerate(zip(own, poses, strict=True)):
        at = np.s_[v, : len(mine[0]), : len(others[0])]
        found = Windows(pose[v], boxes[at], instances[at], near[at[:2]], plain[at], stands[at], slides[at])
        _look(coef[v, ranks[v]], side["halo"][v] == np.array(ranks[v])[:, None], mine[0], others[0], bounds, found)
    windows = Windows(pose, boxes, instances, near, plain, stands, slides)
    return windows, np.split(number.T, np.cumsum([len(row) for row in rows])[:-1])


def _look(coef: Ints, moved: Bools, own: Ints, poses: Ints, bounds: Ints, found: Windows) -> None:
    """Write the tables of a data space, of its ranks that dimensions share alone; ``moved``: by which, by rank."""
    boxes, (left, filled) = np.ones((len(own), len(poses))), np.ones((2, len(own), len(poses), 2))
    along = np.zeros((2, *found.boxes.shape))
    widest, any_stands = np.ones(len(own)), np.zeros(boxes.shape, np.bool_)
    for a, (row, mine) in enumerate(zip(coef, moved, strict=True)):
        f, n = np.unique(own[:, mine], axis=0, return_inverse=True)
        e, m = np.unique(poses[:, mine], axis=0, return_inverse=True)
        shape, at = (len(f), len(e)), (n.ravel()[:, None], m.ravel()[None, :])
        none, (left_along, filled_along) = np.zeros(shape, np.int64), np.ones((2, *shape, 2))
        rank = _Rank(np.ones(shape), none.astype(np.bool_), none, left_along, filled_along)
        _look_along(row[mine], np.flatnonzero(mine), e, f, bounds[mine], rank)
        # One rank moves at least; what it leaves is left of all ranks.
        most, stands = own[:, mine].max(axis=1), rank.stands[at]
        widest = np.maximum(widest, most)
        boxes *= rank.boxes[at] / most[:, None]
        found.near[:] += (most > 1) << a
        found.stands[..., a], found.slides[..., a] = stands, rank.slides[at]
        along[..., a] = rank.left[at][..., 1:], rank.filled[at][..., 1:]
        # A dimension of one rank may go on and leave it in place while all others fall back.
        for least, some in ((left, rank.left[at]), (filled, rank.filled[at])):
            some[..., 0] = np.where(any_stands, some[..., 1], some[..., 0])
            least[..., 0] = np.where(stands, least[..., 1], least[..., 0])
            np.minimum(least, some, out=least)
        any_stands |= stands
    found.plain[:] = boxes * widest[:, None]
    found.boxes[:] = found.plain[..., None, None] * np.maximum(left[..., None], along[0])
    found.instances[:] = np.maximum(filled[..., None], along[1])


def shared_ranks(halo: Ints) -> list[list[int]]:
    """Return by data space the ranks that dimensions share; ``halo`` of its dimensions, see `SIDE`."""
    return [np.unique(own[own >= 0]).tolist() for own in halo]


@record
class _Rank(NamedTuple):
    """What moves along a rank leave, by factors and extents.

    Attributes
    ----------
    boxes, stands, slides
        How many boxes there are; whether the rank may stay in place while a loop over it goes on; the dimensions whose
        loops may move a tile to one that overlaps, as bits.
    left, filled
        Shares of boxes and instances with none a move away, at least, as a loop over the rank goes on and as any does.
    """

    boxes: Floats
    stands: Bools
    slides: Ints
    left: Floats
    filled: Floats


@njit
def _look_along(coef: Ints, dims: Ints, extents: Ints, factors: Ints, bounds: Ints, found: _Rank) -> None:
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
            length = 1 + (coef * (extents[m] - 1)).sum()
            for d in range(coef.shape[0]):
                found.slides[n, m] += (1 << dims[d]) * int(step[d] < length)
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
