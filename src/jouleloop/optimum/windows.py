"""What a step leaves to ask for where instances lie along a window: of all boxes, and of all instances.

`docs/search.md` states the lemma: *groups of unrollings*, windows.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit, record
from jouleloop.model.arrays import Bools, Floats, Ints, Records


@record
class Windows(NamedTuple):
    """Shares that no link takes off, of the data spaces that share a rank.

    Attributes
    ----------
    pose
        By data space and tile the number of its extents along shared dimensions.
    boxes, instances
        By data space, factors, pose and whether loops may fall back while a dimension goes on that leaves the data
        space in place: the boxes that a step asks for, over the widest of them that `Boundaries` takes off; and the
        share of instances that are filled by no link. At least, of steps that fetch.
    """

    pose: Ints
    boxes: Floats
    instances: Floats


def windows_of(
    coef: Ints, side: Records, extent: Ints, bounds: Ints, rows: Iterable[Ints]
) -> tuple[Windows, list[Ints]]:
    """Return what links leave, for all tiles and all factors of some levels.

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
    number: list[dict[tuple[int, ...], int]] = []
    tables: list[tuple[Floats, Floats]] = []
    rows = list(rows)
    factors = np.unique(np.concatenate(rows), axis=0)
    for v in range(spaces):
        shared = side["halo"][v] >= 0
        own = np.unique(np.where(shared, factors, 1), axis=0)
        number.append({tuple(one): n for n, one in enumerate(own.tolist())})
        poses, pose[v] = np.unique(np.where(shared, extent, 1), axis=0, return_inverse=True)
        boxes, (left, filled) = np.ones((len(own), len(poses))), np.ones((2, len(own), len(poses), 2))
        widest, stands = np.ones(len(own)), np.zeros(boxes.shape, np.bool_)
        for r, row in enumerate(coef[v]):
            mine = side["halo"][v] == r
            if not mine.any():
                continue
            f, n = np.unique(own[:, mine], axis=0, return_inverse=True)
            e, m = np.unique(poses[:, mine], axis=0, return_inverse=True)
            table = _of_rank(np.abs(row[mine]), e, f, bounds[mine])[:, n.ravel()[:, None], m.ravel()[None, :]]
            # One rank moves at least; what it leaves is left of all ranks.
            most = own[:, mine].max(axis=1)
            widest = np.maximum(widest, most)
            boxes *= table[0] / most[:, None]
            own_left, own_filled = np.moveaxis(table[1:3], 0, -1), np.moveaxis(table[3:5], 0, -1)
            # A dimension of one rank may go on and leave it in place while all others fall back.
            for least, some in ((left, own_left), (filled, own_filled)):
                some[..., 0] = np.where(stands, some[..., 1], some[..., 0])
                least[..., 0] = np.where(table[5] > 0, least[..., 1], least[..., 0])
                np.minimum(least, some, out=least)
            stands |= table[5] > 0
        tables.append(((boxes * widest[:, None])[..., None] * left, filled))
    size = tuple(max(one[0].shape[k] for one in tables) for k in (0, 1))
    all_boxes, all_filled = np.ones((2, spaces, *size, 2))
    for v, (boxes, filled) in enumerate(tables):
        all_boxes[v, : boxes.shape[0], : boxes.shape[1]] = boxes
        all_filled[v, : filled.shape[0], : filled.shape[1]] = filled
    return Windows(pose, all_boxes, all_filled), [_numbers(side, row, number) for row in rows]


def _numbers(side: Records, row: Ints, number: Sequence[dict[tuple[int, ...], int]]) -> Ints:
    """Return by factors of a level and data space the number of those along shared dimensions."""
    return np.array(
        [
            [own[tuple(one)] for own, one in zip(number, np.where(side["halo"] >= 0, factors, 1).tolist(), strict=True)]
            for factors in row
        ],
        np.int64,
    ).reshape(len(row), len(number))


@njit
def _of_rank(coef: Ints, extents: Ints, factors: Ints, bounds: Ints) -> Floats:
    """Return by factors and extents how many boxes lie along a rank, and what a move of it leaves of them, at least.

    Shares of boxes: as a loop over the rank goes on, and as any does; the same of instances; and whether the rank may
    stay in place while a loop over it goes on.
    """
    found = np.ones((6, factors.shape[0], extents.shape[0]))
    found[5] = 0.0
    reach = 0
    for d in range(coef.shape[0]):
        reach += coef[d] * (bounds[d] - 1)
    held = np.zeros(reach + 1, np.int64)
    for n in range(factors.shape[0]):
        for m in range(extents.shape[0]):
            fits = True
            for d in range(coef.shape[0]):
                fits = fits and bounds[d] % (extents[m, d] * factors[n, d]) == 0
            if not fits:
                continue
            held[:] = 0
            held[0] = 1
            _lay_out(coef * extents[m], factors[n], held)
            step, times = coef * extents[m] * factors[n], bounds // (extents[m] * factors[n])
            found[0, n, m] = (held > 0).sum()
            onward, back = _moves(step, times, reach)
            found[1, n, m], found[3, n, m] = _left(held, onward)
            found[2, n, m], found[4, n, m] = _left(held, onward | back)
            found[5, n, m] = onward[reach]
    return found


@njit
def _lay_out(step: Ints, factors: Ints, held: Ints) -> None:
    """Add to the instances at 0 those that are so many steps further, dimension by dimension."""
    for d in range(step.shape[0]):
        for i in range(held.shape[0] - 1, -1, -1):
            for n in range(1, min(factors[d], i // step[d] + 1)):
                held[i] += held[i - n * step[d]]


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
                    inside[span * more, back] = True
                    inside[span * more, back + (more - 1) * span] = True
    return on, off


@njit
def _left(held: Ints, moves: Bools) -> tuple[float, float]:
    """Return the shares of boxes and instances with none a move away, at least, the move not being 0."""
    reach = held.shape[0] - 1
    boxes = instances = farthest = 0
    for i in range(reach + 1):
        if held[i] > 0:
            boxes, farthest = boxes + 1, i
        instances += held[i]
    most_boxes = most_instances = 0
    for move in range(1, farthest + 1):
        if not (moves[reach + move] or moves[reach - move]):
            continue
        served = ahead = behind = 0
        for i in range(farthest + 1 - move):
            if held[i] > 0 and held[i + move] > 0:
                served += 1
                ahead += held[i + move]
                behind += held[i]
        most_boxes = max(most_boxes, served)
        most_instances = max(most_instances, ahead, behind)
    return 1.0 - most_boxes / boxes, 1.0 - most_instances / instances
