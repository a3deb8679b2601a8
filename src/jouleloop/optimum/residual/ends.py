"""Which ends a loop may have, and which of them count; docs/search-residual.md, "Least ends"."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Ints, Record, Records


@njit
def look_outside(slots: Records, factors: Ints, idle: Ints, bounds: Ints) -> tuple[Ints, Ints, Ints]:
    """Return `passes_outside` and `next_factor`: one kernel, not two."""
    least, most = passes_outside(slots, factors, idle, bounds)
    return least, most, next_factor(slots, factors)


@njit
def passes_outside(slots: Records, factors: Ints, idle: Ints, bounds: Ints) -> tuple[Ints, Ints]:
    """Return by level and dimension how often all loops outside that level run at least and at most."""
    levels, dims = factors.shape
    least, most = np.ones((levels, dims), np.int64), np.ones((levels, dims), np.int64)
    for level in range(levels - 2, -1, -1):
        for d in range(dims):
            slot, factor = slots[level + 1, d], factors[level + 1, d]
            high = min(most[level + 1, d] * (slot.fixed or slot.most), bounds[d])
            end = slot.fixed or slot.least
            low = max((least[level + 1, d] - 1) * end + 1, min(end, 2) if slot.fixed else end)
            if idle[level + 1, d] > 0:
                # Some units are never used, so there is one pass.
                low, high = idle[level + 1, d] if low == 1 else factor, factor - 1
            elif factor > 1:
                low, high = max((low - 1) * factor + 1, factor), min(high * factor, bounds[d])
            least[level, d], most[level, d] = low, high
    return least, most


@njit
def next_factor(slots: Records, factors: Ints) -> Ints:
    """Return by level and dimension which unrolled factor stands outside a loop, next to it.

    1 where nothing is unrolled outside, 0 where loops may stand between.
    """
    levels, dims = factors.shape
    found = np.ones((levels, dims), np.int64)
    for d in range(dims):
        for level in range(levels):
            between = False
            for outer in range(level + 1, levels):
                if factors[outer, d] > 1:
                    found[level, d] = 0 if between else factors[outer, d]
                    break
                between = between or slots[outer, d].fixed > 1
                between = between or (slots[outer, d].fixed == 0 and slots[outer, d].most > 1)
    return found


@njit
def list_ends(
    slot: Record, passes: int, most: int, least_outside: int, most_outside: int, factor: int, found: Ints, largest: Ints
) -> int:
    """Write the ends that a loop with so many passes may have, ascending; return their number.

    Ends above the passes change nothing but the cycles. A loop that leaves passes outside needs somebody who makes
    them. All that stands outside depends on the passes left alone; so of all ends that leave as many only the least
    counts, and the one whose last run is a single iteration. Not so where the last pass may be done by one instance of
    those unrolled next to the loop (``factor``, see `next_factor`): there the least end stands for all.

    ``most``: the largest for which there is room; ``least_outside`` and ``most_outside``: see `passes_outside`;
    ``largest``: beside each end the largest that it stands for.
    """
    if slot.fixed > 0:
        left = -(-passes // slot.fixed)
        if (slot.fixed > 1 and passes < 2) or not least_outside <= left <= most_outside:
            return 0
        found[0], largest[0] = slot.fixed, slot.fixed
        return 1
    high = min(slot.most, passes, most)
    end = max(slot.least, -(-passes // most_outside))
    number = 0
    while end <= high:
        left = -(-passes // end)
        if left < least_outside:
            break
        last = min(high, (passes - 1) // (left - 1)) if left > 1 else high
        if factor < 1 or (factor > 1 and (left - 1) % factor == 0):
            found[number], largest[number] = end, last
            number += 1
        else:
            found[number], largest[number] = end, end
            number += 1
            # Of these ends only the last can divide the passes but one.
            if last > end and (passes - 1) % last == 0:
                found[number], largest[number] = last, last
                number += 1
        end = last + 1
    return number


@njit
def ends_once(passes: int, least: int, most: int) -> bool:
    """Whether the last run of a loop may be a single iteration, for one of some ends that leave as many passes."""
    left = -(-passes // least)
    if left < 2 or (passes - 1) % (left - 1) > 0:
        return False
    end = (passes - 1) // (left - 1)
    return bool(least <= end <= most)
