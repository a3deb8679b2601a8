"""What words cost under one unrolling at least [`Design.unit_pj`]: lemma *price*, *networks*, *M:N*."""

import itertools
import math
from fractions import Fraction
from functools import cached_property

from jouleloop.proof.networks import holders, hops_of
from jouleloop.proof.stated import Way
from jouleloop.proof.unrolled import Unrolled, kept

Energy = float | Fraction


class Charges(Unrolled):
    """What a word that leaves a level costs at least, and how many instances may share their words."""

    @cached_property
    def crossed(self) -> dict[int, list[int]]:
        """By level, the data spaces filled into the level inside it, or passing it where the network takes energy."""
        found: dict[int, list[int]] = {}
        for k, kept_here in enumerate(self.keep[:-1], 1):
            passing = [v for v in self.spaces if self.parent(k - 1, v) is not None]
            found[k] = [v for v in passing if kept_here[v] or self.each(k, v, bypassed=True)]
        return found

    def each(self, level: int, v: int, *, bypassed: bool) -> Energy:
        """Energy of a word to a distinct box below a level, without links; ``bypassed``: what is inside keeps none."""
        ways = self.design.levels[level].networks
        return sum(self._of(way, level, v, bypassed=bypassed) for way in ways) / self.design.unit_pj if ways else 0

    @kept
    def _hops(self, level: int, v: int) -> Fraction:
        """Hops of one word to a distinct box below a level, at least on average."""
        mesh, count = self.design.levels[level].fanout, math.prod(self.factors[level])
        if count == 1:
            return Fraction(0)
        if self.near(level, v):
            # Every box that links cannot serve has an instance of its own.
            apart, boxes = sorted(hops_of([place], *mesh) for place in range(count)), self.ends(level, v)
            return sum(apart[:boxes], Fraction(0)) / boxes
        found = []
        for order in self.design.spatial_orders(level, self.factors[level]):
            places = itertools.product(*(range(f) if not self.design.still[v][d] else [0] * f for d, f, _ in order))
            found.append(sum(hops_of(own, *mesh) for own in holders(places)))
        return Fraction(min(found)) / self.widest(level, level, v)

    def _of(self, way: Way, level: int, v: int, *, bypassed: bool) -> Fraction:
        """What one network takes for a word [pJ]; trees are free."""
        design, here = self.design, self.design.levels[level]
        plain = level > 0 and not any(one.spreads for one in design.levels)
        gaps = any(design.bounds[d] > 1 and c > 1 for rank in design.ranks[v] for d, c in rank.items())
        # All of a data space goes in one group. Past a level that keeps nothing that is a whole multiple of the words
        # that it would hold, unless a stride leaves gaps; then fewer may pass.
        exact = plain and all(rank is None for rank in design.shared[v])
        whole = exact and not (bypassed and gaps)
        if way.kind == "table" and whole:
            multicast = Fraction(math.prod(self.factors[level]), self.widest(level, level, v))
            return way.charge(design.spaces[v], multicast)
        twice = way.back and design.written[v] and not here.adds
        if way.kind != "mesh" or (twice and not exact):
            return Fraction(0)
        hops = self._hops(level, v)
        # A group of words passes a router more than its whole hops; outputs that go twice hop once.
        routers = Fraction(1 + math.floor(hops)) if exact and not twice else max(hops, Fraction(1))
        more = routers * way.router_pj + way.ingress_pj
        return hops * way.hop_pj + (more if whole or not bypassed else 0)

    def _sharers(self, level: int, v: int) -> int | Fraction:
        """Instances of a level, at most, that may share what they hold of a data space (*distributed multicast*)."""
        if level + 1 >= len(self.factors) or not self.design.levels[level].spreads:
            return 1
        return Fraction(math.prod(self.factors[level + 1]), self.widest(level + 1, level + 1, v))

    def price(self, child: int, v: int, asked: int, filled: int, sent: int, times: int) -> Energy:
        """Energy of words asked of the next kept level outside ``child`` (-1: the compute units) and filled into it.

        ``sent``: those that leave the fan-out right outside ``child``, ``times`` as many. A level in between that keeps
        nothing is asked for them, too, but only its network takes energy.
        """
        parent = self.parent(child, v)
        if parent is None:
            return 0
        bypassed = child >= 0 and not self.keep[child][v]
        each = self.each(child + 1, v, bypassed=bypassed)
        total: Energy = Fraction(sent, times) * each * self.instances[child + 1] if each else 0
        if bypassed:
            return total
        written = self.design.written[v]
        read, _, update, _ = self.design.energies[parent]
        total += self._vectors(parent, self._of_all(asked, parent, v)) * (update if written else read)
        if written:
            total += self._vectors(parent, self._beyond(asked, parent, v)) * read
        if child >= 0:
            some = self._beyond if written and self.design.elided else self._of_all
            total += self._vectors(child, some(filled, child, v)) * self.design.energies[child][1]
        return total

    def _vectors(self, k: int, words: int) -> int:
        """Whole vectors of all instances of a level."""
        level = self.design.levels[k]
        return -(-words // level.block_words) * min(self.instances[k], level.clusters)

    def _of_all(self, words: int, level: int, v: int) -> int:
        """Words of one instance at least, of those that all would have that share what they hold (M:N)."""
        return int((words - 1) // self._sharers(level, v)) + 1

    def _beyond(self, words: int, level: int, v: int) -> int:
        """The same of words beyond a partition, each rounded to the nearest."""
        most = self._sharers(level, v)
        return max(0, int((2 * (words - self.partition(level, v)) + most) // (2 * most)))
