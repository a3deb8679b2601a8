"""The tile tables of `docs/proof.md`: what lies further in costs at least, over all loops that are left."""

import itertools
import math
import operator
from collections.abc import Sequence
from functools import cache, cached_property

from jouleloop.proof.charges import Energy
from jouleloop.proof.design import Factors, divisors, primes
from jouleloop.proof.lemmas import Boundaries, Loop
from jouleloop.proof.unrolled import kept


class Bounds(Boundaries):
    """Lower bounds under one choice of what is kept and one unrolling; energies count `Design.unit_pj`.

    Where one of the whole is ``enough``, it may stand for a greater one.
    """

    enough: Energy = math.inf

    @cached_property
    def alike(self) -> list[list[bool]]:
        """By dimension, which ones are of its kind, as they leave one data space in place; none where it moves all."""
        still = [[d for d, stays in enumerate(own) if stays] for own in self.design.still]
        kind = [d if any(d in own for own in still) else None for d in range(len(self.rest))]
        for own in still:
            together = {kind[d] for d in own}
            kind = [own[0] if k in together else k for k in kind]
        return [[one is not None and other == one for other in kind] for one in kind]

    def least(self) -> Energy:
        """Energy of a nest, at least."""
        once = self.units() + self.once()
        if once >= self.enough:
            # The tables take long.
            return once
        return self.units() + self.inward(len(self.keep) - 1, self.rest, None, (0,) * len(self.rest))

    @kept
    def fits(self, k: int, tile: Factors) -> bool:
        """Whether a tile fits its level."""
        return self.design.fits(k, self.keep[k], self.extent(k + 1, tile))

    def run(self, d: int, tile: Factors) -> Factors:
        """Where a run of loops starts: the tile for all dimensions of one's kind, else 0."""
        return tuple(map(operator.mul, tile, self.alike[d]))

    def start_of(self, loops: Sequence[Loop], tile: Factors) -> Factors:
        """Where the run of loops that ends at a tile started: by dimension of the innermost loop's kind, else 0."""
        if not loops:
            return (0,) * len(tile)
        start = list(self.run(loops[-1][0], tile))
        for d, bound, _ in itertools.takewhile(lambda loop: start[loop[0]], reversed(loops)):
            start[d] *= bound
        return tuple(start)

    @cached_property
    def counting(self) -> list[list[bool]]:
        """By level and dimension, whether a run of it counts further in: it leaves what crosses there, or slides."""
        spaces = [{v for level in range(1, k + 1) for v in self.crossed[level]} for k in range(len(self.keep))]
        still, dims = self.design.still, range(len(self.rest))
        return [[any(still[v][d] or self.design.shared[v][d] is not None for v in own) for d in dims] for own in spaces]

    @kept
    def remembered(self, k: int, j: int | None, start: Factors) -> tuple[int | None, Factors]:
        """What counts from a level inward of the innermost loop outside and the start of its run (*what counts*)."""
        own = self.counting[k]
        if j is not None and not any(counts for d, counts in enumerate(own) if d == j or self.alike[j][d]):
            return own.index(False), (0,) * len(start)
        return j, tuple(map(operator.mul, start, own))

    @kept
    def inward(self, k: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from the loops of a level inward; ``j`` is the innermost loop outside, ``start`` of its run."""
        if k == 0:
            return 0 if self.design.temporal[0].takes(tile) else math.inf
        # What is outside matters where no loop stands here, or all are of its kind.
        stays = self.below(k, tile, j, start) if self.design.temporal[k].takes([1] * len(tile)) else math.inf
        goes_on = math.inf if j is None else self._looped(k, tile, j, start)
        return min(stays, goes_on, self._fresh(k, tile))

    @kept
    def _fresh(self, k: int, tile: Factors) -> Energy:
        """The same where a run starts at the tile: a longer one costs no more."""
        return self._looped(k, tile, None, tile)

    def _looped(self, k: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """The same where loops stand at the level: all of the kind of ``j``, whose run goes on, or any (None)."""
        kind, movers = [True] * len(tile) if j is None else self.alike[j], self.movers[k]
        if movers is None:
            cuts = (cut for cut in self.design.cuts(k, tile, kind) if cut != tile)
            return min((self.floor(k, tile, cut, j, start) for cut in cuts), default=math.inf)
        least: Energy = math.inf
        for d in (d for d in movers if kind[d]):
            own = tuple([e for e in movers[d] if kind[e]])
            begun = self.remembered(k, d, self.run(d, tile))[1] if j is None else start
            for part in parts(tile, (d,)):
                least = min(least, self._any_cut(k, part, d, begun, own))
        return least

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

    @kept
    def _any_cut(self, k: int, tile: Factors, d: int, start: Factors, others: tuple[int, ...]) -> Energy:
        """Least energy from any cut of a tile inward, by one prime after another; ``d`` is the innermost loop."""
        least = self.below(k, tile, d, start)
        for part in parts(tile, others):
            least = min(least, self._any_cut(k, part, d, start, others))
        return least

    def floor(self, k: int, tile: Factors, cut: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from a cut inward, whatever the order of its loops."""
        moved = [d for d, size in enumerate(tile) if cut[d] != size]
        if not moved:
            return self.below(k, cut, j, start)
        rank = self.design.temporal[k].rank
        # The run outside goes on where all loops are of its kind.
        goes_on = j is not None and all(self.alike[j][d] for d in moved)
        first = min(rank[d] for d in moved)
        inner = (d for d in moved if rank[d] == first)
        return min(self.below(k, cut, d, start if goes_on else self.run(d, tile)) for d in inner)

    def below(self, level: int, tile: Factors, j: int | None, start: Factors) -> Energy:
        """Least energy from the boundary below a level inward, given the tile inside and the innermost loop outside."""
        if not self.fits(level - 1, tile):
            return math.inf
        if j is None:
            here = self.certain(level, tile, ())
        else:
            here = sum([self.boundary(level, v, tile, j, start) for v in self.crossed[level]])
        here = max(here, self.once_at[level])
        if here >= self.ends_at[level]:
            return here + sum(self.once_at[:level])
        return here + self.inward(level - 1, tile, *self.remembered(level - 1, j, start))

    @cached_property
    def ends_at(self) -> list[Energy]:
        """By level, the energy of its boundary that is enough, all others taking every word once."""
        if self.enough == math.inf:
            return [math.inf] * len(self.keep)
        left = self.enough - self.units() - self.once()
        return [math.ceil(left + one) for one in self.once_at]


@cache
def parts(tile: Factors, dims: tuple[int, ...]) -> list[Factors]:
    """Return a tile less one prime of one of some dimensions, in every way."""
    return [(*tile[:d], tile[d] // p, *tile[d + 1 :]) for d in dims for p in primes(tile[d])]
