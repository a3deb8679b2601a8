"""The queue of buckets gives states in order of their estimates, the newest first, and none that is stale or closed."""

import numpy as np

from jouleloop.theory.buckets import put, take


def test_states_come_by_estimate_and_stale_entries_are_passed_over():
    heads, queue = np.full(6, -1, np.int64), np.zeros((4, 3), np.int64)
    cost, closed = np.array([1, 2, 3]), np.zeros(3, np.bool_)
    queued = put(heads, queue, 0, 0, 1, 4)
    queued = put(heads, queue, queued, 1, 2, 2)
    queued = put(heads, queue, queued, 2, 9, 3)  # its cost fell from 9 to 3 since
    queued = put(heads, queue, queued, 2, 3, 4)
    assert queued == 4
    assert put(heads, queue, queued, 0, 1, 5) == -1
    found = []
    state, bucket = take(heads, queue, cost, closed, 0, 5)
    while state >= 0:
        found.append((int(state), int(bucket)))
        state, bucket = take(heads, queue, cost, closed, bucket, 5)
    assert found == [(1, 2), (2, 4), (0, 4)]
    assert bucket == 6
    assert closed.all()
