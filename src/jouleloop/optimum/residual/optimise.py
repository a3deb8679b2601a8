"""Search all mappings whose loops need not divide for the one of least energy, and state what is proven."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import LevelMapping, Mapping, factor_faults
from jouleloop.mapspace.space import FREE, MapSpace, Slot, slot_array
from jouleloop.mapspace.spatial import Arrangement, arrangements_of
from jouleloop.model.arrays import (
    MAX_LOOPS,
    SPATIAL,
    TEMPORAL,
    Bools,
    Ints,
    LayerArrays,
    NestArrays,
    WorkArrays,
    new_work,
)
from jouleloop.model.encode import encode_hardware, encode_layer
from jouleloop.model.evaluate import evaluate_mapping, first_fills_elided
from jouleloop.optimum.arrays import new_counters
from jouleloop.optimum.limit import Watch
from jouleloop.optimum.residual.bound import CROSSING, bound_unrolling
from jouleloop.optimum.residual.counts import MOST_DIMS
from jouleloop.optimum.residual.descend import (
    COUNTERS,
    CUT_BOUND,
    CUT_CAPACITY,
    MOST_NODES,
    NODES,
    SLACK,
    STOPPED,
    VISITED,
    Best,
    Design,
    Unrolled,
    descend,
    new_best,
)
from jouleloop.optimum.residual.size import factorizations
from jouleloop.optimum.result import SearchResult

#: Between two looks at the clock a search walks so many nodes more.
_NODES_AT_ONCE = 2_000_000


class ResidualSearch:
    """The arrays of one search.

    Raises
    ------
    InputError
        Where two open dimensions move one rank: the bounds hold for boxes that are equal or apart.
    """

    def __init__(self, space: MapSpace, costs: EnergyCosts, semantics: str) -> None:
        problem = space.problem
        self.space = space
        self.problem = problem
        if any(level.wired for level in space.arch.levels):
            raise InputError(Fault("no proven search of imperfect factors with energy of networks", field="wires"))
        if space.min_parallelism:
            raise InputError(
                Fault("no proven search of imperfect factors with a least parallelism", field="parallelism")
            )
        if any(space.reuse):
            raise InputError(
                Fault("no proven search of imperfect factors where a level does not reuse all", field="reuse")
            )
        whole = encode_layer(problem, space.reuse)
        self.dims = np.flatnonzero(np.array(problem.bounds) > 1)
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        coef = np.ascontiguousarray(whole.coef[:, :, self.dims])
        if ((coef != 0).sum(axis=2) > 1).any() or len(self.dims) > MOST_DIMS:
            text = "no proven search of imperfect factors over sliding windows"
            raise InputError(Fault(text, field="factors", value=problem.name, allowed="perfect"))
        self.layer = LayerArrays(coef, whole.read_write, whole.bounds[self.dims], whole.reuse)
        self.relevant = (coef != 0).any(axis=1)
        self.spec = encode_hardware(space.arch, costs)
        self.compute_pj = costs.compute_pj
        self.elided = first_fills_elided(semantics)
        self.slots = np.ascontiguousarray(slot_array(space.temporal, len(problem.bounds))[:, self.dims])
        self.levels = len(space.temporal)
        self.counters = np.zeros(COUNTERS, np.int64)
        self._unlimited = new_counters(None)

    def design(self, keep: Bools) -> Design:
        """Return what is searched under one choice of what is kept."""
        return Design(self.layer, self.relevant, self.spec, self.compute_pj, self.elided, keep, self.slots)

    def unrollings(self) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[tuple[Arrangement, ...], ...]]]:
        """Yield spatial factors by level and dimension, and the arrangements of every level on its mesh."""
        options = []
        for slot, fanout in zip(self.space.spatial, self.space.arch.fanout[::-1], strict=True):
            options.append(list(self._level_factors(slot, fanout)))
        for chosen in itertools.product(*options):
            yield tuple(factors for factors, _ in chosen), tuple(arrangements for _, arrangements in chosen)

    def _level_factors(
        self, slot: Slot | None, fanout: tuple[int, int]
    ) -> Iterator[tuple[tuple[int, ...], tuple[Arrangement, ...]]]:
        if slot is None:
            yield (1,) * len(self.problem.bounds), ((),)
            return
        units = math.prod(fanout)
        choices = [
            (fixed,) if fixed != FREE else tuple(range(least, min(most, bound, units) + 1))
            for fixed, least, most, bound in zip(slot.fixed, slot.least, slot.most, self.problem.bounds, strict=True)
        ]
        for factors in _products(choices, units):
            found = arrangements_of(slot.rank, slot.split, factors, fanout)
            if found:
                yield factors, found

    def run(self, best: Best, watch: Watch, keep: Bools) -> float:
        """Search one choice of what is kept; return a lower bound on the energy [pJ] of its mappings."""
        design = self.design(keep)
        spaces = len(self.relevant)
        fixed = np.array(
            [[0] * len(self.dims) if s is None else [s.fixed[d] > 1 for d in self.dims] for s in self.space.spatial],
            np.bool_,
        )
        roots: list[tuple[float, int, Unrolled]] = []
        for factors, arrangements in self.unrollings():
            table = np.ascontiguousarray(np.array(factors, np.int64)[:, self.dims])
            for idle in _idle(table, fixed):
                unrolled = self._unrolled(table, idle, arrangements, spaces)
                root_pj = bound_unrolling(
                    self.layer.bounds, self.relevant, self.layer.read_write, self.spec, self.compute_pj, self.elided,
                    keep, table, idle, unrolled.crossings, unrolled.counts, unrolled.instances,
                )  # fmt: skip
                roots.append((root_pj, len(roots), unrolled))
        roots.sort(key=lambda one: one[:2])
        work = new_work(self.levels, spaces, residual=True)
        least_pj = np.inf
        for root_pj, _, unrolled in roots:
            if root_pj >= best.value[0] * (1 - SLACK):
                self.counters[CUT_BOUND] += 1
                continue
            if watch.stopped(self._unlimited):
                self.counters[STOPPED] = 1
            if self.counters[STOPPED]:
                least_pj = min(least_pj, root_pj)
                continue
            self._descend(design, unrolled, root_pj, work, best, limited=watch.limit.seconds is not None)
            if self.counters[STOPPED]:
                least_pj = min(least_pj, root_pj)
        return least_pj

    def _descend(
        self, design: Design, unrolled: Unrolled, root_pj: float, work: WorkArrays, best: Best, *, limited: bool
    ) -> None:
        nest = NestArrays(
            np.zeros((self.levels, 2), np.int64), np.zeros((self.levels, 2, MAX_LOOPS, 3), np.int64), design.keep
        )
        nest.counts[:, SPATIAL] = unrolled.numbers[:, 0]
        nest.loops[:, SPATIAL] = unrolled.loops[:, 0]
        if limited:
            # The clock is looked at between unrollings; so none of them may take long.
            self.counters[MOST_NODES] = self.counters[NODES] + _NODES_AT_ONCE
        descend(design, unrolled, root_pj, work, nest, best, self.counters)

    def _unrolled(
        self, factors: Ints, idle: Bools, arrangements: tuple[tuple[Arrangement, ...], ...], spaces: int
    ) -> Unrolled:
        place = {int(d): i for i, d in enumerate(self.dims)}
        most = max(len(found) for found in arrangements)
        loops = np.zeros((self.levels, most, MAX_LOOPS, 3), np.int64)
        numbers = np.zeros((self.levels, 2), np.int64)
        for level, found in enumerate(arrangements):
            numbers[level] = len(found[0]), len(found)
            for n, arrangement in enumerate(found):
                for i, (d, bound, axis) in enumerate(arrangement):
                    loops[level, n, i] = place[d], bound, axis
        crossings = np.zeros((spaces, self.levels, CROSSING))
        counts, instances = np.zeros(spaces, np.int64), np.zeros(self.levels)
        return Unrolled(factors, idle, crossings, counts, instances, loops, numbers)

    def mapping(self, best: Best) -> Mapping:
        """Return the best nest as a mapping."""
        names = [self.problem.shape.dimensions[d] for d in self.dims]
        spaces = [s.name for s in self.problem.data_spaces]
        levels = []
        for position, name in enumerate(self.space.arch.level_names):
            k = self.levels - 1 - position
            times, places = (best.loops[k, kind, : best.counts[k, kind]] for kind in (TEMPORAL, SPATIAL))
            levels.append(
                LevelMapping(
                    name,
                    tuple((names[d], int(bound)) for d, bound, _ in times),
                    tuple((names[d], int(bound), "XY"[axis]) for d, bound, axis in places),
                    frozenset(s for v, s in enumerate(spaces) if best.keep[k, v]),
                )
            )
        perfect = Mapping(tuple(levels))
        early = {fault.field for fault in factor_faults(perfect, self.problem)}
        return Mapping(perfect.levels, tuple(sorted((d, self.problem.bound[d]) for d in early if d)))


def search_residuals(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    watch: Watch | None = None,
) -> SearchResult:
    """Return the mapping of least energy among all whose loops need not divide.

    Parameters
    ----------
    watch
        May stop the search; the result then has the lower bound of what was not searched, and is not called optimal.

    Raises
    ------
    InputError
        Where something else than energy is to be least, or windows slide over a data space.
    """
    if objective != ("energy",):
        text = "imperfect factors are searched for the least energy alone"
        raise InputError(Fault(text, field="objective", value=list(objective), allowed="energy"))
    watch = watch or Watch()
    watch.begin(None)
    search = ResidualSearch(space, costs, semantics)
    best = new_best(search.levels, len(space.problem.data_spaces))
    least_pj = min((search.run(best, watch, keep) for keep in space.keeps), default=np.inf)
    stopped = bool(search.counters[STOPPED])
    chains = factorizations(space)
    result = SearchResult(
        "ok",
        objective=objective,
        mapspace_size=chains * space.permutations * space.spatial_splits * len(space.keeps),
        index_factorizations=chains,
        seconds=watch.seconds,
    )
    pruned = {
        "bound": int(search.counters[CUT_BOUND]),
        "capacity": int(search.counters[CUT_CAPACITY]),
        "nodes": int(search.counters[NODES]),
    }
    result = replace(result, visited=int(search.counters[VISITED]), pruned=pruned)
    if not best.found[0]:
        reason = "no tiles satisfy constraints and capacities together"
        if stopped:
            reason = "the limit was reached before a mapping was found"
        return replace(result, status="no_mapping", reason=reason)
    mapping = search.mapping(best)
    evaluation = evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)
    value = evaluation.energy_pj
    proof = "branch and bound over all ends and orders: every part left out has a lower bound no better than this"
    if stopped:
        proof = "the limit ended the search; the bound is that of what was not searched"
    return replace(
        result,
        mapping=mapping,
        evaluation=evaluation,
        lower_bound=min(value, least_pj) if stopped else value,
        optimal=not stopped,
        proof=proof,
    )


def _products(options: list[tuple[int, ...]], most_units: int) -> Iterator[tuple[int, ...]]:
    """Yield one choice an option, in ascending order, of which the product is at most ``most_units``."""
    if not options:
        yield ()
        return
    for factor in options[0]:
        if factor > most_units:
            break
        for more in _products(options[1:], most_units // factor):
            yield (factor, *more)


def _idle(factors: Ints, fixed: Bools) -> Iterator[Bools]:
    """Yield which unrolled dimensions leave units without work in every step: only fixed factors may."""
    places = np.argwhere(fixed & (factors > 1))
    for choice in itertools.product((False, True), repeat=len(places)):
        idle = np.zeros(factors.shape, np.bool_)
        for place, unused in zip(places, choice, strict=True):
            idle[tuple(place)] = unused
        yield idle
