"""A good mapping before any proof: walks over whole mappings, then exact searches of what the best of them keep.

Whatever is found is a mapping of the space, so the optimum is no higher. Work is counted and not timed.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jouleloop.division import divisors, factorised, primes
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import MappingError
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.nest import mapping_found
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace, slot_array
from jouleloop.model.arrays import SPATIAL, TEMPORAL, Bools, Ints, new_nest, new_work
from jouleloop.model.encode import encode, narrowed
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import Objective
from jouleloop.model.semantics import rules_of
from jouleloop.optimum.anneal import Model, Point, Room, anneal, value_of
from jouleloop.optimum.arrays import MAX_PRIMES

#: By walk the number of its seed, and whether it begins at the best mapping so far; the others begin at a simple one.
_WALKS = *((n, False) for n in (1, 2, 3)), (11, True), (12, True), *((n, False) for n in (4, 5, 6, 7, 8))
#: Evaluations of each, at most, and for every slot that a prime factor may stand at: a second of work in all.
EVALUATIONS, _EVALUATIONS_A_PLACE = 12_000, 50
#: Temperature that a walk begins at: of those from the simplest mapping, and of those from the best one.
_HOT, _WARM = 0.4, 0.05
#: Instances that are counted in as much time as all else of an evaluation.
_FAST_INSTANCES = 8192
#: Choices of what is kept that are searched, at most; and how many of them the walks propose.
MOST_SOLVED, _CHOICES = 40, 4
#: By what share one of them has to be better, so that its neighbours are searched too.
_WORTH_WHILE = 1e-3


#: By data space, its choice of levels that keep it.
Choice = tuple[int, ...]


@dataclass(frozen=True)
class Incumbent:
    """What was found, and its value."""

    value: float
    mapping: Mapping
    evaluation: Evaluation


class Walker:
    """Finds mappings of a mapspace by random walks.

    Parameters
    ----------
    semantics
        Whose counting rules hold.
    columns
        By data space the choices of levels that keep it, of those of the mapspace.
    """

    def __init__(
        self, space: MapSpace, costs: EnergyCosts, objective: Objective, semantics: str, columns: Sequence[Bools]
    ) -> None:
        problem, rules = space.problem, rules_of(semantics)
        self.columns = columns
        self.space, self.costs, self.objective, self.semantics = space, costs, objective, semantics
        # Loops of dimensions of bound 1 are none.
        self.dims = np.flatnonzero(np.array(problem.bounds) > 1)
        if not len(self.dims):
            self.dims = np.zeros(1, np.int64)
        target = narrowed(encode(problem, space.arch, costs, rules, space.reuse), self.dims)
        units, windows = math.prod(x * y for x, y in space.arch.fanout), (target.layer.coef != 0).sum(axis=2) > 1
        #: How many times longer an evaluation takes: of windows every instance is looked at.
        self._slow = 1 + units // _FAST_INSTANCES if windows.any() else 1
        levels, spaces = len(space.temporal), len(problem.data_spaces)
        nest = new_nest(np.zeros((levels, spaces), np.bool_))
        self.model = Model(target, nest, new_work(levels, spaces))
        self.room = self._room(objective)

    def _room(self, objective: Objective) -> Room:
        space = self.space
        dims = len(space.problem.bounds)
        none = FactorSlot((1,) * dims, (1,) * dims, (1,) * dims, (0,) * dims)
        spatial = [none if slot is None else slot for slot in space.spatial]
        slots = np.stack([slot_array(space.temporal, dims), slot_array(tuple(spatial), dims)])
        found = [sorted(set(primes(space.problem.bounds[d]))) for d in self.dims]
        prime = np.ones((len(self.dims), MAX_PRIMES), np.int64)
        for row, own in zip(prime, found, strict=True):
            row[: len(own)] = own
        column, flip = _columns(self.columns)
        rank = slots["rank"][SPATIAL]
        closed = (np.delete(rank, self.dims, axis=1)[:, None] <= rank[:, self.dims, None]).sum(axis=2)
        return Room(
            np.ascontiguousarray(slots[:, :, self.dims]),
            np.array([-1 if slot.split is None else slot.split for slot in spatial], np.int64),
            closed.astype(np.int64),
            prime,
            np.array([len(own) for own in found], np.int64),
            column,
            np.array([len(own) for own in self.columns], np.int64),
            flip,
            np.array([space.min_parallelism]),
            np.array([float(objective.energy_power), float(objective.delay_power)]),
        )

    def start(self) -> Point | None:
        """Return a simple mapping to begin at, all loops outermost, if one is allowed."""
        kept = [column.sum(axis=1) for column in self.columns]
        # What keeps much leaves less room to move: it is for where nothing else is allowed.
        for choice in ([int(own.argmin()) for own in kept], [int(own.argmax()) for own in kept]):
            point = self._start(choice)
            if point is not None and math.isfinite(value_of(self.room, self.model, point)):
                return point
        return None

    def near(self, choice: Choice) -> Iterator[Choice]:
        """Yield the choices that differ by one level of one data space."""
        for v, own in enumerate(choice):
            for other in self.room.flip[v, own].tolist():
                if other >= 0:
                    yield (*choice[:v], other, *choice[v + 1 :])

    def _start(self, kept: Sequence[int]) -> Point | None:
        """Return the point that puts all loops as far outside as they may be; none where no factors are allowed."""
        levels, dims = len(self.space.temporal), len(self.dims)
        factor = np.ones((2, levels, dims), np.int64)
        for d, bound in enumerate(self.model.target.layer.bounds.tolist()):
            slot = self.room.slot[:, :, d]
            own = np.where(slot["fixed"] == FREE, slot["least"], slot["fixed"])
            rest, over = divmod(bound, int(np.prod(own)))
            for kind, level in [(TEMPORAL, k) for k in range(levels)][::-1] + [(SPATIAL, k) for k in range(levels)]:
                fixed, most = int(slot["fixed"][kind, level]), int(slot["most"][kind, level])
                if fixed != FREE or over or rest == 1:
                    continue
                more = max(f for f in divisors(rest) if f == 1 or own[kind, level] * f <= most)
                own[kind, level] *= more
                rest //= more
            if over or rest > 1:
                return None
            factor[:, :, d] = own
        order = np.tile(np.arange(dims), (2, levels, 1))
        return Point(factor, order, np.array(kept, np.int64))

    @property
    def evaluations(self) -> int:
        """Evaluations of a walk: few where there is little to choose."""
        factors = sum(power for bound in self.model.target.layer.bounds.tolist() for _, power in factorised(bound))
        return min(EVALUATIONS, _EVALUATIONS_A_PLACE * max(1, len(self.space.slots) * factors)) // self._slow

    def walk(self, start: Point, seed: int, evaluations: int, hot: float = _HOT) -> tuple[float, Point]:
        """Return the best point of a walk, and the logarithm of its value."""
        at, best, trial = (Point(*(array.copy() for array in start)) for _ in range(3))
        least = anneal(self.room, self.model, (at, best, trial), seed, evaluations, hot)
        return float(least), best

    def found(self, point: Point) -> Incumbent | None:
        """Return a point as a mapping, counted in full; none where it is no mapping of the space."""
        if not math.isfinite(value_of(self.room, self.model, point)):
            return None
        nest = self.model.nest
        mapping = mapping_found(self.space, self.dims, nest.counts, nest.loops, nest.keep)
        space = self.space
        try:
            evaluation = evaluate_mapping(space.problem, space.arch, self.costs, mapping, self.semantics)
        except MappingError:
            return None
        return Incumbent(self.objective.value(evaluation), mapping, evaluation)


def _columns(columns: Sequence[Bools]) -> tuple[Bools, Ints]:
    """Return `Room.column` and `Room.flip`."""
    most, levels = max(map(len, columns)), columns[0].shape[1]
    column = np.zeros((len(columns), most, levels), np.bool_)
    flip = np.full((len(columns), most, levels), -1, np.int64)
    for v, own in enumerate(columns):
        column[v, : len(own)] = own
        number = {row.tobytes(): n for n, row in enumerate(own)}
        for n, row in enumerate(own):
            for level in range(levels):
                other = row.copy()
                other[level] = not other[level]
                flip[v, n, level] = number.get(other.tobytes(), -1)
    return column, flip


#: Searches all mappings of a choice for one below a value; none where there is none, or it took too long.
Solve = Callable[[Choice, float], Incumbent | None]


class Outside:
    """Looks for a good mapping outside the tree, a step at a time: walks, then searches of one choice.

    Parameters
    ----------
    solve
        What tells the best mapping of a choice of what is kept, if anything does.
    solved
        How often that may be asked.
    most_cycles
        The most cycles of a mapping that counts.
    """

    def __init__(
        self, walker: Walker, solve: Solve | None = None, *, solved: int = MOST_SOLVED, most_cycles: float = math.inf
    ) -> None:
        self._walker, self._solve, self._left, self._most_cycles = walker, solve, solved, most_cycles
        #: The best mapping so far.
        self.best: Incumbent | None = None
        self._start = walker.start()
        self._walks = list(_WALKS) if self._start else []
        self._found: list[tuple[float, Point]] = []
        self._waiting: list[Choice] = []
        self._seen: set[Choice] = set()

    @property
    def walks(self) -> bool:
        """Whether a walk is left."""
        return bool(self._walks)

    @property
    def begun(self) -> bool:
        """Whether a step was taken."""
        return bool(self._found)

    @property
    def ended(self) -> bool:
        """Whether no step is left."""
        waits = self.best is not None and self._solve is not None and self._left > 0 and bool(self._waiting)
        return not self._walks and not waits

    def step(self) -> None:
        """Take the next walk, or search the next choice. Equal inputs give equal mappings."""
        if self._walks:
            self._walk()
        elif not self.ended:
            self._search_one()

    def _walk(self) -> None:
        number, warm = self._walks.pop(0)
        # Multiples of an odd number, below 2^62.
        seed = (number * 0x2545F4914F6CDD1D) % (1 << 62) | 1
        start = min(self._found, key=lambda one: one[0])[1] if warm or self._start is None else self._start
        value, point = self._walker.walk(start, seed, self._walker.evaluations, _WARM if warm else _HOT)
        self._found.append((value, point))
        self._take(self._walker.found(point))
        if not self._walks:
            self._found.sort(key=lambda one: one[0])
            self._waiting = list(dict.fromkeys(tuple(p.choice.tolist()) for _, p in self._found))[:_CHOICES][::-1]
            self._seen = set(self._waiting)

    def _search_one(self) -> None:
        """Search a choice below the best value; where that helps, the choices that differ at one level follow."""
        if self._solve is None or self.best is None:
            return
        choice = self._waiting.pop()
        self._left -= 1
        before = self.best.value
        self._take(self._solve(choice, before))
        if self.best.value >= before * (1 - _WORTH_WHILE):
            return
        near = [one for one in self._walker.near(choice) if one not in self._seen]
        self._waiting += near[::-1]
        self._seen.update(near)

    def _take(self, found: Incumbent | None) -> None:
        """Keep a mapping that is better than the best one."""
        if found is None or found.evaluation.cycles > self._most_cycles:
            return
        if self.best is None or found.value < self.best.value:
            self.best = found
