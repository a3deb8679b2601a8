"""The search with imperfect factors by the rules of Timeloop 4, which takes the mean of the instances that work.

Small mapspaces are searched whole, as those of rounded factors are. Of larger ones the best of layers slightly larger
is improved a dimension at a time; ``docs/search-rounded.md`` states the bound that is left then.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.rounded import Chain, imperfect_chains
from jouleloop.optimum.residual.padded import Allowance, best_padded
from jouleloop.optimum.residual.size import factorizations
from jouleloop.optimum.rounded import RoundedKernel

#: Most ends of one dimension that are listed, seconds and share of the limit in which larger layers are looked at.
_MOST_CHAINS, _PADDED_SECONDS, _PADDED_SHARE = 100_000, 5.0, 0.25


class AveragedKernel(RoundedKernel):
    """One search: ends of all loops, what is kept, and the orders of those that can win."""

    proven = "all ends of loops that need not divide: every order was evaluated, or has a lower bound no better"

    def all_ends(self) -> tuple[int, Sequence[Sequence[Chain]]]:
        """Return how many factorizations there are, and by dimension the ends that are listed."""
        listed = [
            list(itertools.islice(self._chains(d, bound), _MOST_CHAINS))
            for d, bound in enumerate(self.space.problem.bounds)
        ]
        return factorizations(self.space), listed

    def _chains(self, d: int, bound: int) -> Iterator[Chain]:
        """Yield the ends of a dimension, but for an unrolled loop that ends early with nothing outside."""
        unrolled = [kind for inside in self.space.spatial for kind in ((True, False) if inside else (False,))]
        for chain in imperfect_chains(self.space, d, bound):
            left, stands = bound, True
            for end, spatial in zip(chain, unrolled, strict=True):
                stands = stands and not (spatial and end > left)
                left = -(-left // end)
            if stands:
                yield chain

    @cached_property
    def whole(self) -> bool:
        """Whether all choices of ends and of what is kept are listed."""
        return super().whole and max(map(len, self.chains)) < _MOST_CHAINS

    def bound(self) -> float:
        """Return what no mapping is below."""
        return min(max(super().bound(), self.floor), self.best[0])

    @cached_property
    def floor(self) -> float:
        """The value of words that have to cross the outermost boundary once, and of as few steps as units allow."""
        layer, top = self.target.layer, self.target.hardware.levels[-1]
        words_pj = 0.0
        kept = [column[:, -2:].all() and column.shape[1] > 1 for column in self.space.columns]
        if not any(reuse.later for reuse in self.space.reuse):
            for v in self.order_bound.plain.tolist():
                words = math.prod(layer.bounds[self.order_bound.moves[v]].tolist()) * bool(kept[v])
                words_pj += words / top["block_words"] * top["update_pj" if layer.read_write[v] else "read_pj"]
        units = math.prod(map(math.prod, self.space.arch.fanout))
        return self._limited(float(words_pj), math.ceil(math.prod(layer.bounds.tolist()) / units))

    def _parts(self) -> Iterator[tuple[float, tuple[int, ...], int] | None]:
        """Yield all parts where they are few, else those that differ in one dimension from the best so far."""
        if self.whole or not self._begin():
            yield from super()._parts()
            return
        last = None
        while self.at is not None and self.at != last:
            last = self.at
            yield from self._kept(last[0], range(len(self.space.keeps)))
            for d, chains in enumerate(self.chains):
                for n in range(len(chains)):
                    now, place = self.at
                    yield from self._kept((*now[:d], n, *now[d + 1 :]), (place,))

    def _begin(self) -> bool:
        """Begin with the best of layers slightly larger; return whether there is one."""
        task, seconds = self.task, self.task.watch.limit.seconds
        if self.space.min_parallelism:
            return False
        seconds = None if seconds is None else min(_PADDED_SECONDS, seconds * _PADDED_SHARE)
        allowance = Allowance(task.budget, seconds, task.watch)
        found = best_padded(self.space, task.costs, task.semantics, self.objective, allowance)
        if found is None or found[2].cycles > task.limit_cycles:
            return False
        value, mapping, evaluation = found
        chosen, place = self._place(mapping)
        if not self._fits(self._ends(chosen), self.space.keeps[place]):
            return False
        self.best, self.found, self.at = (value, evaluation.cycles), mapping, (chosen, place)
        return True

    def _place(self, mapping: Mapping) -> tuple[tuple[int, ...], int]:
        """Return where ends and choice of what is kept of a mapping are listed; ends beyond the list are added."""
        levels = mapping.levels[::-1]
        chosen = []
        for d, name in enumerate(self.space.problem.shape.dimensions):
            chain = np.ones(len(self.space.slots), np.int64)
            for level, inside, time in zip(levels, self.inside, self.time, strict=True):
                for dimension, end, _ in level.spatial:
                    chain[inside] *= end if dimension == name else 1
                for dimension, end in level.temporal:
                    chain[time] *= end if dimension == name else 1
            same = np.flatnonzero((self.chains[d] == chain).all(axis=1))
            if not len(same):
                self.chains[d] = np.vstack([self.chains[d], chain])
            chosen.append(int(same[0]) if len(same) else len(self.chains[d]) - 1)
        names = [one.name for one in self.space.problem.data_spaces]
        kept = np.array([[name in level.keep for name in names] for level in levels])
        return tuple(chosen), next(n for n, keep in enumerate(self.space.keeps) if (keep == kept).all())
