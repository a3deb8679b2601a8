"""Limits of one search, what it tells on its way, and when it has to stop."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from jouleloop.errors import Fault, InputError
from jouleloop.model.arrays import MAX_LOOPS, Ints, Records
from jouleloop.optimum.arrays import BY_EVALUATIONS, BY_NODES, BY_PARTS, new_counters
from jouleloop.workload.problem import Problem

#: What may stop a search before it ends.
BUDGET, NODE_COUNT, SECONDS, INTERRUPT, MEMORY = "budget", "nodes", "seconds", "interrupt", "memory"
_COUNTED = {BY_EVALUATIONS: BUDGET, BY_NODES: NODE_COUNT, BY_PARTS: MEMORY}
#: Seconds that a kernel should run between two looks at the clock, and the work that is tried first.
_SLICE_SECONDS, _FIRST_TICKS = 0.2, 100_000
#: Work that a budget of evaluations allows in all, some seconds, and more for each of them: where no tile fits, tables
#: of many parts are filled before the first mapping is evaluated.
_BUDGET_TICKS, _TICKS_AN_EVALUATION = 10_000_000, 20_000


@dataclass(frozen=True)
class Limit:
    """Where a search stops, though nothing is proven yet."""

    seconds: float | None = None
    """Of wall clock; what is found then varies from run to run."""
    nodes: int | None = None
    """Nodes of the search tree; what is found then does not vary."""
    ticks: int | None = None
    """Work, which is counted and not timed; what is found then does not vary."""


@dataclass(frozen=True)
class Progress:
    """Where a search stands."""

    seconds: float
    best: float | None
    lower_bound: float
    """Value of the objective of the best mapping so far (None: no mapping yet), and what no mapping is below."""
    unit: str
    """Of both."""
    parts_left: int
    parts: int
    """Unrollings, under a choice of what is kept, that may still hold something better; and all of them."""
    nodes: int

    @property
    def gap(self) -> float | None:
        """How far above the lower bound the best mapping is, relatively."""
        return gap_of(self.best, self.lower_bound)


def gap_of(best: float | None, lower_bound: float) -> float | None:
    """Return how far above a lower bound a value is, relatively; None where that says nothing."""
    return best / lower_bound - 1 if best is not None and lower_bound > 0 else None


class Watch:
    """Watches one search: lets it run slice by slice, tells how it goes, and stops it at its limit or when asked to.

    Parameters
    ----------
    tell
        Called between slices with the watch itself and a function that says where the search stands.
    profile
        Whether the result says where the time went.
    within
        The watch of a search that this one is a part of: what stops that one stops this one, too.
    """

    def __init__(
        self,
        limit: Limit | None = None,
        tell: "Tell | None" = None,
        *,
        profile: bool = False,
        within: "Watch | None" = None,
    ) -> None:
        self.limit = limit or Limit()
        self.tell = tell
        self.profile = profile
        self.within = within
        #: The layer that is searched, in words.
        self.subject = ""
        self.started = time.monotonic()
        self._asked = ""
        self._ticks = _FIRST_TICKS
        self._most_ticks = math.inf
        self._counters = new_counters()

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.started

    def begin(self, budget: int | None) -> Records:
        """Start the clock; return the counters of the search."""
        self.started = time.monotonic()
        self._most_ticks = math.inf if budget is None else _BUDGET_TICKS + budget * _TICKS_AN_EVALUATION
        if self.limit.ticks is not None:
            self._most_ticks = min(self._most_ticks, self.limit.ticks)
        self._counters = new_counters(budget, self.limit.nodes)
        return self._counters

    @property
    def worked(self) -> int:
        """Work of the search so far."""
        return int(self._counters[0]["ticks"])

    def stop(self) -> None:
        """Ask the search to stop as soon as it can; may be called from a signal handler."""
        self._asked = INTERRUPT

    def asked(self) -> str:
        """Return what stops a search whatever it has counted, its seconds or somebody, or nothing."""
        late = self.limit.seconds is not None and self.seconds >= self.limit.seconds
        return self._asked or (SECONDS if late else self.within.asked() if self.within else "")

    def stopped(self, counters: Records) -> str:
        """Return what has stopped the search, or nothing."""
        if counters[0]["stopped"]:
            return _COUNTED[int(counters[0]["stopped"])]
        return BUDGET if counters[0]["ticks"] >= self._most_ticks else self.asked()

    def run(self, some: Callable[[], bool], counters: Records, progress: Callable[[], Progress]) -> str:
        """Call ``some``, which does some of the work and says whether it was the last, until it was or must not be.

        Returns
        -------
        What stopped it, or nothing.
        """
        while not (stopped := self.stopped(counters)):
            before, done = time.monotonic(), int(counters[0]["ticks"])
            counters[0]["pause"] = min(done + self._ticks, self._most_ticks)
            if some():
                return ""
            if self.tell is not None:
                self.tell(self, progress)
            self._pace(int(counters[0]["ticks"]) - done, time.monotonic() - before)
        return stopped

    def slow_down(self) -> None:
        """Let the next slice be a short one, since other work follows, of which a tick may take longer."""
        self._ticks = _FIRST_TICKS

    def _pace(self, done: int, seconds: float) -> None:
        """Set the work of the next slice by how long the last one took, if it did all of its own."""
        if done < self._ticks and seconds < _SLICE_SECONDS:
            return
        self._ticks = max(1000, min(4 * self._ticks, int(self._ticks * _SLICE_SECONDS / max(seconds, 1e-6))))


#: Is told how a search goes.
Tell = Callable[[Watch, Callable[[], Progress]], None]


def check_dimensions(problem: Problem, dims: Ints) -> None:
    """Refuse more dimensions than a level has room for loops: kernels do not look.

    ``dims`` are those that are open, by number. Raises `InputError`.
    """
    if len(dims) > MAX_LOOPS:
        names = [problem.shape.dimensions[d] for d in dims.tolist()]
        text = f"too many dimensions above 1 for a search: {len(dims)}"
        raise InputError(Fault(text, field="dimensions", value=names, allowed=f"at most {MAX_LOOPS}"))
