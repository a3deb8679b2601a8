"""Good mappings where loops need not divide: the optimum of a slightly larger layer, its loops ended early.

Sizes of many divisors have mappings that fill levels and units well. Such a mapping, cut short at the layer's own
sizes, is one of its mappings; the model counts what it costs. Nothing is proven by it: it is an upper bound.
"""

import math
import time
from dataclasses import dataclass, replace

from jouleloop.division import divisors
from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, JouleloopError, MappingError
from jouleloop.mapping.mapping import LevelMapping, Mapping
from jouleloop.mapspace.space import FREE, FactorSlot, MapSpace
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.evaluation import Evaluation
from jouleloop.model.objective import Objective
from jouleloop.optimum.limit import Limit, Watch
from jouleloop.optimum.optimise import search_mapspace
from jouleloop.workload.problem import Problem

#: How much larger a size may be, relatively, how many of them are tried, and how often all dimensions take their turn.
_LARGER, _SIZES, _ROUNDS = 0.15, 3, 2

#: Work where there are no seconds: of all sizes, and of each for what is done before the search counts.
_MOST_TICKS, _TICKS_A_SIZE = 10_000_000, 100_000

Found = tuple[float, Mapping, Evaluation]


@dataclass
class Allowance:
    """What may be spent on other sizes: evaluations of the first sizes alone, or seconds, or else work that is counted.

    Equal inputs give equal mappings where it is not seconds.
    """

    budget: int | None = None
    seconds: float | None = None
    within: Watch | None = None
    """The watch of the search that asks, where what stops that one ends this."""
    ticks: int = _MOST_TICKS

    def __post_init__(self) -> None:
        self.until = math.inf if self.seconds is None or self.budget is not None else time.monotonic() + self.seconds
        self.counted = self.budget is None and self.seconds is None

    @property
    def spent(self) -> bool:
        """Whether no other sizes may be tried."""
        asked = self.within is not None and self.within.asked()
        return bool(asked) or self.budget is not None or time.monotonic() > self.until or self.ticks <= 0

    def watch(self) -> Watch:
        """Return the watch of the search of one size."""
        seconds = None if self.until == math.inf else max(0.01, self.until - time.monotonic())
        return Watch(Limit(seconds, ticks=self.ticks if self.counted else None), within=self.within)

    def spend(self, watch: Watch) -> None:
        """Take off what the search of one size took."""
        self.ticks -= (watch.worked + _TICKS_A_SIZE) if self.counted else 0


def sizes_of(bound: int, multiple: int) -> list[int]:
    """Return a size and the slightly larger ones of most divisors, all of them multiples of a number."""
    larger = range(bound + 1, math.ceil(bound * (1 + _LARGER)) + multiple + 1)
    best = sorted((n for n in larger if n % multiple == 0), key=lambda n: (-len(divisors(n)) / n, n))
    return [bound] * (bound % multiple == 0) + best[:_SIZES]


def best_padded(
    space: MapSpace, costs: EnergyCosts, semantics: str, objective: Objective, allowance: Allowance
) -> Found | None:
    """Return the least value that was found, its mapping and evaluation; None where nothing was.

    One dimension at a time takes other sizes, as long as that is better and the allowance lasts.
    """
    fixed = [[slot.fixed[d] for slot in space.slots if slot.fixed[d] != FREE] for d in range(len(space.problem.bounds))]
    options = []
    for d, bound in enumerate(space.problem.bounds):
        whole = all(slot.fixed[d] != FREE for slot in space.slots)
        options.append([bound] if whole or bound == 1 or bound in fixed[d] else sizes_of(bound, math.prod(fixed[d])))
    if not all(options):
        return None
    now = tuple(sizes[0] for sizes in options)
    best, known = _try(space, now, costs, semantics, objective, allowance), {now}
    for _ in range(_ROUNDS):
        before = best
        for d, sizes in enumerate(options):
            for size in sizes:
                tried = (*now[:d], size, *now[d + 1 :])
                if tried in known or allowance.spent:
                    continue
                known.add(tried)
                found = _try(space, tried, costs, semantics, objective, allowance)
                if found is not None and (best is None or found[0] < best[0]):
                    best, now = found, tried
        if best is before:
            break
    return best


def _try(
    space: MapSpace,
    sizes: tuple[int, ...],
    costs: EnergyCosts,
    semantics: str,
    objective: Objective,
    allowance: Allowance,
) -> Found | None:
    """Return what the best mapping of a layer of these sizes is worth, once it is cut short."""
    problem = space.problem
    larger = Problem(problem.shape, sizes, problem.coefficients, problem.name)

    def open_up(slot: FactorSlot | None) -> FactorSlot | None:
        if slot is None:
            return None
        most = tuple(n if m == b else m for m, b, n in zip(slot.most, problem.bounds, sizes, strict=True))
        return replace(slot, most=most)

    wide = replace(
        space,
        problem=larger,
        temporal=tuple(slot for slot in map(open_up, space.temporal) if slot is not None),
        spatial=tuple(map(open_up, space.spatial)),
    )
    watch, by = allowance.watch(), (objective.name,)
    try:
        found = search_mapspace(wide, costs, objective=by, semantics=semantics, budget=allowance.budget, watch=watch)
        mapping = found.mapping
        if mapping is None:
            return None
        mapping = cut_short(mapping, space)
        evaluation = evaluate_mapping(problem, space.arch, costs, mapping, semantics)
    except JouleloopError:
        return None
    finally:
        allowance.spend(watch)
    return objective.value(evaluation), mapping, evaluation


def cut_short(mapping: Mapping, space: MapSpace) -> Mapping:
    """Return a mapping of a larger layer as one of the mapspace's own; loops that are not reached are left out.

    Raises
    ------
    MappingError
        Where a constrained loop would run once only.
    """
    problem = space.problem
    left = dict(problem.bound)
    levels: list[LevelMapping] = []
    for index, level in enumerate(reversed(mapping.levels)):
        place, time = space.spatial[index], space.temporal[index]
        spatial: list[tuple[str, int, str]] = []
        for d, whole, axis in reversed(level.spatial):
            end = _end(whole, left[d], place, problem.shape.dimensions.index(d))
            left[d] = -(-left[d] // end)
            spatial.insert(0, (d, end, axis))
        temporal: list[tuple[str, int]] = []
        for d, whole in reversed(level.temporal):
            end = _end(whole, left[d], time, problem.shape.dimensions.index(d))
            left[d] = -(-left[d] // end)
            temporal.insert(0, (d, end))
        levels.insert(
            0,
            LevelMapping(
                level.level,
                tuple(loop for loop in temporal if loop[1] > 1),
                tuple(loop for loop in spatial if loop[1] > 1),
                level.keep,
                level.reuse,
            ),
        )
    product = dict.fromkeys(problem.shape.dimensions, 1)
    for level in levels:
        for d, end in level.loops:
            product[d] *= end
    early = tuple(sorted((d, bound) for d, bound in problem.bound.items() if product[d] != bound))
    return Mapping(tuple(levels), early)


def _end(end: int, passes: int, slot: FactorSlot | None, d: int) -> int:
    if slot is None or slot.fixed[d] == FREE:
        return min(end, passes) if slot is None else min(end, passes, slot.most[d])
    if end > 1 and passes < 2:
        raise MappingError(Fault("a constrained loop would run once only", value=end))
    return end
