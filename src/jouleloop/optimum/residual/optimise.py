"""Search all mappings whose loops need not divide for the one of least energy, and state what is proven."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import Mapping, ended_early
from jouleloop.mapspace.nest import mapping_found
from jouleloop.mapspace.space import FREE, MapSpace, Slot, slot_array
from jouleloop.mapspace.spatial import Arrangement, arrangements_of
from jouleloop.model.arrays import (
    MAX_LOOPS,
    SPATIAL,
    Bools,
    Ints,
    LayerArrays,
    NestArrays,
    new_work,
)
from jouleloop.model.encode import encode_hardware, encode_layer
from jouleloop.model.evaluate import evaluate_mapping, first_fills_elided
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.optimum.arrays import NODES, PAUSE, TICKS, new_counters
from jouleloop.optimum.candidates import MOST_UNROLLINGS
from jouleloop.optimum.limit import Progress, Watch
from jouleloop.optimum.residual.counts import MOST_DIMS
from jouleloop.optimum.residual.descend import bound_part, bound_parts, descend
from jouleloop.optimum.residual.padded import Allowance, Found, best_padded
from jouleloop.optimum.residual.size import factorizations
from jouleloop.optimum.residual.state import (
    SLACK,
    Best,
    Design,
    Unrolled,
    new_best,
    new_unrolled,
    new_walk,
)
from jouleloop.optimum.result import SearchResult, concluded, counted

#: How far above the least bound a mapping is looked for at first, relatively, and how that grows: slower where windows
#: slide, as what is evaluated in vain takes long there.
_FIRST_SHARE, _GROWTH, _GROWTH_WINDOWS = 1e-3, 3.0, 1.4
#: Work after which a mapping is looked for among layers slightly larger, seconds for that at most, and for that where
#: somebody waits for the end.
_LONG_TICKS, _PADDED_SECONDS, _LATE_SECONDS = 5_000_000, 5.0, 0.5
#: Parts that take turns, and how long a turn is.
_TURNS, _TURN_TICKS = 4, 500_000


class ResidualSearch:
    """The arrays of one search.

    Raises
    ------
    InputError
        Where a problem or mapspace is none that the bounds hold for; docs/search-residual.md says which are.
    """

    def __init__(
        self, space: MapSpace, costs: EnergyCosts, semantics: str, objective: Objective = OBJECTIVES["energy"]
    ) -> None:
        problem = space.problem
        self.objective = objective
        self.space, self.costs, self.semantics = space, costs, semantics
        self.problem = problem
        if costs.wired(space.arch):
            raise InputError(Fault("no proven search of imperfect factors with energy of networks", field="wires"))
        if space.arch.spreading:
            raise InputError(Fault("no proven search of imperfect factors with M:N networks", field="network-type"))
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
        if len(self.dims) > MOST_DIMS:
            text = "too many dimensions for a search of imperfect factors"
            raise InputError(Fault(text, field="factors", value=problem.name, allowed="perfect"))
        self.mate, self.step = _mates(coef)
        self.windows = bool(self.mate.max() >= 0)
        if (self.mate[whole.read_write] >= 0).any() or (coef[whole.read_write] > 1).any():
            text = "no search of imperfect factors where windows of outputs overlap or their words lie apart"
            raise InputError(Fault(text, field="factors", value=problem.name, allowed="perfect"))
        self.layer = LayerArrays(coef, whole.read_write, whole.bounds[self.dims], whole.reuse)
        self.relevant = (coef != 0).any(axis=1)
        self.spec = encode_hardware(space.arch, costs)
        self.compute_pj = costs.compute_pj
        self.elided = first_fills_elided(semantics)
        self.slots = np.ascontiguousarray(slot_array(space.temporal, len(problem.bounds))[:, self.dims])
        self.levels = len(space.temporal)
        self.fixed = np.array(
            [[0] * len(self.dims) if s is None else [s.fixed[d] > 1 for d in self.dims] for s in space.spatial],
            np.bool_,
        )
        self.counters, self.found_value = new_counters(), np.inf
        #: The best of layers slightly larger, once it was asked for.
        self.padded: Found | None = None
        self.asked = False
        self.budget: int | None = None
        self.work = new_work(self.levels, len(self.relevant))

    def design(self, keep: Bools) -> Design:
        """Return what is searched under one choice of what is kept."""
        return Design(
            self.layer, self.relevant, self.mate, self.step, self.spec, self.compute_pj, self.elided, keep, self.slots,
            self.objective.energy_power, self.objective.delay_power,
        )  # fmt: skip

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

    def fill_parts(self) -> None:
        """List all parts, an unrolling under a choice of what is kept each, and bound them; the cheapest first."""
        options = [
            list(self._level_factors(slot, fanout))
            for slot, fanout in zip(self.space.spatial, self.space.arch.fanout[::-1], strict=True)
        ]
        count = math.prod(map(len, options))
        if count > MOST_UNROLLINGS:
            text = "too many unrollings for a search of imperfect factors; constraints on spatial ones cut them"
            raise InputError(Fault(text, field="factors", value=count, allowed=f"at most {MOST_UNROLLINGS:,}"))
        chosen = np.indices([len(found) for found in options]).reshape(self.levels, -1).T
        tables = [
            np.array([one for one, _ in found], np.int64).reshape(-1, len(self.problem.bounds)) for found in options
        ]
        factors = np.stack([table[chosen[:, k]] for k, table in enumerate(tables)], axis=1)[:, :, self.dims]
        which, idle = _idle(factors, self.fixed)
        factors, chosen = np.ascontiguousarray(factors[which]), chosen[which]
        self.factors, self.idle, self.chosen = factors, idle, np.ascontiguousarray(chosen)
        self.parts, self.bounds = np.zeros((0, 2), np.int64), np.zeros(0)
        if not len(factors):
            return
        self._fill_arrangements([[found for _, found in level] for level in options])
        bounds = np.full((len(self.space.keeps), len(factors)), np.inf)
        for n, keep in enumerate(self.space.keeps):
            bound_parts(self.design(keep), factors, idle, self._unrolled(0), bounds[n])
        order = np.argsort(bounds, axis=None, kind="stable")
        self.parts = np.stack(np.unravel_index(order, bounds.shape), axis=1)
        self.bounds = bounds.ravel()[order]

    def run(self, best: Best, watch: Watch, budget: int | None = None) -> tuple[float, str]:
        """Search all parts; return a lower bound on the value of all mappings, and what stopped the search.

        The search looks for a mapping a little above the least bound, and further up where there is none: so parts and
        nodes are followed no further than the optimum asks for.
        """
        self.budget, self.counters = budget, watch.begin(budget)
        self.fill_parts()
        if not len(self.parts):
            return np.inf, ""
        slices = self._slices(best, watch)
        stopped = watch.run(lambda: next(slices, True), self.counters, lambda: self._progress(watch))
        # What was left out had a bound no better than the best, or than the limit that its part has as a bound.
        return float(min(self.bounds.min(), self.found_value)), stopped

    def ask_padded(self, seconds: float | None, within: Watch | None = None) -> None:
        """Look for a good mapping among those of layers slightly larger, once."""
        if not self.asked:
            self.asked = True
            allowance = Allowance(self.budget, seconds, within)
            self.padded = best_padded(self.space, self.costs, self.semantics, self.objective, allowance)
            self.found_value = min(self.found_value, np.inf if self.padded is None else self.padded[0])

    def _slices(self, best: Best, watch: Watch) -> Iterator[bool]:
        """Search all parts; yield False where it is time for a pause."""
        least, share = float(self.bounds.min()), _FIRST_SHARE
        while self.bounds.min() < self.found_value * (1 - SLACK):
            # Nothing is below what was left out before.
            limit = max(least * (1 + share), float(self.bounds.min()) * (1 + _FIRST_SHARE)) or np.inf
            share *= _GROWTH_WINDOWS if self.windows else _GROWTH
            waiting = iter(np.argsort(self.bounds, kind="stable").tolist())
            # A few parts take turns, so that none keeps the others waiting.
            turns: deque[tuple[int, Iterator[bool], float]] = deque()
            while True:
                while len(turns) < _TURNS:
                    n = next(waiting, -1)
                    if n < 0 or self.bounds[n] >= min(self.found_value, limit) * (1 - SLACK):
                        waiting = iter(())
                        break
                    turns.append((n, self.follow(n, best), np.inf))
                if not turns:
                    break
                n, follow, best.cut[0] = turns.popleft()
                until, paused = self.counters[TICKS] + _TURN_TICKS, True
                while paused and self.counters[TICKS] < until:
                    best.value[0], found = min(self.found_value, limit), int(best.found[0])
                    self.counters[PAUSE] = min(self.counters[PAUSE], until)
                    paused = next(follow, True) is False
                    if best.found[0] > found:
                        self.found_value, self.padded = float(best.value[0]), None
                    if paused:
                        yield False
                if paused:
                    turns.append((n, follow, float(best.cut[0])))
                    if self.counters[TICKS] > _LONG_TICKS:
                        # Without a limit in seconds nothing may hang on the clock.
                        limited = watch.limit.seconds
                        self.ask_padded(None if limited is None else min(_PADDED_SECONDS, limited / 4), watch)
                else:
                    self.bounds[n] = max(self.bounds[n], min(float(best.cut[0]), self.found_value))

    def follow(self, n: int, best: Best) -> Iterator[bool]:
        """Search part ``n`` to its end; yield where it is time for a pause."""
        place, index = self.parts[n]
        keep = self.space.keeps[place]
        design, unrolled, nest = self.design(keep), self._unrolled(int(index)), self._nest(keep)
        nest.counts[:, SPATIAL] = unrolled.numbers[:, 0]
        nest.loops[:, SPATIAL] = unrolled.loops[:, 0]
        walk = new_walk(design, unrolled, bound_part(design, unrolled))
        while not descend(design, unrolled, walk, self.work, nest, best, self.counters):
            yield False

    def _progress(self, watch: Watch) -> Progress:
        lower = min(float(self.bounds.min()), self.found_value)
        found = self.found_value if self.found_value < np.inf else None
        left = int((self.bounds < self.found_value).sum())
        nodes = int(self.counters[NODES])
        return Progress(watch.seconds, found, lower, self.objective.unit, left, len(self.parts), nodes)

    def _nest(self, keep: Bools) -> NestArrays:
        return NestArrays(
            np.zeros((self.levels, 2), np.int64), np.zeros((self.levels, 2, MAX_LOOPS, 3), np.int64), keep
        )

    def _fill_arrangements(self, options: list[list[tuple[Arrangement, ...]]]) -> None:
        """Write the arrangements of all choices of a level's spatial factors, see `Unrolled`."""
        place = {int(d): i for i, d in enumerate(self.dims)}
        choices = max(map(len, options))
        most = max(len(found) for level in options for found in level)
        self.loops = np.zeros((self.levels, choices, most, MAX_LOOPS, 3), np.int64)
        self.numbers = np.zeros((self.levels, choices, 2), np.int64)
        for level, c in ((level, c) for level, found in enumerate(options) for c in range(len(found))):
            several = options[level][c]
            self.numbers[level, c] = len(several[0]), len(several)
            for n, arrangement in enumerate(several):
                for i, (d, bound, axis) in enumerate(arrangement):
                    self.loops[level, c, n, i] = place[d], bound, axis

    def _unrolled(self, index: int) -> Unrolled:
        levels, chosen = np.arange(self.levels), self.chosen[index]
        loops, numbers = self.loops[levels, chosen], self.numbers[levels, chosen]
        factors, idle = self.factors[index].copy(), self.idle[index].copy()
        return new_unrolled(self.levels, len(self.relevant), factors, idle, loops, numbers)

    def mapping(self, best: Best) -> Mapping:
        """Return the best nest as a mapping."""
        return ended_early(mapping_found(self.space, self.dims, best.counts, best.loops, best.keep), self.problem)


def search_residuals(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    budget: int | None = None,
    watch: Watch | None = None,
) -> SearchResult:
    """Return the mapping of least energy, delay or product of both among all whose loops need not divide.

    Parameters
    ----------
    objective
        One of `OBJECTIVES`.
    budget
        Most mappings to evaluate; the result is optimal only where the search ended by itself.
    watch
        May stop the search; the result then has the lower bound of what was not searched, and is not called optimal.

    Raises
    ------
    InputError
        Where the objective is another, or the bounds do not hold, see `ResidualSearch`.
    """
    if len(objective) != 1 or objective[0] not in OBJECTIVES:
        text = "imperfect factors are searched for one objective"
        raise InputError(Fault(text, field="objective", value=list(objective), allowed=", ".join(OBJECTIVES)))
    watch = watch or Watch()
    search = ResidualSearch(space, costs, semantics, OBJECTIVES[objective[0]])
    best = new_best(search.levels, len(space.problem.data_spaces))
    least, stopped = search.run(best, watch, budget)
    if stopped:
        # It may have found nothing yet, or nothing good.
        search.ask_padded(min(_PADDED_SECONDS, (watch.limit.seconds or 0) / 10 + _LATE_SECONDS))
    chains = factorizations(space)
    result = SearchResult(
        "ok",
        objective=objective,
        mapspace_size=chains * space.permutations * space.spatial_splits * len(space.keeps),
        index_factorizations=chains,
        stopped=stopped,
        seconds=watch.seconds,
    )
    mapping = search.mapping(best) if best.found[0] else None
    padded = search.padded
    taken = padded is not None and (mapping is None or padded[0] <= search.found_value)
    if padded is not None and taken:
        mapping = padded[1]
    found = None
    if mapping is not None:
        found = mapping, evaluate_mapping(space.problem, space.arch, costs, mapping, semantics)
    proof = "branch and bound over all ends and orders: every part left out has a lower bound no better than this"
    nothing = "no tiles satisfy constraints and capacities together"
    result = concluded(counted(result, search.counters), found, least, proof, nothing)
    if stopped and taken:
        proof = "the best of layers slightly larger, their loops ended early; no mapping is below the bound"
        result = replace(result, proof=proof)
    return result


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


def _mates(coef: Ints) -> tuple[Ints, Ints]:
    """Return which other dimension moves the same rank of a data space, -1 for none, and by how much each moves it.

    ``coef`` has shape (data spaces, ranks, dimensions), as have both that are returned without the ranks.

    Raises
    ------
    InputError
        Where more than two dimensions move a rank, or one moves two.
    """
    mate = np.full((coef.shape[0], coef.shape[2]), -1)
    for v, r in np.ndindex(coef.shape[:2]):
        found = np.flatnonzero(coef[v, r])
        if len(found) == 2:
            mate[v, found] = found[::-1]
        if len(found) > 2 or (coef[v][:, found] != 0).sum() > len(found):
            text = "no search of imperfect factors where a rank is moved by more than two dimensions"
            raise InputError(Fault(text, field="factors", allowed="perfect"))
    return mate, coef.sum(axis=1)


def _idle(factors: Ints, fixed: Bools) -> tuple[Ints, Bools]:
    """Return all choices of which unrolled dimensions leave units without work in every step: only fixed factors may.

    ``factors`` has shape (unrollings, levels, dimensions); returned are the unrolling of each choice, and the choice.
    """
    which, chosen = [np.arange(len(factors))], [np.zeros(factors.shape, np.bool_)]
    for level, d in np.argwhere(fixed):
        index, idle = np.concatenate(which), np.concatenate(chosen)
        may = factors[index, level, d] > 1
        unused = idle[may]
        unused[:, level, d] = True
        which, chosen = [index, index[may]], [idle, unused]
    return np.concatenate(which), np.concatenate(chosen)
