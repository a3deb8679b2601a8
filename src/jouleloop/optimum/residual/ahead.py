"""How often words pass boundaries at least, as far as the loops outside are known; docs/proof.md, "Times through"."""

from typing import NamedTuple

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints
from jouleloop.optimum.residual.bound import has_mate
from jouleloop.optimum.residual.ends import ends_once
from jouleloop.optimum.residual.state import Design, Unrolled, Walk

#: Most dimensions whose loops may let a data space stand that are taken one by one; more are taken at their best.
_MOST_SAVING = 4


class _Innermost(NamedTuple):
    """The loop that is taken for the innermost of those outside a boundary, and what is known of the others."""

    j: int
    saving: int
    """Dimensions with a loop between two of ``j``, where what ``j`` moves may stand; a bit each."""
    free: bool
    """Whether data spaces are not held to the same dimensions."""
    complete: bool
    """Whether the ends of the level are known."""


class Stepping(NamedTuple):
    """How the loops outside a boundary step, see `again_times`."""

    within: int
    """The dimensions along whose rank the innermost loop slides, which is passed once; a bit each."""
    saving: int
    stays: float
    """The dimensions that stand still in a share of all boxes."""
    rested: bool
    """Whether two loops of a rank may cancel."""


@njit
def ahead_pj(design: Design, unrolled: Unrolled, walk: Walk, level: int, complete: bool) -> float:
    """Return by how much [pJ] the boundaries that are not priced yet cost more than once through, at least.

    All of them, `Walk.pending`, have the loops of one level next outside. Where it is ``complete``, its ends are known,
    and it has some. `Room.inner` says how many passes from the level outward an instance runs at least, `Room.rest` how
    many of those outside the level.
    """
    passes = walk.ends.passes[level]
    least = np.inf
    for j in range(passes.shape[0]):
        comes, single = _comes_innermost(design, walk, level, j, complete)
        if not comes:
            continue
        others, number = 0, 0
        for e in range(passes.shape[0]):
            if single and e != j and passes[e] > 1:
                others |= 1 << e
                number += 1
        free = number > _MOST_SAVING
        saving = others
        while True:
            least = min(least, _pending_pj(design, unrolled, walk, level, _Innermost(j, saving, free, complete)))
            if free or saving == 0:
                break
            # The next subset of the others.
            saving = (saving - 1) & others
    return 0.0 if least == np.inf else float(least)


@njit
def _comes_innermost(design: Design, walk: Walk, level: int, j: int, complete: bool) -> tuple[bool, bool]:
    """Return whether a loop over ``j`` may be the innermost of a level, and whether others may let boxes stand."""
    ends, slots = walk.ends, design.slots[level]
    if not complete:
        return ends.passes[level, j] > 1, True
    inside = ends.least[level, j] == 1
    for e in range(slots.shape[0]):
        inside = inside or (ends.least[level, e] > 1 and slots[e].rank < slots[j].rank)
    once = ends_once(ends.passes[level, j], ends.least[level, j], ends.largest_end[level, j])
    return not inside, has_mate(design.mate) or once


@njit
def _pending_pj(design: Design, unrolled: Unrolled, walk: Walk, level: int, loop: _Innermost) -> float:
    """Return by how much [pJ] all pending boundaries cost more than once through, one loop being the innermost."""
    total = 0.0
    for v in range(design.relevant.shape[0]):
        for i in range(unrolled.counts[v]):
            if walk.pending[level, v, i]:
                crossing = unrolled.crossings[v, i]
                asked, filled = _times(design, unrolled, walk, level, v, i, loop)
                if asked > 1.0:
                    more_pj = crossing.asked_pj * asked + crossing.filled_pj * filled
                    total += max(0.0, more_pj - crossing.lost_pj - crossing.once_pj)
    return total


@njit
def _times(
    design: Design, unrolled: Unrolled, walk: Walk, level: int, v: int, i: int, loop: _Innermost
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and reach a unit on average, at least."""
    relevant, mate, inner, j = design.relevant[v], design.mate[v], walk.room.inner, loop.j
    used = walk.ends.used[unrolled.crossings[v, i].child + 1]
    if relevant[j]:
        # In the last pass of j all may stand still, which is one box of all it visits.
        within, stays, kept = 0, 1.0 / inner[j], 1.0
        if mate[j] >= 0:
            halo = unrolled.halos[v, i, j]
            within, stays, kept = 1 << j | 1 << mate[j], halo.box, 1.0 - halo.over
        asked, filled = again_times(design, unrolled, v, i, inner, used, Stepping(within, loop.saving, stays, False))
        return asked * kept, filled * kept
    asked, filled = 1.0, 1.0
    # What no loop of a complete level moves waits for one outside, where all of it is counted.
    moved = not loop.complete
    for d in range(inner.shape[0]):
        moved = moved or (relevant[d] and walk.ends.least[level, d] > 1)
    if moved and not loop.free:
        for d in range(inner.shape[0]):
            if loop.saving >> d & 1 and relevant[d] and mate[d] < 0:
                # Between two loops of j it is moved, and so fetched again in every run of the outer of them.
                asked = max(asked, 2.0 - 1.0 / inner[d])
                filled = max(filled, 1.0 + used[j] * (1.0 - 1.0 / inner[d]))
    if loop.complete:
        return _complete_times(design, walk, level, v, used, asked, filled)
    return asked, filled


@njit
def _complete_times(
    design: Design, walk: Walk, level: int, v: int, used: Floats, asked: float, filled: float
) -> tuple[float, float]:  # fmt: skip
    """Raise how often words of a data space are asked for and filled to what the ends of a complete level say."""
    relevant, mate, ends, rest, inner = design.relevant[v], design.mate[v], walk.ends, walk.room.rest, walk.room.inner
    outside, reached = 1.0, 1.0
    for d in range(inner.shape[0]):
        if not relevant[d]:
            outside *= rest[d]
            reached *= rest[d] - 1.0 + used[d]
    for d in range(inner.shape[0]):
        if relevant[d] and mate[d] < 0 and ends.least[level, d] > 1:
            once = ends_once(ends.passes[level, d], ends.least[level, d], ends.largest_end[level, d])
            stays = 1.0 / inner[d] if once else 0.0
            asked = max(asked, 1.0 + (outside - 1.0) * (1.0 - stays))
            filled = max(filled, 1.0 + (reached - 1.0) * (1.0 - stays))
    return asked, filled


@njit
def again_times(
    design: Design, unrolled: Unrolled, v: int, i: int, number: Ints, used: Floats, stepping: Stepping
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and reach a unit on average at least, if every loop outside steps.

    Parameters
    ----------
    number
        How often each dimension's loops step.
    used
        By dimension, the share of the units that the last pass needs.
    """
    mate, saving, stays = design.mate[v], stepping.saving, stepping.stays
    asked, filled = 1.0, 1.0
    for d in range(mate.shape[0]):
        ask, fill, low = 1.0, 1.0, 1.0
        if not design.relevant[v, d]:
            ask = float(number[d])
            fill, low = ask - 1.0 + used[d], used[d]
        elif mate[d] > d and not stepping.within >> d & 1:
            halo = unrolled.halos[v, i, d]
            ask = fill = halo.rested if stepping.rested else halo.again
        if saving >> d & 1 or (mate[d] >= 0 and saving >> mate[d] & 1):
            ask = ask * (1.0 - stays) + stays
            fill = fill * (1.0 - stays) + low * stays
        asked *= ask
        filled *= fill
    return asked, filled
