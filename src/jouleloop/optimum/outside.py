"""Least cost of what lies outside a boundary, whatever is kept and unrolled there: by tile, runs not told apart.

`docs/search.md` states the lemma: *groups of unrollings*, 5. A state says by data space which level keeps it next.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from jouleloop.jit import njit
from jouleloop.model.arrays import Bools, Floats, copy_row
from jouleloop.optimum.boundaries import Boundaries, Unrollings
from jouleloop.optimum.group_cross import asked_pj
from jouleloop.optimum.group_lattice import Edge, Lattice, seen_in
from jouleloop.optimum.group_table import moved

#: By data space the next level that keeps it; the number of levels where none does.
State = tuple[int, ...]
#: Most doubles of all states together.
_MOST_VALUES = 20_000_000


class Outside:
    """What all that is outside costs at least, by state.

    Parameters
    ----------
    boundaries, group
        Of all unrollings.
    columns
        By data space choices of levels that keep it, shape (choices, levels).
    room_pj
        From which on nothing counts.
    """

    def __init__(
        self, boundaries: Boundaries, group: Unrollings, columns: Sequence[Bools], room_pj: float = np.inf
    ) -> None:
        self.boundaries, self.group, self.room_pj = boundaries, group, room_pj
        self.levels = len(boundaries.hardware.levels)
        self.next = [_next_levels(column) for column in columns]
        tiles = len(boundaries.lattice.digit)
        self._none = np.zeros((2, tiles))
        self._least: dict[State, Floats] = {}
        self._asked = np.empty(tiles)
        #: Tiles that are left times the factors that they may take, of all states: how much a walk over states takes.
        self.work = 0

    def fill(self) -> Iterator[int]:
        """Find what is outside of every state, the outermost first; yield the work, unless there are too many."""
        states = sorted(self._states(), key=min, reverse=True)
        if len(states) * self._none.size > _MOST_VALUES:
            return
        for state in states:
            yield self._fill(state)

    def least(self, state: State) -> Floats:
        """Return by tile the least energy [pJ] before the loops of the level, and after them, shape (2, tiles).

        The level is the first that keeps anything next. After its loops the boundary outside is priced in whole.
        """
        return self._least.get(state, self._none)

    def steps(self, state: State) -> Iterator[State]:
        """Yield the states that may follow a state."""
        child = min(state)
        yield from itertools.product(
            *(sorted(own[child]) if level == child else (level,) for own, level in zip(self.next, state, strict=True))
        )

    def _states(self) -> set[State]:
        waiting = list(itertools.product(*(sorted(own[-1]) for own in self.next)))
        seen = set(waiting)
        while waiting:
            state = waiting.pop()
            if min(state) < self.levels:
                new = [one for one in self.steps(state) if one not in seen]
                seen.update(new)
                waiting += new
        return seen

    def _fill(self, state: State) -> int:
        lattice, child = self.boundaries.lattice, min(state)
        if child == self.levels:
            self._least[state] = self._none
            return 1
        own = np.full_like(self._none, np.inf)
        kept = np.array(state) == child
        capacity = float(self.boundaries.hardware.levels[child]["capacity_words"])
        work = factors = 0
        for after in self.steps(state):
            top = min(after)
            outer = self.least(after)[0]
            if top == self.levels:
                own[1] = 0.0
            elif outer.min() < self.room_pj:
                edge = self.boundaries.edge(self.group, child, kept, after, top)
                cross_inward(lattice, outer, edge, capacity, self.room_pj, self._asked, own[1])
                work += len(self._asked)
                factors += len(edge.fan.step)
        self.work += factors * int((own[1] < self.room_pj).sum())
        loop_outward(lattice, own[1], own[0])
        self._least[state] = own
        return work


def _next_levels(column: Bools) -> dict[int, set[int]]:
    """Return by level, -1 for the units, which levels keep a data space next in any choice."""
    levels = column.shape[1]
    found: dict[int, set[int]] = {}
    for row in column:
        path = [-1, *np.flatnonzero(row).tolist(), levels]
        for child, parent in itertools.pairwise(path):
            found.setdefault(child, set()).add(parent)
    return found


@njit
def cross_inward(
    lattice: Lattice, outer: Floats, edge: Edge, capacity: float, room_pj: float, asked: Floats, out: Floats
) -> None:
    """Lower to the least energy [pJ] of a boundary and of all outside, by the tile inside: no run is told apart.

    Parameters
    ----------
    outer
        The same of the boundary outside, by its tile, after the loops of the level in between.
    asked
        Work space by tile.
    """
    fan = edge.fan
    for w in range(edge.kept.shape[0]):
        for c in range(fan.begin.shape[0] - 1 if edge.kept[w] else 0):
            for y in range(outer.shape[0]):
                asked[y] = outer[y] + (_asked_pj(lattice, edge, c, w, y) if outer[y] < room_pj else 0.0)
            for x in range(outer.shape[0]):
                if not _needed(lattice, edge.kept, x) <= capacity:
                    continue
                least = np.inf
                for k in range(fan.begin[c], fan.begin[c + 1]):
                    y = moved(lattice, fan, x, k)
                    least = min(least, asked[y] if y >= 0 else np.inf)
                if least < out[x]:
                    least += _filled_pj(lattice, edge, c, w, x)
                    out[x] = min(out[x], least if least < room_pj else np.inf)


@njit(inline="always")
def _needed(lattice: Lattice, kept: Bools, x: int) -> float:
    """Words that a tile takes of a level."""
    needed = 0.0
    for v in range(kept.shape[0]):
        needed += lattice.size[v, x] if kept[v] else 0.0
    return needed


@njit(inline="always")
def _asked_pj(lattice: Lattice, edge: Edge, c: int, w: int, y: int) -> float:
    """Energy [pJ] of what is asked for at least, where a run leaves one data space in place as long as it may."""
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v]:
            words = lattice.volume[v] * (1.0 if v == w else lattice.rest[v, y])
            words *= edge.fan.ratio[c, v] if lattice.shared[v] else 1.0
            total += asked_pj(edge.price[v], words)
    return total


@njit(inline="always")
def _filled_pj(lattice: Lattice, edge: Edge, c: int, w: int, x: int) -> float:
    """Energy [pJ] of what is filled in at least, where a run leaves one data space in place as long as it may."""
    total = 0.0
    for v in range(edge.kept.shape[0]):
        if edge.kept[v]:
            words = seen_in(lattice, edge.price[v], v, x) if lattice.shared[v] else lattice.volume[v]
            words *= 1.0 if v == w else lattice.rest[v, x]
            if lattice.shared[v]:
                words = words * edge.fan.share[c, v] - edge.price[v].fill_rounded
            total += max(0.0, words - edge.price[v].fill_free) * edge.price[v].fill_pj
    return total


@njit
def loop_outward(lattice: Lattice, inner: Floats, out: Floats) -> None:
    """Write by tile the least of all tiles that loops make of it."""
    copy_row(inner, out)
    for a in range(lattice.most.shape[0]):
        for x in range(inner.shape[0] - 1, -1, -1):
            if lattice.digit[x, a] < lattice.most[a]:
                out[x] = min(out[x], out[x + lattice.weight[a]])
