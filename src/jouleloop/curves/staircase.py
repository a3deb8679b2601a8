"""The staircase of the optimum against the capacity of one level, walked from the largest capacity downward.

A mapping that fits k words fits every capacity above. So the least value f is non-increasing, and where an optimum at K
words fills u of them, f is constant from u to K. The next lower search is at u - 1. docs/curves.md has the argument.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from jouleloop.arch.architecture import StorageLevel
from jouleloop.curves.hardware import capacity_of, dram_words, held_words, in_dram_words, level_of, with_words
from jouleloop.engines.native import NativeEngine
from jouleloop.engines.protocol import PROVEN, SearchOptions, Target
from jouleloop.errors import Fault, InputError, unknown
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.limit import INTERRUPT, SECONDS, Limit, Tell, Watch
from jouleloop.optimum.result import SearchResult
from jouleloop.units import PJ
from jouleloop.workload.problem import Problem

#: What a curve may minimise besides `OBJECTIVES`: words that main memory reads and writes.
DRAM_WORDS = "dram-words"
CURVE_OBJECTIVES = (*OBJECTIVES, DRAM_WORDS)
#: Why a walk ended before its end, besides what stops a search.
STEPS, FAILED = "steps", "failed"
#: Values that differ by less, relatively, are one step: searches themselves compare no closer.
SAME = 1e-9


@dataclass(frozen=True)
class Question:
    """What a curve is of.

    Raises `InputError` where the objective is none, or the level cannot vary.
    """

    problem: Problem
    target: Target
    level: str
    objective: str = "energy"
    """One of `CURVE_OBJECTIVES`."""
    least_words: int = 0
    most_words: int | None = None
    """Capacities [words that tiles may fill] between which it is wanted; None: as many as help."""

    def __post_init__(self) -> None:
        if self.objective not in CURVE_OBJECTIVES:
            raise InputError(unknown(self.objective, CURVE_OBJECTIVES, "objective", field="objective"))
        level_of(self.target.arch, self.level)

    @property
    def storage(self) -> StorageLevel:
        """The level as the design has it."""
        return self.target.arch.level(self.level)

    @property
    def minimised(self) -> str:
        """The objective of the searches: DRAM words are an energy of 1 pJ each."""
        return "energy" if self.objective == DRAM_WORDS else self.objective

    @property
    def unit(self) -> str:
        """Of values: ``pJ``, ``cycles`` and so on, or ``words``."""
        if self.objective == DRAM_WORDS:
            return "words"
        energy = self.target.costs.unit
        return OBJECTIVES[self.objective].unit.replace(PJ, energy)

    @cached_property
    def priced(self) -> Target:
        """The target with what is minimised as its energies."""
        return in_dram_words(self.target) if self.objective == DRAM_WORDS else self.target

    def at(self, words: int | None) -> Target:
        """Return what is searched where tiles may fill so many words."""
        return with_words(self.priced, self.level, words)


@dataclass(frozen=True)
class Point:
    """One search."""

    words: int | None
    """Words that tiles might fill; None: any number."""
    result: SearchResult
    held: int = 0
    """Words that they fill."""
    value: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether nobody stopped it: another run finds the same."""
        return self.result.stopped not in (INTERRUPT, SECONDS)


@dataclass(frozen=True)
class Step:
    """A range of capacities with one least value."""

    words: int
    """Least words that tiles have to be able to fill."""
    most_words: int | None
    """Most words of the range; None where no larger capacity was asked for or helps."""
    capacity_words: int
    """Capacity of the level that leaves ``words`` to a tile: larger where it is buffered several times."""
    value: float
    lower_bound: float
    """No mapping that fits ``most_words`` has less."""
    optimal: bool
    """Whether ``value`` is the least at all capacities of the range, proven."""
    least: bool
    """Whether no mapping that fits fewer words has this value, proven."""
    result: SearchResult = field(repr=False)

    @property
    def proven(self) -> bool:
        """Whether both are."""
        return self.optimal and self.least


@dataclass(frozen=True)
class Staircase:
    """A curve as far as it was walked."""

    question: Question
    steps: tuple[Step, ...]
    """The smallest capacity first."""
    complete: bool
    """Whether the walk came to the least capacity that has a mapping, or that was asked for."""
    reason: str = ""
    """Why no smaller capacity has a mapping; empty where a mapping needs no word there."""
    stopped: str = ""
    """What ended the walk before: ``steps``, ``seconds``, ``interrupt`` or ``failed``."""
    searches: int = 0
    """Searches that it took, those among them that were known from before included."""

    @property
    def proven(self) -> bool:
        """Whether every step is proven, and no step is missing."""
        return self.complete and all(step.proven for step in self.steps)

    def rows(self) -> list[dict[str, Any]]:
        """Return a record a step: capacities, value, what else its mapping costs, what is proven."""
        rows = []
        for step in self.steps:
            found = step.result
            assert found.evaluation is not None and found.mapping is not None  # noqa: S101, PT018 - a step has both
            counted = self.question.objective == DRAM_WORDS
            rows.append(
                {
                    "words": step.words,
                    "most_words": step.most_words,
                    "capacity_words": step.capacity_words,
                    "value": step.value,
                    "lower_bound": step.lower_bound,
                    "proven": step.proven,
                    "total_pj": None if counted else found.evaluation.energy_pj,
                    "cycles": found.evaluation.cycles,
                    "dram_words": dram_words(found.evaluation),
                    "mapping": found.mapping.compact(),
                }
            )
        return rows

    def at(self, words: int) -> Step | None:
        """Return the step that a capacity is on; None below the first."""
        return next((step for step in reversed(self.steps) if step.words <= words), None)


class Known(Protocol):
    """Searches of a curve from before."""

    def find(self, words: int | None) -> Point | None:
        """Return a search that answers the one at so many words."""

    def add(self, point: Point) -> None:
        """Keep a search."""


@dataclass(frozen=True)
class Limits:
    """Where a walk stops, and who is told how it goes."""

    steps: int | None = None
    watch: Watch = field(default_factory=Watch)
    """Stops the whole walk."""
    tell_search: Tell | None = None
    """Is told of every long search."""
    tell: Callable[[int, Point], None] | None = None
    """Called after each search with the number of steps so far."""
    options: SearchOptions = PROVEN
    """Where each search stops by itself; a step that is left unproven so says so, and the walk goes on."""


def walk(question: Question, limits: Limits, known: Known | None = None) -> Staircase:
    """Return the staircase of a question, the steps so far where a limit stops it.

    Raises `InputError` where the constraints cannot be applied to the layer.
    """
    groups: list[list[Point]] = []
    searches = 0
    stopped, last = "", None
    for point in _searched(question, limits, known):
        searches, last = searches + 1, point.result
        if last.status == "invalid":
            raise InputError(Fault(last.reason, "layer", value=question.problem.name or None))
        if last.evaluation is not None:
            join(groups, point)
        # A search that its own seconds stopped is a step without proof; what stops the walk stops it here.
        own = last.stopped == SECONDS and last.evaluation is not None and not limits.watch.asked()
        if last.status == FAILED or not (point.ended or own):
            stopped = last.stopped or FAILED
            break
        if limits.tell is not None:
            limits.tell(len(groups), point)
        if limits.steps is not None and len(groups) > limits.steps:
            stopped = STEPS
            break
    nothing = last is not None and last.evaluation is None
    complete = not stopped and not (nothing and last is not None and last.stopped)
    steps = steps_of(question, groups, complete=complete)
    if stopped == STEPS:
        steps = steps[1:]
    return Staircase(question, steps, complete, last.reason if last is not None and nothing else "", stopped, searches)


def _searched(question: Question, limits: Limits, known: Known | None) -> Iterator[Point]:
    """Yield the searches, each at one word less than the one before fills, down to the least capacity."""
    words = question.most_words
    while True:
        point = known.find(words) if known is not None else None
        if point is None:
            point = _search(question, words, limits)
            if known is not None and not point.result.stopped and point.result.status in ("ok", "no_mapping"):
                known.add(point)
        yield point
        if point.result.evaluation is None or point.held <= question.least_words:
            return
        words = point.held - 1


def _search(question: Question, words: int | None, limits: Limits) -> Point:
    engine, options = NativeEngine(), limits.options
    engine.watch = Watch(Limit(options.seconds), limits.tell_search, within=limits.watch)
    told = replace(options, objective=(question.minimised,))
    result = engine.search(question.problem, question.at(words), told)
    return point_of(question, words, result)


def point_of(question: Question, words: int | None, result: SearchResult) -> Point:
    """Return a search with what its mapping fills and is worth."""
    if result.evaluation is None:
        return Point(words, result)
    value = OBJECTIVES[question.minimised].value(result.evaluation)
    return Point(words, result, held_words(result.evaluation, question.level), value)


def join(groups: list[list[Point]], point: Point) -> None:
    """Add the search at the next lower capacity to the groups of searches that share a step.

    Where the larger ones were not proven it may have found less than they. Its mapping fits there, too.
    """
    group = [point]
    while groups and point.value <= min(other.value for other in groups[-1]) * (1 + SAME):
        group = [*groups.pop(), *group]
    groups.append(group)


def steps_of(question: Question, groups: Sequence[Sequence[Point]], *, complete: bool) -> tuple[Step, ...]:
    """Return the steps, the smallest capacity first."""
    found: list[Step] = []
    bound = 0.0
    for group in groups:
        top, own = group[0], group[-1]
        # What bounds a larger capacity bounds a smaller one.
        bound = max(bound, top.result.lower_bound)
        if found:
            found[-1] = replace(found[-1], least=bound > found[-1].value * (1 + SAME))
        words = max(own.held, question.least_words)
        capacity, lower = capacity_of(question.storage, words), min(bound, own.value)
        optimal = own.value <= bound * (1 + SAME)
        result = replace(own.result, optimal=optimal, lower_bound=lower)
        found.append(Step(words, top.words, capacity, own.value, lower, optimal, complete, result))
    return tuple(reversed(found))
