"""How often words pass boundaries at least, as far as the loops outside are known; docs/search-residual.md, "Times"."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.optimum.residual.bound import AGAIN, ASKED_PJ, BOX, CHILD, FILLED_PJ, LOST_PJ, ONCE_PJ, OVER, RANK

#: Most dimensions whose loops may let a data space stand that are taken one by one; more are taken at their best.
_MOST_SAVING = 4


@njit
def ahead_pj(
    relevant: Bools, mate: Ints, counts: Ints, crossings: Floats, halos: Floats, pending: Bools, slots: Ints,
    ends: Ints, passes: Ints, inner: Ints, rest: Ints, used: Floats, complete: bool,
) -> float:  # fmt: skip
    """Return by how much [pJ] the boundaries that are not priced yet cost more than once through, at least.

    All of them have the loops of one level next outside. Where it is ``complete``, its ``ends`` are known, and it has
    some.

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
            single = (passes[j] - 1) % ends[j] == 0 or mate.max() >= 0
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
                times, level = 0.0, -2
                sliding = mate[v].max() >= 0
                for i in range(counts[v]):
                    if not pending[v, i]:
                        continue
                    if sliding:
                        total += _window_pj(
                            relevant[v], mate[v], halos[v, i], crossings[v, i], j, saving, free, ends, passes, inner,
                            rest, used, complete,
                        )  # fmt: skip
                        continue
                    if times == 0.0:
                        times = _times(
                            relevant[v], j, saving, free, ends, passes, inner, rest, used[0], False, complete
                        )
                    if times == 1.0:
                        break
                    crossing = crossings[v, i]
                    if crossing[CHILD] != level:
                        level = int(crossing[CHILD])
                        filled = _times(
                            relevant[v], j, saving, free, ends, passes, inner, rest, used[level + 1], True, complete
                        )
                    more_pj = crossing[ASKED_PJ] * times + crossing[FILLED_PJ] * filled
                    total += max(0.0, more_pj - crossing[LOST_PJ] - crossing[ONCE_PJ])
            least = min(least, total)
            if free or saving == 0:
                break
            # The next subset of the others.
            saving = (saving - 1) & others
    return 0.0 if least == np.inf else float(least)


@njit
def _times(
    relevant: Bools, j: int, saving: int, free: bool, ends: Ints, passes: Ints, inner: Ints, rest: Ints, used: Floats,
    fill: bool, complete: bool,
) -> float:  # fmt: skip
    """Return how often a data space passes at least, if ``j`` is the innermost loop outside the boundary.

    ``saving``: the dimensions with a loop between two of ``j``, where what ``j`` moves may stand; ``free``: whether
    they are not held to it. ``fill``: not how often it is asked for, but how often it reaches a unit on average, of
    which the last pass needs the share ``used``.
    """
    dims = relevant.shape[0]
    times = 1.0
    if relevant[j]:
        for d in range(dims):
            if not relevant[d]:
                again = inner[d] - 1.0 + used[d] if fill else float(inner[d])
                if saving >> d & 1:
                    # In the last pass of j all may stand still, which is one box of all it visits.
                    stays = 1.0 / inner[j]
                    again = again * (1.0 - stays) + (used[d] if fill else 1.0) * stays
                times *= again
        return times
    if not free:
        for d in range(dims):
            if saving >> d & 1 and relevant[d]:
                # Between two loops of j it is moved, and so fetched again in every run of the outer of them.
                times = max(times, 1.0 + (used[j] if fill else 1.0) * (1.0 - 1.0 / inner[d]))
    if complete:
        outside = 1.0
        for d in range(dims):
            if not relevant[d]:
                outside *= rest[d] - 1.0 + used[d] if fill else float(rest[d])
        for d in range(dims):
            if relevant[d] and ends[d] > 1:
                stays = 1.0 / inner[d] if (passes[d] - 1) % ends[d] == 0 else 0.0
                times = max(times, 1.0 + (outside - 1.0) * (1.0 - stays))
    return times


@njit
def _window_pj(
    relevant: Bools, mate: Ints, halos: Floats, crossing: Floats, j: int, saving: int, free: bool, ends: Ints,
    passes: Ints, inner: Ints, rest: Ints, used: Floats, complete: bool,
) -> float:  # fmt: skip
    """Return by how much [pJ] a crossing over which windows slide costs more than once through, at least."""
    level = int(crossing[CHILD]) + 1
    asked = _window_times(
        relevant, mate, halos, j, saving, free, ends, passes, inner, rest, used[level], False, complete
    )
    filled = _window_times(
        relevant, mate, halos, j, saving, free, ends, passes, inner, rest, used[level], True, complete
    )
    more_pj = crossing[ASKED_PJ] * asked + crossing[FILLED_PJ] * filled
    return max(0.0, float(more_pj - crossing[LOST_PJ] - crossing[ONCE_PJ]))


@njit
def _window_times(
    relevant: Bools, mate: Ints, halos: Floats, j: int, saving: int, free: bool, ends: Ints, passes: Ints, inner: Ints,
    rest: Ints, used: Floats, fill: bool, complete: bool,
) -> float:  # fmt: skip
    """Return how often the words of a data space with windows pass at least; see `_times`."""
    times = 1.0
    if relevant[j]:
        stays = halos[j, BOX] if mate[j] >= 0 else 1.0 / inner[j]
        for d in range(relevant.shape[0]):
            again, least = 1.0, 1.0
            if not relevant[d]:
                again = inner[d] - 1.0 + used[d] if fill else float(inner[d])
                least = used[d] if fill else 1.0
            elif mate[d] > d and d != j and mate[d] != j:
                again = halos[d, AGAIN]
            between = saving >> d & 1 or (mate[d] >= 0 and saving >> mate[d] & 1)
            times *= again * (1.0 - stays) + least * stays if between else again
        return times * (1.0 - halos[j, OVER]) if mate[j] >= 0 else times
    if not free:
        for d in range(relevant.shape[0]):
            if saving >> d & 1 and relevant[d] and mate[d] < 0:
                times = max(times, 1.0 + (used[j] if fill else 1.0) * (1.0 - 1.0 / inner[d]))
    if complete:
        outside = 1.0
        for d in range(relevant.shape[0]):
            if not relevant[d]:
                outside *= rest[d] - 1.0 + used[d] if fill else float(rest[d])
        for d in range(relevant.shape[0]):
            if relevant[d] and mate[d] < 0 and ends[d] > 1:
                stays = 1.0 / inner[d] if (passes[d] - 1) % ends[d] == 0 else 0.0
                times = max(times, 1.0 + (outside - 1.0) * (1.0 - stays))
    return times
