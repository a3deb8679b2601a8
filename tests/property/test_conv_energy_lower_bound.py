"""The lower bound for convolutions against the true minimum of tiny layers, by a shortest path over all schedules."""

import heapq
import itertools

import pytest

from jouleloop.theory.convolution.energy import MapSizes, lower_bound_words
from jouleloop.theory.layers import ConvLayer

State = tuple[frozenset, frozenset, frozenset]


def to_go(left: frozenset, state: State) -> int:
    """Words that a schedule still moves at least: all that MACs wait for, but for new outputs; their outputs."""
    held, done, changed = state
    begun = {mac[2] for mac in done}
    reads = sum(word[0] != "y" or word in begun for word in frozenset().union(*left) - held)
    return reads + len({mac[2] for mac in left} | changed)


def minimum_words(shape: ConvLayer, buffer_words: int) -> int:
    """Least words moved by any schedule: A* over (Buffer contents, MACs done, outputs changed since read).

    Accumulators begin at zero without a read (the layer has no bias); everything else enters by a read; a changed
    output leaves by a write; a MAC is done as soon as its three words are in Buffer.
    """
    assert not shape.bias
    macs = frozenset(
        (("x", c, p * shape.stride + r, q * shape.stride + s), ("w", m, c, r, s), ("y", m, p, q))
        for c, m, p, q, r, s in itertools.product(
            range(shape.in_channels),
            range(shape.out_channels),
            range(shape.out_height),
            range(shape.out_width),
            range(shape.filter_height),
            range(shape.filter_width),
        )
    )
    words = sorted({word for mac in macs for word in mac})
    begun: State = (frozenset(), frozenset(), frozenset())
    best, queue, tick = {begun: 0}, [(0, 0, 0, begun)], itertools.count(1)
    while queue:
        _, _, cost, state = heapq.heappop(queue)
        if cost > best[state]:
            continue
        held, done, changed = state
        if done == macs:
            return cost
        for word in words:
            if word in held or not any(word in mac for mac in macs - done):
                continue
            fresh = word[0] == "y" and not any(word in mac for mac in done)
            # Nothing is gained by giving up a word before its room is needed.
            for victim in held if len(held) == buffer_words else (None,):
                now = held - {victim} | {word}
                new = {mac for mac in macs - done if now.issuperset(mac)}
                left = macs - done - new
                dirty = (changed - {victim}) | {mac[2] for mac in new}
                # A word that no MAC is waiting for leaves at once; a changed output has to be written anyway.
                useful = frozenset(word for word in now if any(word in mac for mac in left))
                price = (not fresh) + (victim in changed) + len(dirty - useful)
                following = (useful, done | new, dirty & useful)
                if cost + price < best.get(following, 10**9):
                    best[following] = cost + price
                    # What remains to be read and written at least; of equals the later one is nearer to the end.
                    least = cost + price + to_go(macs - following[1], following)
                    heapq.heappush(queue, (least, -next(tick), cost + price, following))
    raise AssertionError("no schedule")


CASES = [
    # channels, outputs, R, P, S, Q, stride
    (1, 1, 1, 1, 1, 2, 1),
    (2, 1, 1, 1, 1, 1, 1),
    (1, 2, 1, 1, 1, 2, 1),
    (2, 2, 1, 1, 1, 1, 1),
    (2, 3, 1, 1, 1, 1, 1),
    (1, 1, 1, 1, 2, 3, 1),
    (1, 1, 2, 2, 1, 1, 1),
    (1, 1, 1, 1, 2, 2, 2),
    (1, 1, 1, 2, 1, 2, 3),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("buffer_words", [3, 4, 5, 12])
def test_no_schedule_moves_less_than_the_lower_bound(case, buffer_words):
    shape = MapSizes(*case, bias=False).made()
    assert lower_bound_words(shape, buffer_words) <= minimum_words(shape, buffer_words)


def test_two_outputs_that_share_overlapping_windows():
    shape = MapSizes(1, 2, 1, 1, 2, 2, 1, bias=False).made()
    assert lower_bound_words(shape, 3) <= minimum_words(shape, 3)


def test_the_lower_bound_is_attained_where_everything_fits():
    shape = MapSizes(1, 1, 1, 1, 2, 3, 1, bias=False).made()
    assert minimum_words(shape, 12) == lower_bound_words(shape, 12) == 2 + 4 + 3


def test_the_pair_argument_is_active_for_a_small_buffer():
    # Fully connected, 3 x 4: 12 pairs, at most 2 by each arrival, so 6 arrivals, fewer than 3 inputs and 4 outputs;
    # 5 x 5: 25 pairs and 13 arrivals, more than 5 inputs and 5 outputs.
    shape = MapSizes(3, 4, 1, 1, bias=False).made()
    assert lower_bound_words(shape, 3) == 12 + max(6, 3 + 4)
    wide = MapSizes(5, 5, 1, 1, bias=False).made()
    assert lower_bound_words(wide, 3) == 25 + 13 > 25 + 5 + 5
