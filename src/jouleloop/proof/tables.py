"""The tile tables of `docs/proof.md`: what lies further in costs at least, over all loops that are left."""

import itertools
import math
import operator
from collections.abc import Sequence
from functools import cache, cached_property

from jouleloop.proof.charges import Energy
from jouleloop.proof.design import Factors, divisors, primes
from jouleloop.proof.lemmas import Boundaries, Loop
from jouleloop.proof.unrolled import kept, kept_below


class Bounds(Boundaries):
    """Lower bounds under one choice of what is kept and one unrolling; what is no less than ``most`` counts as that."""

    def least(self, most: Energy = math.inf) -> Energy:
        """Energy of a nest, at least."""
        units = self.units()
        return units + self.inward(len(self.keep) - 1, self.rest, None, (0,) * len(self.rest), most - units)

    def fits(self, k: int, tile: Factors) -> bool:
        """Whether a tile fits its level."""
        return self.design.fits(k, self.keep[k], self.extent(k + 1, tile))

    def run(self, d: int, tile: Factors) -> Factors:
        """Where a run of loops starts: the tile for all dimensions of one's kind, else 0."""
        return tuple(map(operator.mul, tile, self.design.alike[d]))

    def run_of(self, loops: Sequence[Loop], tile: Factors) -> tuple[int | None, Factors]:
        """Return the innermost loop outside a tile, and where its run started: by dimension of its kind, else 0."""
        if not loops:
            return None, (0,) * len(tile)
        start = list(self.run(loops[-1][0], tile))
        for d, bound, _ in itertools.takewhile(lambda loop: start[loop[0]], reversed(loops)):
            start[d] *= bound
        return loops[-1][0], tuple(start)

    @kept_below
    def inward(self, k: int, tile: Factors, j: int | None, start: Factors, most: Energy) -> Energy:
        """Least energy from the loops of a level inward; ``j`` is the innermost loop outside, ``start`` of its run."""
        if k == 0:
            return 0 if self.design.temporal[0].takes(tile) else most
        # What is outside matters where no loop stands here, or all are of its kind.
        if self.design.temporal[k].takes([1] * len(tile)):
            most = self.below(k, tile, j, start, most)
        if j is not None:
            most = self._looped(k, tile, j, start, most)
        return self._fresh(k, tile, most)

    @kept_below
    def _fresh(self, k: int, tile: Factors, most: Energy) -> Energy:
        """The same where a run starts at the tile: a longer one costs no more."""
        return self._looped(k, tile, None, tile, most)

    def _looped(self, k: int, tile: Factors, j: int | None, start: Factors, most: Energy) -> Energy:
        """The same where loops stand at the level: all of the kind of ``j``, whose run goes on, or any (None)."""
        kind, movers = [True] * len(tile) if j is None else self.design.alike[j], self.movers[k]
        if movers is None:
            for cut in self.design.cuts(k, tile, kind):
                most = most if cut == tile else self.floor(k, tile, cut, j, start, most)
            return most
        for d in (d for d in movers if kind[d]):
            own = tuple([e for e in movers[d] if kind[e]])
            begun = self.run(d, tile) if j is None else start
            for part in parts(tile, (d,)):
                most = self._any_cut(k, part, d, begun, own, most)
        return most

    @cached_property
    def movers(self) -> list[dict[int, tuple[int, ...]] | None]:
        """By level and innermost loop, which others may stand there; None where only some factors of one may."""
        found: list[dict[int, tuple[int, ...]] | None] = []
        for slot in self.design.temporal:
            whole = [d for d, size in enumerate(self.rest) if all(slot.admits(d, n) for n in divisors(size))]
            shut = [d for d, size in enumerate(self.rest) if [n for n in divisors(size) if slot.admits(d, n)] == [1]]
            known = set(whole) | set(shut) == set(range(len(self.rest)))
            found.append({d: tuple(e for e in whole if slot.rank[e] >= slot.rank[d]) for d in whole} if known else None)
        return found

    @kept_below
    def _any_cut(self, k: int, tile: Factors, d: int, start: Factors, others: tuple[int, ...], most: Energy) -> Energy:
        """Least energy from any cut of a tile inward, by one prime after another; ``d`` is the innermost loop."""
        if self.design.simple and sum(self.least_at(k, tile, d, start)) >= most:
            # Smaller tiles take no less.
            return most
        most = self.below(k, tile, d, start, most)
        for part in parts(tile, others):
            most = self._any_cut(k, part, d, start, others, most)
        return most

    def floor(self, k: int, tile: Factors, cut: Factors, j: int | None, start: Factors, most: Energy) -> Energy:
        """Least energy from a cut inward, whatever the order of its loops."""
        moved = [d for d, size in enumerate(tile) if cut[d] != size]
        if not moved:
            return self.below(k, cut, j, start, most)
        rank = self.design.temporal[k].rank
        # The run outside goes on where all loops are of its kind.
        goes_on = j is not None and all(self.design.alike[j][d] for d in moved)
        first = min(rank[d] for d in moved)
        for d in (d for d in moved if rank[d] == first):
            most = self.below(k, cut, d, start if goes_on else self.run(d, tile), most)
        return most

    @kept
    def least_at(self, level: int, tile: Factors, j: int | None, start: Factors) -> tuple[Energy, Energy]:
        """Energy of the boundary below a level, and of all boundaries further in, at least (lemma *further in*)."""
        here: Energy = 0
        further: Energy = 0
        for v in self.spaces:
            least, inside = self.passed(level, v, self.times(v, tile, j, start))
            further += inside
            if not self.design.single[v] and v in self.crossed[level]:
                least = max(least, self.boundary(level, v, tile, j, start))
            here += least
        return here, further

    @kept
    def passed(self, level: int, v: int, times: int) -> tuple[Energy, Energy]:
        """Energy of one data space at the boundary below a level and further in, every word so many times."""
        further = sum(self.passed(level - 1, v, times)) if level > 1 else 0
        return self.repeated(level, v, times) if v in self.crossed[level] else 0, further

    def below(self, level: int, tile: Factors, j: int | None, start: Factors, most: Energy) -> Energy:
        """Least energy from the boundary below a level inward, given the tile inside and the innermost loop outside."""
        self.verdict.took()
        if not self.fits(level - 1, tile):
            return most
        here, further = self.least_at(level, tile, j, start)
        if here + further >= most:
            return most
        return here + self.inward(level - 1, tile, j, start, most - here)


@cache
def parts(tile: Factors, dims: tuple[int, ...]) -> list[Factors]:
    """Return a tile less one prime of one of some dimensions, in every way."""
    return [(*tile[:d], tile[d] // p, *tile[d + 1 :]) for d in dims for p in primes(tile[d])]
