"""What a level that keeps nothing passes on: how many instances ask for one box, and what share of all words is left.

`docs/search.md` states the lemma: *groups of unrollings*, words that pass. Requests of all instances are divided by the
mean of the classes of equal boxes. Without links that is instances over boxes. Links may leave more of large classes
only where a step moves boxes to neighbours that differ in both unrolled dimensions of a rank.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from jouleloop.division import divisors

#: Indices of one instance's tile, of both dimensions.
Tile = tuple[int, int]


class Moved(NamedTuple):
    """An unrolled dimension of a rank: its coefficient, its factor, and the indices that are left for tiles."""

    coef: int
    factor: int
    rest: int


class Classes(NamedTuple):
    """Of a rank with two unrolled dimensions or more.

    Attributes
    ----------
    share
        Instances a different box, over those that hold one box, at least; by tile, where it is below 1.
    largest
        Instances that hold one box, at most.
    """

    share: dict[Tile, float]
    largest: int

    @property
    def least(self) -> float:
        """Return the least share of any tile."""
        return min(self.share.values(), default=1.0)


@cache
def classes_of(own: tuple[Moved, ...]) -> Classes:
    """Return the classes of equal boxes along a rank whose unrolled dimensions are ``own``."""
    if len(own) != 2:
        number, widest = math.prod(one.factor for one in own), max(one.factor for one in own)
        return Classes({(0, 0): widest / number}, number // widest)
    (a, m, rest_a), (b, n, rest_b) = own
    share, largest = {}, 1
    for tile in itertools.product(divisors(rest_a), divisors(rest_b)):
        first, second = abs(a) * tile[0], abs(b) * tile[1]
        both = math.gcd(first, second)
        # First and second instances that are so far apart hold one box.
        apart, along = second // both, first // both
        boxes = m * n - max(0, m - apart) * max(0, n - along)
        most = min(-(-m // apart), -(-n // along))
        largest = max(largest, most)
        if m * n < boxes * most:
            share[tile] = m * n / (boxes * most)
    return Classes(share, largest)


@cache
def _moves(own: tuple[Moved, ...], tile: Tile, apart: tuple[int, int]) -> bool:
    """Whether loops outside may move the rank from one instance's box to another's, so many indices apart, not by 0."""
    (a, m, rest_a), (b, n, rest_b) = own
    step, other = a * tile[0], b * tile[1]
    wanted = step * apart[0] + other * apart[1]
    times, others = rest_a // tile[0], rest_b // tile[1]
    if wanted == 0:
        return False
    for x in range(1 - times, times):
        y, over = divmod(wanted - x * step * m, other * n)
        if over == 0 and abs(y) < others:
            return True
    return False


def _askew(own: tuple[Moved, ...]) -> Iterator[tuple[int, int]]:
    """Yield how far apart two instances are that differ in both dimensions, up to the sign."""
    (_, m, _), (_, n, _) = own
    return ((i, j * sign) for i in range(1, m) for j in range(1, n) for sign in (1, -1))


def _neighbours(factors: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield how far apart neighbours on a line are by dimension, up to the sign, whatever the order of the loops.

    A loop goes on by one, and those inside it begin anew.
    """
    unrolled = [d for d, factor in enumerate(factors) if factor > 1]
    for one in unrolled:
        for anew in itertools.product((False, True), repeat=len(unrolled)):
            if not anew[unrolled.index(one)]:
                apart = [0] * len(factors)
                for d, begins in zip(unrolled, anew, strict=True):
                    apart[d] = 1 if d == one else (1 - factors[d]) * begins
                yield tuple(apart)


class Rank(NamedTuple):
    """A rank: the open dimensions that move it, those that are unrolled, and what they are."""

    dims: list[int]
    unrolled: list[int]
    own: tuple[Moved, ...]


def share_passed(ranks: Sequence[Rank], factors: Sequence[int], *, line: bool) -> float:
    """Return the share of the words of all instances that a level which keeps nothing asks for, at least.

    ``line`` says whether its instances lie along one axis.
    """
    several = [rank for rank in ranks if len(rank.unrolled) > 1]
    worst = math.prod(classes_of(rank.own).least for rank in several)
    if worst == 1.0 or any(len(rank.unrolled) > 2 for rank in several):
        return worst
    if line:
        return min((_linked(ranks, apart) for apart in _neighbours(factors)), default=1.0)
    least = 1.0
    for rank in several:
        classes = classes_of(rank.own)
        tiles = [one for one in classes.share if any(_moves(rank.own, one, apart) for apart in _askew(rank.own))]
        if tiles:
            least = min(least, worst / classes.least * min(classes.share[one] for one in tiles))
    return least


def _linked(ranks: Sequence[Rank], apart: tuple[int, ...]) -> float:
    """Return the least share of tiles that one neighbour hands to another in a step that moves such a rank."""
    share, raised = 1.0, False
    for rank in ranks:
        between = [apart[d] for d in rank.unrolled]
        if len(rank.dims) == 1 and any(between):
            return 1.0
        if len(rank.unrolled) != 2:
            continue
        classes, pair = classes_of(rank.own), (between[0], between[1])
        moved = [one for one in classes.share if all(between) and _moves(rank.own, one, pair)]
        raised |= bool(moved)
        share *= min((classes.share[one] for one in moved), default=classes.least)
    return share if raised else 1.0
