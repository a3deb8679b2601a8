"""The optimum where factors do not divide the layer and Timeloop 4 rounds them up: every mapping that can win is tried.

``docs/search-rounded.md`` states which mappings these are, the bound by which most are left out, and its lemma.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from jouleloop.mapping.mapping import Mapping, ended_early
from jouleloop.mapspace.nest import mapping_of
from jouleloop.mapspace.rounded import Chain, index_factorizations, rounded_chains
from jouleloop.mapspace.space import FactorSlot
from jouleloop.mapspace.spatial import Arrangement, arrangements_of, parallelism
from jouleloop.model.arrays import Bools, Ints, NestArrays, Records, new_work
from jouleloop.model.encode import encode, nest_arrays
from jouleloop.model.evaluate import count_nest, evaluate_residual_nest
from jouleloop.model.kernel import held_words
from jouleloop.model.residual import has_residuals
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import Use
from jouleloop.optimum.driver import SEARCH, Kernel, Task
from jouleloop.optimum.limit import check_dimensions
from jouleloop.optimum.order import used_up
from jouleloop.optimum.queue import Queue
from jouleloop.optimum.reuse import bypass_passed
from jouleloop.optimum.rounded_bound import OrderBound
from jouleloop.optimum.supported import check_search

#: Most choices of ends and of what is kept that are listed; what is beyond is not searched.
MOST_PARTS = 1_000_000
#: Work of one bound and of one evaluation, where a node is 1.
_BOUND_TICKS, _EVALUATION_TICKS = 300, 100
#: Values closer than this, relatively, are the same.
_TIE = 1e-12
_Choice = TypeVar("_Choice")


class RoundedKernel(Kernel):
    """One search: ends of all loops, what is kept, and the orders of those that can win.

    Raises
    ------
    InputError
        Where the search follows something not, see `jouleloop.model.support`.
    """

    use = Use.ROUNDED
    proven = "all ends that rounding up leaves: every order was evaluated, or has a lower bound no better than this"

    def __init__(self, task: Task, counters: Records) -> None:
        super().__init__(task, counters)
        space, costs = task.space, task.costs
        problem, rules = space.problem, rules_of(task.semantics)
        check_search(Use.ROUNDED, space, costs, rules, task.objective)
        bypass_passed(space)
        self.factorizations, chains = self.all_ends()
        self.size = self.factorizations * space.permutations * space.spatial_splits * len(space.keeps)
        self.target = encode(problem, space.arch, costs, rules, space.reuse)
        self.chains = [np.array(found, np.int64) for found in chains]
        check_dimensions(problem, np.flatnonzero([chain.max(initial=1) > 1 for chain in self.chains]))
        self.levels = len(space.temporal)
        # Where each level's unrolled and temporal loops stand in a chain.
        self.inside, self.time = [], []
        place = 0
        for inside in space.spatial:
            self.inside.append(-1 if inside is None else place)
            place += inside is not None
            self.time.append(place)
            place += 1
        ranks = [slot.rank for slot in space.temporal]
        self.order_bound = OrderBound(self.target, ranks)
        self.work = new_work(self.levels, len(problem.data_spaces))
        self.parts: list[tuple[float, tuple[int, ...], int]] = []
        self.best = (math.inf, 0)
        self.found: Mapping | None = None
        #: Ends and choice of what is kept of the best mapping.
        self.at: tuple[tuple[int, ...], int] | None = None
        self.queue = Queue(np.zeros(1), _TIE, self._follow, counters)

    def all_ends(self) -> tuple[int, Sequence[Sequence[Chain]]]:
        """Return how many factorizations there are as Timeloop counts, and by dimension the ends of its loops."""
        return index_factorizations(self.space), rounded_chains(self.space)

    def subproblems(self) -> str:
        """Leave the parts to the pass, which pauses: there may be a million."""
        return ""

    @property
    def whole(self) -> bool:
        """Whether all choices of ends and of what is kept are listed."""
        return math.prod(map(len, self.chains)) * len(self.space.keeps) <= MOST_PARTS

    def passes(self) -> Iterator[str]:
        """Minimise; ties are broken on the way."""
        self._slices = self._work()
        yield SEARCH

    def expand(self) -> bool:
        """List and search parts until it is time for a pause."""
        return next(self._slices, True)

    def _work(self) -> Iterator[bool]:
        """Bound all parts, then try them, the cheapest first; yield False where it is time for a pause."""
        for part in itertools.islice(self._parts(), MOST_PARTS):
            if part is not None:
                self.parts.append(part)
                # One order of each, so that there is a mapping soon, and a good one.
                if part[0] < self.best[0]:
                    next(self._orders(*part[1:]))
            if self._pauses():
                yield False
        self.queue = Queue(np.array([value for value, _, _ in self.parts]), _TIE, self._follow, self.counters)
        self.queue.value = self.best[0]
        yield from self.queue.run()
        self.counters[0]["cut_bound"] += int((~self.queue.begun).sum())

    def _follow(self, n: int) -> Iterator[bool]:
        """Evaluate all orders of a part; yield False where it is time for a pause."""
        for _ in self._orders(*self.parts[n][1:]):
            self.queue.value = self.best[0]
            if self._pauses():
                yield False
        self.queue.bounds[n] = max(self.queue.bounds[n], self.best[0])

    def bound(self) -> float:
        """Return what no mapping is below."""
        return min(self.queue.least, self.best[0]) if self.whole else 0.0

    def incumbent(self) -> float | None:
        """Return the value of the best mapping."""
        return self.best[0] if self.found else None

    def left(self) -> tuple[int, int]:
        """Return the parts that are not left out, and all so far."""
        return len(self.parts) - int(self.counters[0]["cut_bound"]), len(self.parts)

    def mapping(self) -> Mapping | None:
        """Return the best mapping."""
        return self.found

    def no_mapping(self) -> str:
        """Say that no factors fit."""
        return "no factors satisfy fan-outs, capacities and constraints together"

    def _parts(self) -> Iterator[tuple[float, tuple[int, ...], int] | None]:
        """Yield the value that no order is below, the chains and what is kept; None where that is no mapping."""
        for chosen in itertools.product(*(range(len(found)) for found in self.chains)):
            yield from self._kept(chosen, range(len(self.space.keeps)))

    def _kept(
        self, chosen: tuple[int, ...], places: Iterable[int]
    ) -> Iterator[tuple[float, tuple[int, ...], int] | None]:
        """Yield the same for one choice of chains, by what is kept."""
        ends = self._ends(chosen)
        arrangements = self._arrangements(ends)
        factors = tuple(tuple(ends[at].tolist()) if at >= 0 else () for at in self.inside)
        enough = parallelism(factors, self.space.arch.fanout[::-1]) >= self.space.min_parallelism
        for place in places:
            keep = self.space.keeps[place]
            self.counters[0]["nodes"] += 1
            self.counters[0]["ticks"] += _BOUND_TICKS
            if not enough or not all(arrangements) or not self._fits(ends, keep):
                self.counters[0]["cut_capacity"] += 1
                yield None
                continue
            first = [found[0] for found in arrangements]
            bound = self.order_bound(ends[self.time], first, keep, self._uneven(ends))
            yield self._limited(*bound), chosen, place

    def _ends(self, chosen: Sequence[int]) -> Ints:
        """Return the ends of all loops, shape (slots, dimensions)."""
        return np.stack([found[n] for found, n in zip(self.chains, chosen, strict=True)], axis=1)

    def _arrangements(self, ends: Ints) -> list[tuple[Arrangement, ...]]:
        """Return by level how its unrolled loops may lie on the mesh."""
        return [
            ((),) if slot is None else arrangements_of(slot, tuple(ends[at].tolist()), fan)
            for slot, at, fan in zip(self.space.spatial, self.inside, self.space.arch.fanout[::-1], strict=True)
        ]

    def _uneven(self, ends: Ints) -> Bools:
        """Return by level whether one of its unrolled loops ends early."""
        left = np.array(self.target.layer.bounds)
        early = []
        for row in ends:
            early.append(bool((left % row).any()))
            left = -(-left // row)
        return np.array([at >= 0 and early[at] for at in self.inside], np.bool_)

    def _fits(self, ends: Ints, keep: Bools) -> bool:
        """Whether the tiles fit, taken for whole (``NestAnalysis::GetWorkingSetSizes_LTW``)."""
        layer, levels = self.target.layer, self.target.hardware.levels
        inner = np.cumprod(ends, axis=0)[self.time]
        for level, extent in enumerate(inner):
            held = held_words(layer.coef, keep[level], extent)
            if not levels[level]["least_words"] <= held <= levels[level]["capacity_words"]:
                return False
        return True

    def _orders(self, chosen: Sequence[int], place: int) -> Iterator[None]:
        """Evaluate every order of a part and every arrangement of its unrolled loops."""
        ends, keep = self._ends(chosen), self.space.keeps[place]
        slots = zip(self.space.temporal, self.time, strict=True)
        for temporal in _products([partial(orders_of, slot, ends[at]) for slot, at in slots]):
            for spatial in itertools.product(*self._arrangements(ends)):
                value = self._value(nest_arrays(temporal, spatial, keep))
                self.counters[0]["visited"] += 1
                self.counters[0]["ticks"] += _EVALUATION_TICKS
                if value[0] < self.best[0] * (1 - _TIE) or (value[0] <= self.best[0] and value < self.best):
                    self.best = value
                    self.found, self.at = self._mapping(temporal, spatial, keep), (tuple(chosen), place)
                yield

    def _value(self, nest: NestArrays) -> tuple[float, int]:
        """Return the value and the cycles of a nest, infinite where Timeloop ends."""
        if has_residuals(self.target.layer.bounds, nest):
            total_pj, cycles, _, _, _ = evaluate_residual_nest(self.target, nest, self.work)
        else:
            total_pj, cycles, _, _ = count_nest(self.target, nest, self.work)
        held = (self.work.access["tile"] * nest.keep).sum(axis=1)
        if (held < self.target.hardware.levels["least_words"]).any() or min(
            self.work.access["reads"].min(), self.work.access["fills"].min()
        ) < 0:
            return math.inf, 0
        return self._limited(total_pj, cycles), int(cycles)

    def _limited(self, energy_pj: float, cycles: float) -> float:
        """Return the value of an energy and cycles, infinite where these are too many; of bounds, a bound."""
        return self.objective.of(energy_pj, cycles) if cycles <= self.task.limit_cycles else math.inf

    def _mapping(
        self, temporal: Sequence[Sequence[tuple[int, int]]], spatial: Sequence[Arrangement], keep: Bools
    ) -> Mapping:
        return ended_early(mapping_of(self.space, temporal, spatial, keep), self.space.problem)

    def _pauses(self) -> bool:
        """Whether it is time for a pause; the search stops where its evaluations or nodes are used up."""
        return used_up(self.counters) or bool(self.counters[0]["ticks"] >= self.counters[0]["pause"])


def orders_of(slot: FactorSlot, ends: Ints) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every order of the temporal loops of a level, outermost first, as (dimension, end)."""
    loops = sorted((slot.rank[d], int(d), int(ends[d])) for d in np.flatnonzero(ends > 1))
    groups = [[(d, end) for _, d, end in group] for _, group in itertools.groupby(loops, lambda loop: loop[0])]
    for order in _products([partial(itertools.permutations, group) for group in groups]):
        yield tuple(loop for group in reversed(order) for loop in group)


def _products(choices: Sequence[Callable[[], Iterable[_Choice]]]) -> Iterator[tuple[_Choice, ...]]:
    """Yield what `itertools.product` does, none before it is asked for: seven loops alone have 5,040 orders."""
    if not choices:
        yield ()
        return
    for first in choices[0]():
        for rest in _products(choices[1:]):
            yield (first, *rest)
