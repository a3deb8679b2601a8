"""The queue of subproblems that searches in Python share: best first, in turns, below a limit that rises."""

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from jouleloop.model.arrays import Floats, Records

#: How far above the least bound a mapping is looked for at first, relatively.
_FIRST_SHARE = 1e-3
#: Work of one turn.
_TURN_TICKS = 500_000


class Queue:
    """Subproblems by their lower bounds, the least first.

    Parameters
    ----------
    bounds
        Lower bounds on the value; a subproblem that is searched to its end raises its own.
    slack
        Bounds within this share below the incumbent are no better.
    expand
        Searches a subproblem: yields False where it is time for a pause, and raises its bound before it ends.
    counters
        Of the search.
    growth
        How fast the limit rises below which a mapping is looked for; none: there is no limit. So subproblems and nodes
        are searched no further than the optimum asks for.
    turns
        How many take turns, so that none keeps the others waiting.
    """

    def __init__(
        self,
        bounds: Floats,
        slack: float,
        expand: Callable[[int], Iterator[bool]],
        counters: Records,
        *,
        growth: float | None = None,
        turns: int = 1,
    ) -> None:
        self.bounds, self.slack, self.expand, self.counters = bounds, slack, expand, counters
        self.growth, self.turns = growth, turns
        #: Value of the incumbent, and what nothing is looked for above.
        self.value = self.limit = np.inf
        self.begun = np.zeros(len(bounds), np.bool_)

    @property
    def least(self) -> float:
        """Lower bound on all subproblems."""
        return float(self.bounds.min(initial=np.inf))

    def open(self, n: int) -> bool:
        """Whether a subproblem may hold something better below the limit."""
        return bool(self.bounds[n] < min(self.value, self.limit) * (1 - self.slack))

    def run(self, after_turn: Callable[[], None] = lambda: None) -> Iterator[bool]:
        """Search all subproblems; yield False where it is time for a pause."""
        least, share = self.least, _FIRST_SHARE
        while self.least < self.value * (1 - self.slack):
            if self.growth is not None:
                # Nothing is below what was left out before.
                self.limit = max(least * (1 + share), self.least * (1 + _FIRST_SHARE)) or np.inf
                share *= self.growth
            yield from self._round(after_turn)

    def _round(self, after_turn: Callable[[], None]) -> Iterator[bool]:
        """Search all subproblems that are open below one limit."""
        waiting = iter(np.argsort(self.bounds, kind="stable").tolist())
        turns: deque[Iterator[bool]] = deque()
        while True:
            while len(turns) < self.turns:
                n = next(waiting, -1)
                if n < 0 or not self.open(n):
                    waiting = iter(())
                    break
                self.begun[n] = True
                turns.append(self.expand(n))
            if not turns:
                return
            work = turns.popleft()
            until, paused = self.counters[0]["ticks"] + _TURN_TICKS, True
            while paused and self.counters[0]["ticks"] < until:
                self.counters[0]["pause"] = min(self.counters[0]["pause"], until)
                paused = next(work, True) is False
                if paused:
                    yield False
            if paused:
                turns.append(work)
                after_turn()
