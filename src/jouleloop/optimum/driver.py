"""The driver of all searches: passes, budget, ties, local search, progress, profile and the conclusion.

A kernel knows one mapspace and its bounds; `docs/search.md` numbers the steps.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from jouleloop.energy.costs import EnergyCosts
from jouleloop.mapping.mapping import Mapping
from jouleloop.mapspace.space import MapSpace
from jouleloop.model.arrays import Records
from jouleloop.model.evaluate import evaluate_mapping
from jouleloop.model.objective import OBJECTIVES, Objective
from jouleloop.model.support import Use
from jouleloop.optimum.limit import MEMORY, Progress, Watch
from jouleloop.optimum.result import Profile, SearchResult, counted
from jouleloop.optimum.supported import NEXT, check_objective

#: Passes of a search: for the objective, for the next metric, and over what ties. The last proves nothing new.
SEARCH, NEXT_PASS, TIES = "search", "next metric", "ties"


@dataclass(frozen=True)
class Task:
    """What is searched for, and how long."""

    space: MapSpace
    costs: EnergyCosts
    objective: tuple[str, ...] = ("energy",)
    """One of `OBJECTIVES`, or `NEXT`: least cycles among the mappings within 0.1 % of the least energy."""
    semantics: str = "timeloop-3.0.3"
    budget: int | None = None
    """Most mappings to evaluate in full; the result is optimal only where the search ended by itself."""
    watch: Watch = field(default_factory=Watch)
    """Limits, and who is told how it goes."""
    most_cycles: int | None = None
    """Of a mapping, if that is limited: all others count for nothing."""

    @property
    def first(self) -> Objective:
        """The objective, or the first of two."""
        return OBJECTIVES[self.objective[0]]

    @property
    def limit_cycles(self) -> float:
        """Most cycles of a mapping, infinite where they are not limited."""
        return np.inf if self.most_cycles is None else float(self.most_cycles)


class Kernel(ABC):
    """One mapspace as branch and bound sees it; made from a task and the counters of its search."""

    use: ClassVar[Use]
    """The column of `jouleloop.model.support` that says what it follows."""
    proven: ClassVar[str]
    """What proves the optimum of a search that ended by itself, in words."""
    size: int
    factorizations: int
    """Mappings of the mapspace, and choices of its factors."""

    def __init__(self, task: Task, counters: Records) -> None:
        self.task, self.space, self.counters, self.objective = task, task.space, counters, task.first

    @abstractmethod
    def subproblems(self) -> str:
        """List the subproblems and bound them; return why there is none, or nothing."""

    @property
    def whole(self) -> bool:
        """Whether all subproblems are listed."""
        return True

    @abstractmethod
    def passes(self) -> Iterator[str]:
        """Yield the passes one after the other, each ready to be expanded; the next is asked for where one ended."""

    @abstractmethod
    def expand(self) -> bool:
        """Expand nodes until it is time for a pause; return whether the pass has ended."""

    @abstractmethod
    def bound(self) -> float:
        """Return the least value of what the pass has not searched; infinite where nothing is left."""

    @abstractmethod
    def incumbent(self) -> float | None:
        """Return the value of the best mapping of the pass, if there is one."""

    @abstractmethod
    def left(self) -> tuple[int, int]:
        """Return how many subproblems may hold something better, and how many there are."""

    def local_search(self, _stopped: str, _lower: float, /) -> None:
        """Look for a better mapping outside the tree, for a search that had to stop with this lower bound."""
        return

    @abstractmethod
    def mapping(self) -> Mapping | None:
        """Return the best mapping of all passes, once nothing is expanded any more."""

    def proof(self, stopped: str) -> str:
        """Return what proves the mapping, or what a search knows that had to stop."""
        return f"stopped ({stopped}) before it ended; no mapping is below the bound" if stopped else self.proven

    @abstractmethod
    def no_mapping(self) -> str:
        """Return why there is no mapping, of a search that ended by itself."""

    def profile(self) -> tuple[int, dict[str, float], dict[str, dict[str, int]]]:
        """Return tables filled, CPU seconds inside the passes, and counts by level, outermost first."""
        return 0, {}, {}


def search(make: type[Kernel], task: Task) -> SearchResult:
    """Return the optimum of a mapspace and what proves it, or what was found when the search had to stop.

    Ties are broken by cycles, then by the first in canonical order, so equal inputs give equal output. Raises
    `InputError` where the search does not follow what the task asks for.

    ``make`` is the class of the kernel.
    """
    check_objective(make.use, task.objective)
    started, clock = time.perf_counter(), [time.process_time()]
    counters = task.watch.begin(task.budget)
    kernel = make(task, counters)
    nothing = kernel.subproblems()
    clock.append(time.process_time())
    result = SearchResult(
        "ok",
        objective=task.objective,
        most_cycles=task.most_cycles,
        mapspace_size=kernel.size,
        index_factorizations=kernel.factorizations,
    )
    if nothing:
        return replace(result, status="no_mapping", reason=nothing, seconds=time.perf_counter() - started)
    outcome = _run(kernel, task, counters, clock)
    mapping = _answer(kernel, outcome)
    evaluation = None
    if mapping is not None:
        evaluation = evaluate_mapping(task.space.problem, task.space.arch, task.costs, mapping, task.semantics)
    result = replace(counted(result, counters), stopped=outcome.stopped, mapping=mapping, evaluation=evaluation)
    result = _concluded(kernel, task, result, outcome)
    profile = None
    if task.watch.profile and result.mapping is not None:
        tables, inside, levels = kernel.profile()
        profile = Profile(kernel.left()[1], tables, {**outcome.seconds(clock), **inside}, levels)
    return replace(result, seconds=time.perf_counter() - started, profile=profile)


@dataclass
class _Outcome:
    """How the passes ended."""

    stopped: str = ""
    proven: bool = False
    open_bound: float = 0.0
    """Least value of what the first pass has not searched."""
    least: float = np.inf
    """What the first pass found, where the next metric may choose another mapping."""
    passes: list[str] = field(default_factory=list)

    @property
    def lower(self) -> float:
        """No mapping has less."""
        return min(self.least, self.open_bound)

    def seconds(self, clock: list[float]) -> dict[str, float]:
        """Return the CPU seconds of the stages."""
        return dict(zip(["unrollings", *self.passes], np.diff(clock).tolist(), strict=True))


def _run(kernel: Kernel, task: Task, counters: Records, clock: list[float]) -> _Outcome:
    """Run all passes."""
    outcome = _Outcome()

    def progress() -> Progress:
        value, lower = kernel.incumbent(), kernel.bound()
        lower = lower if value is None else min(lower, value)
        return Progress(
            task.watch.seconds, value, lower, kernel.objective.unit, *kernel.left(), int(counters[0]["nodes"])
        )

    for name in kernel.passes():
        outcome.stopped = task.watch.run(kernel.expand, counters, progress)
        if not outcome.stopped and not kernel.whole:
            outcome.stopped = task.watch.asked() or MEMORY
        outcome.proven = not outcome.stopped or name == TIES
        outcome.passes.append(name)
        clock.append(time.process_time())
        if name == SEARCH:
            outcome.open_bound = kernel.bound() if outcome.stopped else np.inf
            if task.objective == NEXT:
                outcome.least = np.inf if (value := kernel.incumbent()) is None else value
        if outcome.stopped:
            break
    return outcome


def _answer(kernel: Kernel, outcome: _Outcome) -> Mapping | None:
    """Return the best mapping; a search that stopped in its first pass looks for one outside the tree, too."""
    if outcome.stopped and outcome.passes == [SEARCH]:
        kernel.local_search(outcome.stopped, outcome.lower)
    return kernel.mapping()


def _concluded(kernel: Kernel, task: Task, result: SearchResult, outcome: _Outcome) -> SearchResult:
    """Return the answer with what proves it, of a search that ended or had to stop."""
    stopped, proven = outcome.stopped, outcome.proven
    if result.evaluation is not None and task.objective != NEXT:
        # What a stopped search has not looked at may tie with its answer and no more.
        proven = proven or task.first.value(result.evaluation) <= outcome.lower
    proof = kernel.proof("" if proven else stopped)
    if task.most_cycles is not None:
        proof += f"; among mappings of at most {task.most_cycles:,} cycles"
    if proven and stopped:
        proof += f"; stopped ({stopped}) before all ties were compared"
    if result.evaluation is None:
        reason = f"stopped ({stopped}) before a mapping was found" if stopped else kernel.no_mapping()
        return replace(result, status="no_mapping", reason=reason, lower_bound=outcome.lower if stopped else 0.0)
    lower = min(task.first.value(result.evaluation), outcome.lower)
    return replace(result, lower_bound=lower, optimal=proven, proof=proof)
