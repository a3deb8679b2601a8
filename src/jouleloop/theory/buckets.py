"""A queue of search states in buckets of whole-number estimates: the loop that exact solvers share.

An entry is a state, its cost when it was queued, and the next entry of its bucket. A state whose cost fell since, or
that is closed, is passed over. Buckets only grow.
"""

from typing import Any

from jouleloop.jit import njit


@njit
def put(heads: Any, queue: Any, queued: Any, state: Any, cost: Any, bucket: Any) -> Any:
    """Queue a state; return how many entries there are then, or -1 where there is no room."""
    if queued >= queue.shape[0]:
        return -1
    queue[queued, 0] = state
    queue[queued, 1] = cost
    queue[queued, 2] = heads[bucket]
    heads[bucket] = queued
    return queued + 1


@njit
def take(heads: Any, queue: Any, cost: Any, closed: Any, bucket: Any, limit: Any) -> Any:
    """Close the next state of the least bucket; return it and the bucket, or -1 and ``limit`` + 1 where all is done."""
    while bucket <= limit:
        entry = heads[bucket]
        if entry < 0:
            bucket += 1
            continue
        heads[bucket] = queue[entry, 2]
        state = queue[entry, 0]
        if not closed[state] and queue[entry, 1] == cost[state]:
            closed[state] = True
            return state, bucket
    return -1, bucket
