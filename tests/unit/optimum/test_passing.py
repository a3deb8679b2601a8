"""Classes of equal boxes beside all instances one by one, and what links leave of them."""

import itertools
import random
from collections import Counter

import pytest

from jouleloop.division import divisors
from jouleloop.optimum.passing import Moved, Rank, classes_of, share_passed


def offsets(a: int, m: int, b: int, n: int) -> dict[tuple[int, int], int]:
    """Return where the box of each instance begins."""
    return {(i, j): a * i + b * j for i in range(m) for j in range(n)}


def test_classes_are_those_of_all_instances() -> None:
    rng = random.Random(5)
    narrow = 0
    for _ in range(300):
        one, other = (Moved(rng.randint(1, 4), rng.randint(2, 6), rng.choice((1, 2, 6, 8))) for _ in range(2))
        found = classes_of((one, other))
        sizes = {
            tile: Counter(offsets(one.coef * tile[0], one.factor, other.coef * tile[1], other.factor).values())
            for tile in itertools.product(divisors(one.rest), divisors(other.rest))
        }
        assert found.largest == max(max(own.values()) for own in sizes.values())
        for tile, own in sizes.items():
            share = one.factor * other.factor / (len(own) * max(own.values()))
            assert found.share.get(tile, 1.0) == pytest.approx(share)
            narrow += share < 1.0
    assert narrow > 100


def test_links_along_one_dimension_leave_no_larger_classes() -> None:
    larger = 0
    for a, m, b, n in itertools.product((1, 2, 3), (2, 3, 5), (1, 2, 3), (2, 4)):
        box = offsets(a, m, b, n)
        mean = len(box) / len(set(box.values()))
        for apart in itertools.product(range(m), range(1 - n, n)):
            left = Counter(box[i, j] for i, j in box if (i - apart[0], j - apart[1]) not in box)
            if not left or apart == (0, 0):
                continue
            raised = sum(left.values()) / len(left) > mean * (1 + 1e-12)
            still = a * apart[0] + b * apart[1] == 0
            assert not raised or (all(apart) and not still), (a, m, b, n, apart)
            larger += raised
    # So the lemma needs its share where neighbours differ in both dimensions.
    assert larger > 10


def test_neighbours_on_a_line_differ_in_both_dimensions_where_a_loop_begins_anew() -> None:
    # Taps of one word and pixels two words apart, whose next tile lies four words on.
    taps, pixels = Moved(1, 3, 1), Moved(2, 2, 28)
    window = Rank([0, 1], [0, 1], (taps, pixels))
    other = Rank([2, 3], [2], (Moved(2, 2, 28),))
    assert share_passed([window], (3, 2, 1, 1), line=True) == 1.0
    # The fifth neighbour holds what the first asks for next, only where another loop steps between them.
    assert share_passed([window, other], (3, 2, 2, 1), line=True) == pytest.approx(0.6)
    assert share_passed([window], (3, 2, 1, 1), line=False) == pytest.approx(0.6)
