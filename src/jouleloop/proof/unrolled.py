"""What follows from an unrolling and a choice of what is kept alone, before any tile is known."""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, wraps
from typing import Any, TypeVar

from jouleloop.proof.design import Design, Factors, Keep, divisors, primes
from jouleloop.proof.limits import Verdict

#: What Timeloop adds in doubles and cuts to an integer can be this much less, relatively, than the exact sum.
DOUBLES = Fraction(1, 10**12)

Method = TypeVar("Method", bound=Callable[..., Any])


def kept(method: Method) -> Method:
    """Return a method that remembers what it returned, as long as its object lives."""
    name = f"_known_{method.__name__}"

    @wraps(method)
    def found(self: Any, *given: Any, **named: Any) -> Any:
        state = (*given, *named.items()) if named else given
        try:
            return self.__dict__[name][state]
        except KeyError:
            value = self.__dict__.setdefault(name, {})[state] = method(self, *given, **named)
            return value

    return found  # type: ignore[return-value]


def kept_below(method: Method) -> Method:
    """Return a method that remembers the least of a state; what is no less than its last argument counts as that."""
    name = f"_known_{method.__name__}"

    @wraps(method)
    def found(self: Any, *given: Any) -> Any:
        known, most, state = self.__dict__.setdefault(name, {}), given[-1], given[:-1]
        asked, value = known.get(state, (0, 0))
        if value >= asked and most > value:
            value = method(self, *given)
            known[state] = most, value
        return min(value, most)

    return found  # type: ignore[return-value]


class Unrolled:
    """Instances, boxes and neighbours below each level, for one choice of what is kept and one unrolling."""

    def __init__(self, design: Design, keep: Keep, factors: tuple[Factors, ...]) -> None:
        self.design, self.keep, self.factors, self.verdict = design, keep, factors, Verdict()
        self.spaces, self.keep_of = range(len(design.spaces)), list(zip(*keep, strict=True))
        #: Unrolled indices inside each level, its own fan-out included; utilized instances of each level.
        self.inside = list(itertools.accumulate(factors, lambda a, b: tuple(map(operator.mul, a, b))))
        fanouts: list[int] = [1, *map(math.prod, reversed(factors[1:]))]
        self.instances: list[int] = list(itertools.accumulate(fanouts, operator.mul))[::-1]
        self.unrolled = [k for k, row in enumerate(factors) if max(row) > 1]
        self.rest = tuple(map(operator.floordiv, design.bounds, self.inside[-1]))
        self.steps = math.prod(self.rest)

    def parent(self, child: int, v: int) -> int | None:
        """The next level outside that keeps a data space."""
        return _parents(self.keep)[child + 1][v]

    def extent(self, level: int, tile: Factors) -> Factors:
        """Indices of the tile inside a boundary, unrolled ones included."""
        return tuple(map(operator.mul, tile, self.inside[level - 1]))

    @kept
    def offsets(self, k: int, v: int, extent: Factors | None = None) -> list[int]:
        """By rank, distinct offsets at least of the instances below a level (*distinct boxes*); ``extent``: tiles."""
        ranks = self.design.ranks[v]
        return [self._offsets(k, rank, extent) for rank in ranks] if k in self.unrolled else [1] * len(ranks)

    def _offsets(self, k: int, rank: Mapping[int, int], extent: Factors | None) -> int:
        wide = [d for d in rank if self.factors[k][d] > 1]
        if len(wide) != 2:
            return max((self.factors[k][d] for d in wide), default=1)
        inside = self.inside[k - 1] if k else (1,) * len(self.rest)
        sizes = [divisors(self.rest[d]) if extent is None else (extent[d] // inside[d],) for d in wide]
        (m, a), (n, b) = ((self.factors[k][d], abs(rank[d]) * inside[d]) for d in wide)
        # Only what both steps are to each other matters.
        steps = {(a * i // math.gcd(a * i, b * j), b * j // math.gcd(a * i, b * j)) for i in sizes[0] for j in sizes[1]}
        return min(_sums(m, n, *step) for step in steps)

    @kept
    def widest(self, first: int, last: int, v: int) -> int:
        """Product of the widest unrolled dimensions of all ranks, over some levels.

        At one level, boxes that differ at least. Over levels that bypass, words asked of ``last`` per word asked
        inside ``first`` (lemma *bypass*).
        """
        own = [self.factors[k] for k in self.unrolled if first <= k <= last]
        return math.prod(max((row[d] for d in rank), default=1) for row in own for rank in self.design.ranks[v])

    def near(self, k: int, v: int) -> bool:
        """Whether a shared rank is unrolled below a level, so that links may serve some boxes."""
        shared = self.design.shared[v]
        return k in self.unrolled and any(r is not None and f > 1 for r, f in zip(shared, self.factors[k], strict=True))

    def coincide(self, k: int, v: int) -> bool:
        """Whether two instances below a level may hold one box, whichever of the merged unrollings is meant."""
        shared, last = self.design.shared[v], k
        here = [r for r, f in zip(shared, self.factors[k], strict=True) if f > 1 and r is not None]
        while last in self.design.empty:
            last += 1
        still = [d for d, r in enumerate(shared) if r is None and self.design.still[v][d]]
        return len(here) > len(set(here)) or any(row[d] > 1 for row in self.factors[k : last + 1] for d in still)

    def ends(self, level: int, v: int) -> int:
        """Distinct boxes that moving links cannot serve, at least: those at the far end of a shared rank."""
        offsets, ranks = self.offsets(level, v), {r for r in self.design.shared[v] if r is not None}
        return math.prod(offsets) // max((offsets[r] for r in ranks), default=1)

    def share(self, level: int, v: int) -> Fraction:
        """Share of the instances that moving links cannot serve, at least."""
        ranks = {r for r in self.design.shared[v] if r is not None}
        along = (math.prod(self.factors[level][d] for d in self.design.ranks[v][r]) for r in ranks)
        return Fraction(1, max(along, default=1))

    def asked_by_units(self, v: int) -> tuple[Fraction | int, Fraction | int]:
        """Steps in which all units ask, at least, and those in which they would ask for as much (*compute units*)."""
        shared, still, ranks = self.design.shared[v], self.design.still[v], self.design.ranks[v]
        held = self.coincide(0, v)
        if not held and not self.near(0, v):
            return self.steps, self.steps
        alone = Fraction(math.prod(n for d, n in enumerate(self.rest) if shared[d] is None and not still[d]))
        moving = self.steps // math.prod(n for d, n in enumerate(self.rest) if still[d])
        single = Fraction(1) if not held else Fraction(0)
        if held and not any(f > 1 for d, f in enumerate(self.factors[0]) if still[d]) and 0 not in self.design.empty:
            places = [self._places(rank).values() for rank in ranks]
            single = math.prod((Fraction(sum(n == 1 for n in own), len(own)) for own in places), start=Fraction(1))
        least = min(single, *(self._left(rank, range(1, max(self._places(rank)) + 1)) for rank in ranks))
        plain = moved = Fraction(1)
        for d, r in enumerate(shared):
            if r is None or self.rest[d] == 1:
                continue
            own, share = 1 - Fraction(1, primes(self.rest[d])[0]), self._new_share(ranks[r], d)
            back, stays = self._shares_back(ranks[r], d)
            # A rank may stay while others move or nothing does.
            plain = min(plain, own * (share == 1) + (1 - own) * ((1 - stays) * (back == 1) + stays * (least == 1)))
            moved = min(moved, own * share + (1 - own) * ((1 - stays) * back + stays * min(least, back)))
        asked = min(self.steps * moved, moving * moved + (self.steps - moving) * single)
        return max(alone, moving * plain), max(alone, asked)

    def _shares_back(self, rank: Mapping[int, int], d: int) -> tuple[Fraction, Fraction]:
        """Of the steps outside the innermost loop, over ``d``, that falls back unless it goes on itself.

        The share of the values along the rank that no unit held before, and of the steps in which the rank may stay.
        """
        others = [e for e in rank if e != d and self.rest[e] > 1]
        if len(others) > 1:
            return self._left(rank, range(1, max(self._places(rank)) + 1)), Fraction(1)
        own, *other = (
            (abs(rank[e]) * self.factors[0][e], self.design.bounds[e] // self.factors[0][e]) for e in (d, *others)
        )
        moves, by_own, by_other = _moves(own, *other)
        # By its own loops only outside a loop of the other, too.
        stays = Fraction(by_own, primes(self.rest[others[0]])[0]) if others else Fraction(0)
        return self._left(rank, moves), Fraction(1) if by_other else stays

    def unit_words(self, v: int) -> int:
        """Words that the units below one instance hold together in a step."""
        return math.prod(len(self._places(rank)) for rank in self.design.ranks[v]) if 0 in self.unrolled else 1

    def _places(self, rank: Mapping[int, int]) -> Counter[int]:
        """How many units hold each of the values of a rank in one step."""
        wide = ([abs(c) * i for i in range(self.factors[0][d])] for d, c in rank.items())
        return Counter(sum(parts) for parts in itertools.product(*wide))

    def _left(self, rank: Mapping[int, int], moves: Iterable[int]) -> Fraction:
        """Share of the values of a rank that no unit held before one of some moves, at least."""
        held = set(self._places(rank))
        return min(
            (Fraction(len(held - {one - move for one in held}), len(held)) for move in moves), default=Fraction(1)
        )

    def _new_share(self, rank: Mapping[int, int], d: int) -> Fraction:
        """Share of the values of a rank that no unit held before a step of the innermost loop, at least."""
        outside = self.design.bounds[d] // self.factors[0][d]
        moves = (abs(rank[d]) * self.factors[0][d] * beyond for beyond in divisors(outside) if beyond < outside)
        return self._left(rank, moves)

    @kept
    def partition(self, k: int, v: int) -> int:
        """Words that one instance of a level ever sees, at most; 0 where none of them are spared."""
        if self.design.resumes:
            return 0
        words = self.design.words(v, self.design.bounds)
        for row in reversed(self.factors[k + 1 :]):
            for d, factor in enumerate(row):
                if self.design.shared[v][d] is None and not self.design.still[v][d]:
                    words //= factor
        return words

    def distances(self, level: int, v: int, extent: Factors) -> list[tuple[int, int]]:
        """By shared rank, how far apart two instances below a level can be, and what divides that; 0 of other ranks."""
        found, shared = [], self.design.shared[v]
        for r, rank in enumerate(self.design.ranks[v]):
            own = [(c * extent[d], self.factors[level][d] - 1) for d, c in rank.items() if shared[d] == r]
            spread = [(step, most) for step, most in own if most]
            found.append((sum(step * most for step, most in spread), math.gcd(*(step for step, _ in spread))))
        return found


def within(move: int, most: int, divisor: int) -> bool:
    """Whether two instances may lie so far apart, given how far they do at most, and what divides all distances."""
    return not move or (abs(move) <= most and move % divisor == 0)


def meet(steps: Sequence[tuple[int, int]], far: int, grid: int) -> bool:
    """Whether multiples of one or two steps may add up to a distance; of each at most so many, in either direction."""
    (step, most), (other, other_most) = (*steps, (1, 0))[:2]
    moves = (step * k + other * i for k in range(most + 1) for i in range(-other_most, other_most + 1))
    return grid > 0 and any(move and within(move, far, grid) for move in moves)


@cache
def _moves(own: tuple[int, int], other: tuple[int, int] = (0, 1)) -> tuple[frozenset[int], bool, bool]:
    """Return how far a rank may move outside an innermost loop, and whether it may stay, by either (step, times)."""
    step, times = own
    other_step, other_times = other
    ahead, back = ({step * x for x in ways} for ways in _ways(times))
    other_ahead, other_back = ({other_step * x for x in ways} for ways in _ways(other_times))
    on = {x - y for x in ahead for y in other_back | {0}}
    other_on = {y - x for x in back for y in other_ahead}
    both = {x + y for x in back for y in other_back | {0}}
    return frozenset(map(abs, on | other_on | both)) - {0}, 0 in on, 0 in other_on


def _ways(times: int) -> tuple[range, range]:
    """Return how far a dimension of so many iterations may go on in a step, and fall back, one of each loop."""
    if times == 1:
        return range(0), range(0)
    prime = primes(times)[0]
    return range(1, times // prime + 1), range(1, (times - 1) // (prime - 1) + 1)


@cache
def _parents(keep: Keep) -> list[list[int | None]]:
    """By number of levels inside and data space, the first level that keeps it from there outward."""
    kept = [[k for k, row in enumerate(keep) if row[v]] for v in range(len(keep[0]))]
    return [[next((k for k in own if k >= first), None) for own in kept] for first in range(len(keep) + 1)]


@cache
def _sums(m: int, n: int, a: int, b: int) -> int:
    """How many sums one of m multiples of a number and one of n of another have."""
    return len({a * i + b * k for i in range(m) for k in range(n)})
