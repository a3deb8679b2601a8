"""How often words pass boundaries at least, as far as the loops outside are known; docs/search-residual.md, "Times"."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.optimum.residual.bound import (
    AGAIN,
    ASKED_PJ,
    BOX,
    CHILD,
    FILLED_PJ,
    LOST_PJ,
    ONCE_PJ,
    OVER,
    RANK,
    has_windows,
)
from jouleloop.optimum.residual.ends import ends_once

#: Most dimensions whose loops may let a data space stand that are taken one by one; more are taken at their best.
_MOST_SAVING = 4


@njit
def ahead_pj(
    relevant: Bools, mate: Ints, counts: Ints, crossings: Floats, halos: Floats, pending: Bools, slots: Ints,
    ends: Ints, most: Ints, passes: Ints, inner: Ints, rest: Ints, used: Floats, complete: bool,
) -> float:  # fmt: skip
    """Return by how much [pJ] the boundaries that are not priced yet cost more than once through, at least.

    All of them have the loops of one level next outside. Where it is ``complete``, its ``ends`` are known, each up to
    the ``most`` that it stands for, and it has some.

    Parameters
    ----------
    relevant
        Whether a dimension moves a data space, shape (data spaces, dimensions).
    counts, crossings, pending
        Crossings of a data space, see `jouleloop.optimum.residual.bound`, and which of them are asked for.
    slots
        Temporal slots of the level, shape (dimensions, SLOT).
    passes
        Iterations of all loops from the level outward.
    inner, rest
        How many of them an instance runs at least, and of those outside the level.
    used
        By level and dimension, the share of its units that the last pass needs.
    """
    dims = inner.shape[0]
    least = np.inf
    for j in range(dims):
        if (ends[j] == 1) if complete else (passes[j] == 1):
            continue
        single, inside = True, False
        if complete:
            single = has_windows(mate) or ends_once(passes[j], ends[j], most[j])
            for e in range(dims):
                inside = inside or (ends[e] > 1 and slots[e, RANK] < slots[j, RANK])
        if inside:
            continue
        others, number = 0, 0
        if single:
            for e in range(dims):
                if e != j and passes[e] > 1:
                    others |= 1 << e
                    number += 1
        free = number > _MOST_SAVING
        saving = others
        while True:
            total = 0.0
            for v in range(relevant.shape[0]):
                for i in range(counts[v]):
                    crossing = crossings[v, i]
                    if not pending[v, i]:
                        continue
                    asked, filled = _times(
                        relevant[v], mate[v], halos[v, i], j, saving, free, ends, most, passes, inner, rest,
                        used[int(crossing[CHILD]) + 1], complete,
                    )  # fmt: skip
                    if asked > 1.0:
                        more_pj = crossing[ASKED_PJ] * asked + crossing[FILLED_PJ] * filled
                        total += max(0.0, more_pj - crossing[LOST_PJ] - crossing[ONCE_PJ])
            least = min(least, total)
            if free or saving == 0:
                break
            # The next subset of the others.
            saving = (saving - 1) & others
    return 0.0 if least == np.inf else float(least)


@njit
def _times(
    relevant: Bools, mate: Ints, halos: Floats, j: int, saving: int, free: bool, ends: Ints, most: Ints, passes: Ints,
    inner: Ints, rest: Ints, used: Floats, complete: bool,
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and reach a unit on average, at least; ``j`` is the innermost loop.

    ``saving``: the dimensions with a loop between two of ``j``, where what ``j`` moves may stand; ``free``: whether
    they are not held to it. ``used``: the share of a unit's neighbours that work in the last pass.
    """
    dims = relevant.shape[0]
    if relevant[j]:
        # In the last pass of j all may stand still, which is one box of all it visits.
        within, stays, kept = 0, 1.0 / inner[j], 1.0
        if mate[j] >= 0:
            within, stays, kept = 1 << j | 1 << mate[j], halos[j, BOX], 1.0 - halos[j, OVER]
        asked, filled = again_times(relevant, mate, halos, AGAIN, within, inner, saving, stays, used)
        return asked * kept, filled * kept
    asked, filled = 1.0, 1.0
    # What no loop of a complete level moves waits for one outside, where all of it is counted.
    moved = not complete
    for d in range(dims):
        moved = moved or (relevant[d] and ends[d] > 1)
    if moved and not free:
        for d in range(dims):
            if saving >> d & 1 and relevant[d] and mate[d] < 0:
                # Between two loops of j it is moved, and so fetched again in every run of the outer of them.
                asked = max(asked, 2.0 - 1.0 / inner[d])
                filled = max(filled, 1.0 + used[j] * (1.0 - 1.0 / inner[d]))
    if complete:
        outside, reached = 1.0, 1.0
        for d in range(dims):
            if not relevant[d]:
                outside *= rest[d]
                reached *= rest[d] - 1.0 + used[d]
        for d in range(dims):
            if relevant[d] and mate[d] < 0 and ends[d] > 1:
                stays = 1.0 / inner[d] if ends_once(passes[d], ends[d], most[d]) else 0.0
                asked = max(asked, 1.0 + (outside - 1.0) * (1.0 - stays))
                filled = max(filled, 1.0 + (reached - 1.0) * (1.0 - stays))
    return asked, filled


@njit
def again_times(
    relevant: Bools, mate: Ints, halos: Floats, again: int, within: int, number: Ints, saving: int, stays: float,
    used: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return how often words are asked for and reach a unit on average at least, if every loop outside steps.

    Parameters
    ----------
    again
        `AGAIN`, or `RESTED` where two loops of a rank may cancel.
    within
        The dimensions along whose rank the innermost loop slides, which is passed once; a bit each.
    number
        How often each dimension's loops step.
    saving, stays
        The dimensions that stand still in a share of all boxes.
    used
        By dimension, the share of the units that the last pass needs.
    """
    asked, filled = 1.0, 1.0
    for d in range(relevant.shape[0]):
        ask, fill, low = 1.0, 1.0, 1.0
        if not relevant[d]:
            ask = float(number[d])
            fill, low = ask - 1.0 + used[d], used[d]
        elif mate[d] > d and not within >> d & 1:
            ask = fill = halos[d, again]
        if saving >> d & 1 or (mate[d] >= 0 and saving >> mate[d] & 1):
            ask = ask * (1.0 - stays) + stays
            fill = fill * (1.0 - stays) + low * stays
        asked *= ask
        filled *= fill
    return asked, filled
