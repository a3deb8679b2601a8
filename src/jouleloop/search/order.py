"""Orders of a level's loops, and the stack of children that wait in the descent, sorted by their bound."""

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints
from jouleloop.search.arrays import RANK

#: Places of a waiting child: tile and loop order (four bits a dimension, innermost lowest); bound and certain energy.
CHILD_POINT, CHILD_ORDER = range(2)
CHILD_BOUND, CHILD_CERTAIN = range(2)


@njit
def order_after(order: Ints, start: int, stop: int) -> bool:
    """Advance ``order[start:stop]`` to its next permutation; return False after the last."""
    i = stop - 2
    while i >= start and order[i] >= order[i + 1]:
        i -= 1
    if i < start:
        return False
    j = stop - 1
    while order[j] <= order[i]:
        j -= 1
    order[i], order[j] = order[j], order[i]
    a = i + 1
    b = stop - 1
    while a < b:
        order[a], order[b] = order[b], order[a]
        a += 1
        b -= 1
    return True


@njit
def sort_by_rank(slots: Ints, level: int, moving: Ints, n: int) -> None:
    """Sort the first ``n`` dimensions of ``moving`` by their rank in a level, equal ones by number."""
    for a in range(n):
        for b in range(a + 1, n):
            first = slots[level, moving[a], RANK]
            second = slots[level, moving[b], RANK]
            if second < first or (second == first and moving[b] < moving[a]):
                moving[a], moving[b] = moving[b], moving[a]


@njit
def free_group(slots: Ints, level: int, moving: Ints, n: int) -> tuple[int, int]:
    """Return first and last place of the dimensions of equal rank, sorted by it, that may stand in any order.

    Constraints name all other dimensions, so no more than one rank holds several.
    """
    start = 0
    stop = 0
    for a in range(n):
        b = a
        while b < n and slots[level, moving[b], RANK] == slots[level, moving[a], RANK]:
            b += 1
        if b - a > stop - start:
            start = a
            stop = b
    return start, stop


@njit
def sort_by_value(values: Floats, order: Ints, first: int, last: int) -> None:
    """Sort ``order[first:last]`` by the values it points to, equal ones by place (Shell's method; short to compile)."""
    gap = (last - first) // 2
    while gap > 0:
        for i in range(first + gap, last):
            item = order[i]
            j = i
            while j >= first + gap:
                other = order[j - gap]
                if values[other] < values[item] or (values[other] == values[item] and other < item):
                    break
                order[j] = other
                j -= gap
            order[j] = item
        gap //= 2


@njit
def sort_children(child: Ints, value: Floats, first: int, last: int) -> None:
    """Sort waiting children by their bound, equal ones by place."""
    n = last - first
    keys = value[first:last, CHILD_BOUND].copy()
    order = np.arange(n)
    sort_by_value(keys, order, 0, n)
    old_child = child[first:last].copy()
    old_value = value[first:last].copy()
    for k in range(n):
        for place in range(2):
            child[first + k, place] = old_child[order[k], place]
            value[first + k, place] = old_value[order[k], place]


@njit
def grow_ints(array: Ints) -> Ints:
    """Return a copy with twice the rows."""
    larger = np.empty((array.shape[0] * 2, 2), np.int64)
    larger[: array.shape[0]] = array
    return larger


@njit
def grow_floats(array: Floats) -> Floats:
    """Return a copy with twice the rows."""
    larger = np.empty((array.shape[0] * 2, 2))
    larger[: array.shape[0]] = array
    return larger
