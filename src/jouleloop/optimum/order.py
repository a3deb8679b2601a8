"""Orders of a level's loops, the heaps that children and parts wait in, and what uses up a budget."""

from jouleloop.jit import njit
from jouleloop.model.arrays import Floats, Ints, Records
from jouleloop.optimum.arrays import BY_EVALUATIONS, BY_NODES, RUNNING


@njit
def reverse(order: Ints, start: int, stop: int) -> None:
    """Turn ``order[start:stop]`` around."""
    a = start
    b = stop - 1
    while a < b:
        order[a], order[b] = order[b], order[a]
        a += 1
        b -= 1


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
    reverse(order, i + 1, stop)
    return True


@njit
def sort_by_rank(slots: Records, level: int, moving: Ints, n: int) -> None:
    """Sort the first ``n`` dimensions of ``moving`` by their rank in a level, equal ones by number."""
    for a in range(n):
        for b in range(a + 1, n):
            first = slots[level, moving[a]].rank
            second = slots[level, moving[b]].rank
            if second < first or (second == first and moving[b] < moving[a]):
                moving[a], moving[b] = moving[b], moving[a]


@njit
def free_group(slots: Records, level: int, moving: Ints, n: int) -> tuple[int, int]:
    """Return first and last place of the dimensions of equal rank, sorted by it, that may stand in any order.

    Constraints name all other dimensions, so no more than one rank holds several.
    """
    start = 0
    stop = 0
    for a in range(n):
        b = a
        while b < n and slots[level, moving[b]].rank == slots[level, moving[a]].rank:
            b += 1
        if b - a > stop - start:
            start = a
            stop = b
    return start, stop


@njit
def push(heap: Ints, first: int, size: int, keys: Floats, item: int) -> None:
    """Add an item to the binary heap ``heap[first : first + size]`` of items sorted by key, equal ones by number."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        other = heap[first + above]
        if keys[other] < keys[item] or (keys[other] == keys[item] and other < item):
            break
        heap[first + at] = other
        at = above
    heap[first + at] = item


@njit
def used_up(counters: Records) -> bool:
    """Whether a search has to stop: it did before, or its evaluations or nodes are used up."""
    if counters[0].visited >= counters[0].budget:
        counters[0].stopped = BY_EVALUATIONS
    elif counters[0].nodes >= counters[0].node_limit:
        counters[0].stopped = BY_NODES
    return bool(counters[0].stopped != RUNNING)


@njit
def pop(heap: Ints, first: int, size: int, keys: Floats) -> int:
    """Take the first item off a binary heap of ``size`` items, see `push`."""
    taken = heap[first]
    item = heap[first + size - 1]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size - 1:
            break
        if low + 1 < size - 1:
            a = heap[first + low]
            b = heap[first + low + 1]
            if keys[b] < keys[a] or (keys[b] == keys[a] and b < a):
                low += 1
        other = heap[first + low]
        if keys[item] < keys[other] or (keys[item] == keys[other] and item < other):
            break
        heap[first + at] = other
        at = low
    heap[first + at] = item
    return int(taken)


@njit
def encode_order(moving: Ints, n: int) -> int:
    """One number for an order of loops, innermost first: four bits a dimension, innermost lowest."""
    code = 0
    for a in range(n - 1, -1, -1):
        code = code * 16 + moving[a] + 1
    return code


@njit
def decode_order(code: int, moving: Ints) -> int:
    """Write the order that a number stands for; return how many loops it has."""
    n = 0
    while code > 0:
        moving[n] = code % 16 - 1
        code //= 16
        n += 1
    return n
