"""Search all mappings whose loops need not divide for the one of least energy, and state what is proven."""

import itertools
from collections.abc import Iterator

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, InputError
from jouleloop.mapping.mapping import Mapping, ended_early
from jouleloop.mapspace.nest import mapping_found
from jouleloop.mapspace.space import FREE, MOST_LISTED, MapSpace, slot_array
from jouleloop.model.arrays import SPATIAL, Bools, Floats, Ints, Records, new_nest, new_work
from jouleloop.model.encode import encode, narrowed
from jouleloop.model.semantics import rules_of
from jouleloop.model.support import Use
from jouleloop.optimum.costs import anywhere
from jouleloop.optimum.driver import SEARCH, Kernel, Task, search
from jouleloop.optimum.limit import Watch
from jouleloop.optimum.queue import Queue
from jouleloop.optimum.residual.averaged import AveragedKernel
from jouleloop.optimum.residual.bound import bound_part, bound_parts
from jouleloop.optimum.residual.counts import MOST_DIMS
from jouleloop.optimum.residual.descend import descend
from jouleloop.optimum.residual.listing import Unrollings, list_parts
from jouleloop.optimum.residual.padded import Allowance, Found, best_padded
from jouleloop.optimum.residual.size import factorizations
from jouleloop.optimum.residual.state import SLACK, Design, Trial, Unrolled, new_best, new_unrolled, new_walk, value_of
from jouleloop.optimum.result import SearchResult
from jouleloop.optimum.supported import check_search

#: How fast the limit rises below which a mapping is looked for: slower where windows slide, as what is evaluated in
#: vain takes long there.
_GROWTH, _GROWTH_WINDOWS = 3.0, 1.4
#: Work after which a mapping is looked for among layers slightly larger, seconds for that at most, and for that where
#: somebody waits for the end.
_LONG_TICKS, _PADDED_SECONDS, _LATE_SECONDS = 5_000_000, 5.0, 0.5
#: Parts that take turns.
_TURNS = 4


class ImperfectKernel(Kernel):
    """The arrays of one search.

    Raises
    ------
    InputError
        Where a problem or mapspace is none that the bounds hold for; docs/search-residual.md says which are.
    """

    use = Use.IMPERFECT
    proven = "branch and bound over all ends and orders: every part left out has a lower bound no better than this"

    def __init__(self, task: Task, counters: Records) -> None:
        super().__init__(task, counters)
        space, costs, problem, rules = task.space, task.costs, task.space.problem, rules_of(task.semantics)
        self.problem = problem
        check_search(Use.IMPERFECT, space, costs, rules, (self.objective.name,))
        whole = encode(problem, space.arch, costs, rules, space.reuse)
        self.dims = np.flatnonzero(np.array(problem.bounds) > 1)
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        self.target = narrowed(whole, self.dims)
        coef = self.target.layer.coef
        if len(self.dims) > MOST_DIMS:
            text = "too many dimensions for a search of imperfect factors"
            raise InputError(Fault(text, field="factors", value=problem.name, allowed="perfect"))
        self.mate, self.step = _mates(coef)
        self.windows = bool(self.mate.max() >= 0)
        self.relevant = (coef != 0).any(axis=1)
        self.slots = np.ascontiguousarray(slot_array(space.temporal, len(problem.bounds))[:, self.dims])
        self.levels = len(space.temporal)
        #: Choices of what is kept, all or those that keep most.
        self.all_keeps = space.keep_choices <= MOST_LISTED
        listed = (np.stack(choice, axis=1) for choice in itertools.product(*space.columns))
        self.keeps = space.keeps if self.all_keeps else list(itertools.islice(listed, MOST_LISTED))
        #: The best of layers slightly larger, once it was asked for.
        self.padded: Found | None = None
        self.asked = False
        self.best = new_best(self.levels, len(problem.data_spaces))
        self.queue = Queue(np.zeros(0), SLACK, self.follow, counters)
        self.factorizations = factorizations(space)
        self.size = self.factorizations * space.permutations * space.spatial_splits * space.keep_choices
        self.work = new_work(self.levels, len(self.relevant))

    def design(self, keep: Bools) -> Design:
        """Return what is searched under one choice of what is kept."""
        return Design(
            self.target, self.relevant, self.mate, self.step, keep, self.slots,
            self.objective.energy_power, self.objective.delay_power, self.task.limit_cycles,
        )  # fmt: skip

    def fill_parts(self) -> None:
        """List the parts, an unrolling under a choice of what is kept each, and bound them; the cheapest first."""
        self.unrollings = Unrollings(self.space, self.dims)
        listed = self.keeps if self._holds_minima() else []
        held, left_out, whole = list_parts(self.unrollings, listed, self._bounds, self.task.watch.asked)
        _, first, row = np.unique(held["at"], return_index=True, return_inverse=True)
        #: By row, the unrolling's number, and which of its choices of units that never work.
        self.rows: Ints = np.stack([held["number"][first], held["nth"][first]], axis=1)
        self.parts: Ints = np.stack([held["keep"], row.reshape(-1)], axis=1)
        #: What no mapping is below that is in none of the parts.
        self.others = left_out
        if listed and not (whole and self.unrollings.whole and self.all_keeps):
            alone = self.relevant & (self.mate < 0)
            self.others = value_of(self.design(listed[0]), *anywhere(self.target, alone, self.space.columns))
        growth = _GROWTH_WINDOWS if self.windows else _GROWTH
        self.queue = Queue(held["bound"].copy(), SLACK, self.follow, self.counters, growth=growth, turns=_TURNS)

    def _bounds(self, keep: Bools, factors: Ints, idle: Ints) -> Floats:
        """Return the bounds of unrollings under a choice of what is kept."""
        _, _, loops, numbers = self.unrollings.row(0, 0)
        room = new_unrolled(self.levels, len(self.relevant), factors[0].copy(), idle[0].copy(), loops, numbers)
        bounds = np.empty(len(factors))
        bound_parts(self.design(keep), factors, idle, room, bounds)
        return bounds

    def _holds_minima(self) -> bool:
        """Whether no open loop has to be longer than its dimension; the search itself leaves out those of size 1."""
        slots = slot_array(self.space.temporal, len(self.problem.bounds))
        return not ((slots["fixed"] == FREE) & (slots["least"] > np.array(self.problem.bounds))).any()

    def ask_padded(self, seconds: float | None, within: Watch | None = None) -> None:
        """Look for a good mapping among those of layers slightly larger, once."""
        if not self.asked and self.task.most_cycles is None:
            self.asked = True
            allowance = Allowance(self.task.budget, seconds, within)
            task = self.task
            self.padded = best_padded(task.space, task.costs, task.semantics, self.objective, allowance)
            self.queue.value = min(self.queue.value, np.inf if self.padded is None else self.padded[0])

    def _after_turn(self) -> None:
        """Ask for a mapping of other sizes where the search takes long."""
        if self.counters[0]["ticks"] > _LONG_TICKS:
            # Without a limit in seconds nothing may hang on the clock.
            limited, watch = self.task.watch.limit.seconds, self.task.watch
            self.ask_padded(None if limited is None else min(_PADDED_SECONDS, limited / 4), watch)

    def follow(self, n: int) -> Iterator[bool]:
        """Search part ``n`` to its end; yield where it is time for a pause."""
        place, index = self.parts[n]
        keep = self.keeps[place]
        design, unrolled, nest = self.design(keep), self._unrolled(int(index)), new_nest(keep)
        nest.counts[:, SPATIAL] = unrolled.numbers[:, 0]
        nest.loops[:, SPATIAL] = unrolled.loops[:, 0]
        walk = new_walk(design, unrolled, bound_part(design, unrolled))
        trial = Trial(nest, self.work, self.best, self.counters)
        queue, mark, cut, ended = self.queue, self.best.mark[0], np.inf, False
        while not ended:
            mark["value"], mark["cut"], found = min(queue.value, queue.limit), cut, int(mark["found"])
            ended = descend(design, unrolled, walk, trial)
            cut = float(mark["cut"])
            if mark["found"] > found:
                queue.value, self.padded = float(mark["value"]), None
            if not ended:
                yield False
        queue.bounds[n] = max(queue.bounds[n], min(cut, queue.value))

    def _unrolled(self, row: int) -> Unrolled:
        number, nth = self.rows[row].tolist()
        return new_unrolled(self.levels, len(self.relevant), *self.unrollings.row(number, nth))

    def subproblems(self) -> str:
        """List all parts; where there is none, no tile fits."""
        self.fill_parts()
        return "" if len(self.parts) or self.others < np.inf else self.no_mapping()

    def passes(self) -> Iterator[str]:
        """Minimise; ties are broken on the way."""
        self._slices = self.queue.run(self._after_turn)
        yield SEARCH

    def expand(self) -> bool:
        """Search parts until it is time for a pause."""
        return next(self._slices, True)

    def bound(self) -> float:
        """Return what no mapping is below: what was left out had a bound no better than the incumbent or the limit."""
        return min(self.queue.least, self.queue.value, self.others)

    @property
    def whole(self) -> bool:
        """Whether nothing better may lie in what is not listed."""
        return self.others >= self.queue.value * (1 - SLACK)

    def incumbent(self) -> float | None:
        """Return the value of the best mapping."""
        return self.queue.value if self.queue.value < np.inf else None

    def left(self) -> tuple[int, int]:
        """Return the parts below the incumbent, and all."""
        return int((self.queue.bounds < self.queue.value).sum()), len(self.parts)

    @property
    def _taken(self) -> bool:
        return self.padded is not None and (not self.best.mark[0]["found"] or self.padded[0] <= self.queue.value)

    def local_search(self, _stopped: str, _lower: float) -> None:
        """Look at layers slightly larger: it may have found nothing yet, or nothing good."""
        self.ask_padded(min(_PADDED_SECONDS, (self.task.watch.limit.seconds or 0) / 10 + _LATE_SECONDS))

    def mapping(self) -> Mapping | None:
        """Return the best mapping, of this layer or of one slightly larger."""
        if self.padded is not None and self._taken:
            return self.padded[1]
        if not self.best.mark[0]["found"]:
            return None
        best = self.best
        return ended_early(mapping_found(self.space, self.dims, best.counts, best.loops, best.keep), self.problem)

    def proof(self, stopped: str) -> str:
        """Return what proves the optimum."""
        if stopped and self._taken:
            return "the best of layers slightly larger, their loops ended early; no mapping is below the bound"
        return super().proof(stopped)

    def no_mapping(self) -> str:
        """Say that no tile fits."""
        return "no tiles satisfy constraints and capacities together"


def search_residuals(
    space: MapSpace,
    costs: EnergyCosts,
    *,
    objective: tuple[str, ...] = ("energy",),
    semantics: str = "timeloop-3.0.3",
    budget: int | None = None,
    watch: Watch | None = None,
    most_cycles: int | None = None,
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
        Where the objective is another, or the bounds do not hold, see `ImperfectKernel`.
    """
    task = Task(space, costs, objective, semantics, budget, watch or Watch(), most_cycles)
    return search(AveragedKernel if rules_of(semantics).averages_remainders else ImperfectKernel, task)


def _mates(coef: Ints) -> tuple[Ints, Ints]:
    """Return which other dimension moves the same rank of a data space, -1 for none, and by how much each moves it.

    ``coef`` has shape (data spaces, ranks, dimensions), as have both that are returned without the ranks. At most two
    dimensions move a rank, and none moves two.
    """
    mate = np.full((coef.shape[0], coef.shape[2]), -1)
    for v, r in np.ndindex(coef.shape[:2]):
        found = np.flatnonzero(coef[v, r])
        if len(found) == 2:
            mate[v, found] = found[::-1]
    return mate, coef.sum(axis=1)
