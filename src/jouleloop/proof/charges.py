"""What networks charge for a word at least, under one unrolling: the lemmas *energy of networks* in exact fractions."""

import math
from fractions import Fraction

from jouleloop.proof.design import Design, Factors
from jouleloop.proof.networks import MESH, TABLE, Way, hops_of


class Charges:
    """What a word that leaves a level costs on its networks at least, and how many instances may share their words.

    Energies count `Design.unit_pj`, for one instance of the level.
    """

    def __init__(self, design: Design, factors: tuple[Factors, ...]) -> None:
        self.design, self.factors = design, factors
        self.plain = not any(level.spreads for level in design.levels)
        self._each: dict[tuple[int, int, bool], Fraction] = {}

    def each(self, level: int, v: int, *, bypassed: bool) -> Fraction:
        """Energy of a word sent to one distinct box below a level; ``bypassed``: the level inside keeps nothing of it.

        Where links may serve some boxes, of a word to one of those that they cannot.
        """
        key = level, v, bypassed
        if key not in self._each:
            ways = self.design.levels[level].ways
            total = sum((self._of(way, level, v, bypassed=bypassed) for way in ways), Fraction(0))
            self._each[key] = total / self.design.unit_pj
        return self._each[key]

    def sharers(self, level: int, v: int) -> Fraction:
        """Instances of a level, at most, that may share what they hold of a data space (*distributed multicast*)."""
        if level + 1 >= len(self.factors) or not self.design.levels[level].spreads:
            return Fraction(1)
        return Fraction(math.prod(self.factors[level + 1]), self._boxes(level + 1, v))

    def _boxes(self, level: int, v: int) -> int:
        """Distinct boxes below a level, at least: as many as the widest dimension of each rank has indices."""
        own = self.factors[level]
        return math.prod(max((own[d] for d in rank), default=1) for rank in self.design.ranks[v])

    def _near(self, level: int, v: int) -> bool:
        """Whether a shared rank is unrolled below a level, so that links may serve some boxes."""
        shared = self.design.shared[v]
        return any(f > 1 and shared[d] is not None for d, f in enumerate(self.factors[level]))

    def _gaps(self, v: int) -> bool:
        """Whether a stride leaves out words of a box."""
        bounds = self.design.bounds
        return any(bounds[d] > 1 and abs(c) > 1 for rank in self.design.ranks[v] for d, c in rank.items())

    def _linkless(self, level: int, v: int) -> int:
        """Distinct boxes, at least, that links cannot serve: all, but those inside the widest shared rank."""
        if not self._near(level, v):
            return self._boxes(level, v)
        own, shared = self.factors[level], self.design.shared[v]
        widest = 1
        for r, rank in enumerate(self.design.ranks[v]):
            if any(shared[d] == r for d in rank):
                widest = max(widest, *(own[d] for d in rank))
        return self._boxes(level, v) // widest

    def _hops(self, level: int, v: int) -> Fraction:
        """Hops of one word to a distinct box below a level, at least on average."""
        here = self.design.levels[level]
        count = math.prod(self.factors[level])
        if count == 1:
            return Fraction(0)
        boxes = self._linkless(level, v)
        if self._near(level, v):
            # Every box that links cannot serve has an instance of its own.
            apart = sorted(hops_of([place], here.fan_x, here.fan_y) for place in range(count))
            return sum(apart[:boxes], Fraction(0)) / boxes
        least: Fraction | None = None
        for order in self.design.spatial_orders(level, self.factors[level]):
            holders: dict[tuple[int, ...], list[int]] = {}
            for place in range(count):
                rest, box = place, []
                for d, factor, _ in reversed(order):
                    if not self.design.idle(v, d):
                        box.append(rest % factor)
                    rest //= factor
                holders.setdefault(tuple(box), []).append(place)
            hops = sum((hops_of(own, here.fan_x, here.fan_y) for own in holders.values()), Fraction(0))
            least = hops if least is None else min(least, hops)
        return (least or Fraction(0)) / boxes

    def _of(self, way: Way, level: int, v: int, *, bypassed: bool) -> Fraction:
        """What one network takes for a word [pJ]; trees are free."""
        here = self.design.levels[level]
        # All of a data space goes in one group. Past a level that keeps nothing that is a whole multiple of the words
        # that it would hold, unless a stride leaves gaps; then fewer may pass.
        exact = self.plain and level > 0 and all(rank is None for rank in self.design.shared[v])
        whole = exact and not (bypassed and self._gaps(v))
        if way.kind == TABLE and whole:
            multicast = Fraction(math.prod(self.factors[level]), self._boxes(level, v))
            return way.charge(self.design.spaces[v], multicast)
        twice = way.back and self.design.written[v] and not here.adds
        if way.kind != MESH or (twice and not exact):
            return Fraction(0)
        hops = self._hops(level, v)
        # A group of words passes a router more than its whole hops; outputs that go twice hop once.
        routers = Fraction(1 + math.floor(hops)) if exact and not twice else max(hops, Fraction(1))
        more = routers * way.router + way.ingress
        return hops * way.hop + (more if whole or not bypassed else 0)
