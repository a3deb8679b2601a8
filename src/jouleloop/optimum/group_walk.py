"""One dynamic programme over all choices of what is kept and all unrollings: a table a node, then what is left of them.

`docs/search.md` states the lemma: *groups of unrollings*, 6. A node says by data space which level keeps it next, and
how many instances ask for one box of it on the way there.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jouleloop.model.arrays import Bools, Floats, Ints, Records
from jouleloop.optimum.boundaries import Boundaries
from jouleloop.optimum.group_back import cross_back, fill_back, keep_within, loop_back
from jouleloop.optimum.group_cross import new_work
from jouleloop.optimum.group_lattice import Edge, Fan, Rows, Table, first_rows, least_of, new_rows, new_table, some_of
from jouleloop.optimum.group_table import ask_units, cross_fan_out, fill_level, loop_level
from jouleloop.optimum.groups import Groups
from jouleloop.optimum.outside import State

#: Most nodes, and most doubles of their tables together.
_MOST_NODES, _MOST_VALUES = 20_000, 64_000_000
#: By data space, how many instances ask for one box between the level at hand and the one that keeps it next.
Multicasts = tuple[float, ...]


class Told(NamedTuple):
    """What a step says of unrollings: how many instances ask for one box of a data space across some fan-outs."""

    space: int
    first: int
    last: int
    instances: float


@dataclass(eq=False)
class Node:
    """What is known of a state: least energies of all ways that lead there, and of all that lead on.

    Attributes
    ----------
    inner, outer
        Steps that lead there, and on.
    reached
        Tiles that are left after the loops of the level.
    rows
        Least energy [pJ] of the level's fills and all inside, by place that is left.
    outside
        Least energy [pJ] of what is outside those, in the same rows.
    whole_pj
        Least energy of all, where nothing is outside the level; else infinite.
    """

    state: State
    multicasts: Multicasts
    inner: list["Step"] = field(default_factory=list)
    outer: list["Step"] = field(default_factory=list)
    reached: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: Rows | None = None
    outside: Floats | None = None
    whole_pj: float = np.inf


class Step(NamedTuple):
    """A boundary: from a node to the one outside."""

    source: Node
    target: Node
    edge: Edge
    told: list[Told]


#: Columns of a choice of what is kept, the unrollings that are left under it, and their bound [pJ].
Left = tuple[tuple[int, ...], Ints, float]


class Walk:
    """All choices of what is kept and all unrollings that cost less than a limit.

    Parameters
    ----------
    limit_pj
        Of a mapping.
    coarse
        A walk that has looked at the same before, whose nodes are states.
    tells
        Whether multicasts are told apart; else the most are taken, so that nodes are states.
    most_work
        From which on the walk stops, see `Outside.work`.
    """

    def __init__(
        self,
        groups: Groups,
        limit_pj: float,
        coarse: "Walk | None" = None,
        *,
        tells: bool = True,
        most_work: float = np.inf,
    ) -> None:
        self.groups, self.limit_pj, self._made_pj, self.coarse = groups, limit_pj, limit_pj, coarse
        self.tells, self.most_work, self.work = tells, most_work, 0
        self.room_pj = groups.room_pj(limit_pj, groups.whole)
        self.boundaries: Boundaries = groups.boundaries
        self.lattice, self.outward = groups.lattice, groups.outside
        self.levels = self.outward.levels
        self.nodes: dict[tuple[State, Multicasts], Node] = {}
        self.order: list[Node] = []
        self.values = 0
        self._table, self._work, self._rows = new_table(self.lattice), new_work(self.lattice), new_rows(self.lattice)
        self._feasible: dict[tuple[int, int, int], list[float]] = {}
        self._within: dict[tuple[int, float, int, int, int], list[float]] = {}
        self._apart: dict[tuple[int, int, tuple[int, ...]], dict[Multicasts, Fan]] = {}
        self.found: dict[State, Floats] = {}

    @property
    def fits(self) -> bool:
        """Whether nodes, tables and work are not too many."""
        return len(self.nodes) <= _MOST_NODES and self.values <= _MOST_VALUES and self.work <= self.most_work

    @property
    def bound_pj(self) -> float:
        """Lower bound [pJ] on all mappings that cost no more than the limit; infinite where there are none."""
        return self.groups.whole_pj(min(node.whole_pj for node in self.order), self.groups.whole)

    def serves(self, limit_pj: float) -> bool:
        """Whether a limit is no higher than the one that the walk was made under."""
        return limit_pj <= self._made_pj

    def limit_to(self, limit_pj: float) -> None:
        """Leave no more than under a limit that the walk serves."""
        self.limit_pj, self.room_pj = limit_pj, self.groups.room_pj(limit_pj, self.groups.whole)

    def least(self, state: State) -> Floats | None:
        """Return what is outside of a state at least, as `Outside.least` does; none where nothing is left."""
        return self.outward.least(state) if self.coarse is None else self.coarse.found.get(state)

    def inward_out(self) -> Iterator[int]:
        """Find all nodes that are left, from the units outward, and their tables; yield the work, while they fit."""
        spaces = len(self.groups.kept)
        root = Node((-1,) * spaces, (1.0,) * spaces)
        waiting: list[list[Node]] = [[] for _ in range(self.levels)]
        nodes = [root]
        for child in range(-1, self.levels):
            for node in nodes if child < 0 else waiting[child]:
                yield self.lattice.valid.size // 4
                if child >= 0 and not self._fill(node):
                    continue
                self.order.append(node)
                for new in self._steps(node):
                    waiting[min(new.state)].append(new)
                if not self.fits:
                    return

    def outside_in(self) -> Iterator[int]:
        """Find what is outside of every place of every node; yield the work."""
        for node in self.order[:0:-1]:
            yield self.lattice.valid.size // 4
            rows, outside = _known(node)
            filled = rows._replace(cost=outside.copy())
            fill_back(self.lattice, self._kept(node.state), self._fill_price(node.state), filled)
            loop_back(self.lattice, filled, node.whole_pj < np.inf, node.reached, self._table)
            if not self.tells:
                least = self.found[node.state] = np.full((2, len(self._table.found)), np.inf)
                least[0, node.reached] = self._table.out[node.reached].min(axis=1)
                least[1, rows.tile] = least_of(filled)
            for step in node.inner:
                inside, own = step.source.rows, step.source.outside
                if inside is not None and own is not None:
                    cross_back(self.lattice, inside, step.edge, self._table, self.room_pj, self._work, own)

    def left(self) -> Iterator[Left | None]:
        """Yield what is left: choices of what is kept with unrollings of the same multicasts; none for every table."""
        self._sketched: dict[tuple[int, ...], Floats] = {}
        self._path = [(new_table(self.lattice), new_rows(self.lattice)) for _ in range(self.levels)]
        columns = [list(range(len(own))) for own in self.groups.kept]
        yield from self._left(self.order[0], 0, columns, np.arange(len(self.groups.base_pj)), None)

    def _left(
        self, node: Node, depth: int, columns: list[list[int]], own: Ints, inside: Rows | None
    ) -> Iterator[Left | None]:
        if node.whole_pj < np.inf:
            ended = [
                self._following(v, *one, self.levels) for v, one in enumerate(zip(columns, node.state, strict=True))
            ]
            least_pj = self.groups.whole_pj(float(self._path[depth - 1][0].ahead[-1]), self.groups.whole)
            if all(ended) and least_pj <= self.limit_pj:
                yield tuple(one[0] for one in ended), own, least_pj
        for step in node.outer:
            if step.target.rows is None:
                continue
            after = step.target.state
            further = [self._following(v, *one) for v, one in enumerate(zip(columns, node.state, after, strict=True))]
            some = self._unrollings(step.told, further, own) if all(further) else own[:0]
            if not len(some):
                continue
            yield None
            rows = self._go(step, depth, some, inside)
            if rows is not None:
                yield from self._left(step.target, depth + 1, further, some, rows)

    def _go(self, step: Step, depth: int, own: Ints, inside: Rows | None) -> Rows | None:
        """Return the places of a target that some unrollings leave; none where they leave none."""
        state, after = step.source.state, step.target.state
        child, top = min(state), min(after)
        group = self.boundaries.group(self.groups.parts.ids[own])
        edge = self.boundaries.edge(group, child, self._kept(state), after, top)
        table, room = self._path[depth]
        least = self.least(after)
        if least is None:
            return None
        table.found[:] = False
        self._cross(inside, edge, least[0], table)
        if loop_level(self.lattice, table, least[0], self.room_pj) >= self.room_pj:
            return None
        rows, outside = _known(step.target)
        count = self._filled(after, table, least[1], room)
        count = keep_within(room, count, rows, outside, self.room_pj)
        ends = step.target.whole_pj < np.inf and table.ahead[-1] < self.room_pj
        return first_rows(room, count) if count or ends else None

    def _unrollings(self, told: Sequence[Told], columns: list[list[int]], own: Ints) -> Ints:
        """Return those of some unrollings that have the multicasts told, and that columns leave without tables."""
        ids = self.groups.parts.ids
        for one in told:
            own = own[self.boundaries.multicast(ids[own], one.space, one.first, one.last) == one.instances]
        sketch_pj = self.groups.base_pj[own]
        for v, some in enumerate(columns):
            key = (v, *some)
            if key not in self._sketched:
                self._sketched[key] = self.groups.column_pj[:, v, some].min(axis=1)
            sketch_pj += self._sketched[key][own]
        return own[sketch_pj <= self.limit_pj]

    def _following(self, v: int, columns: list[int], level: int, after: int) -> list[int]:
        """Return the columns of some that keep a data space at a level next."""
        if level == after:
            return columns
        kept = self.groups.kept[v]
        return [c for c in columns if not kept[c, level + 1 : after].any() and kept[c, after : after + 1].all()]

    def _kept(self, state: State) -> Bools:
        kept: Bools = np.array(state) == min(state)
        return kept

    def _fill_price(self, state: State) -> Records:
        """Return what fills of a level cost, whatever keeps its data spaces next: nothing, where nothing may."""
        child = min(state)
        parents = [self.levels if self.levels in own.get(child, ()) else child + 1 for own in self.outward.next]
        return self.boundaries.price(self.groups.whole, child, self._kept(state), parents, child + 1)

    def _filled(self, state: State, table: Table, after: Floats, rows: Rows) -> int:
        """Price the fills of a level; return how many rows are left."""
        capacity = float(self.boundaries.hardware.levels[min(state)]["capacity_words"])
        kept, price = self._kept(state), self._fill_price(state)
        return int(fill_level(self.lattice, table, kept, price, capacity, after, self.room_pj, rows))

    def _cross(self, inside: Rows | None, edge: Edge, after: Floats, table: Table, *, asks: bool = False) -> bool:
        """Lower a table by a boundary; return whether anything is left."""
        if inside is None:
            return bool(ask_units(self.lattice, edge, self.groups.macs, after, self.room_pj, table))
        return bool(cross_fan_out(self.lattice, inside, edge, after, self.room_pj, self._work, table, asks))

    def _fill(self, node: Node) -> bool:
        """Fill the table of a node from all steps that lead there; return whether anything is left."""
        table, least = self._table, self.least(node.state)
        if least is None:
            return False
        table.found[:] = False
        self.work += self.lattice.digit.size
        for step in node.inner:
            self._cross(step.source.rows, step.edge, least[0], table)
            tiles = 1 if step.source.rows is None else len(step.source.rows.tile)
            self.work += len(table.found) + tiles * len(step.edge.fan.step)
        if loop_level(self.lattice, table, least[0], self.room_pj) >= self.room_pj:
            return False
        child = min(node.state)
        if all(
            level == self.levels or (level == child and self.levels in own[child])
            for own, level in zip(self.outward.next, node.state, strict=True)
        ):
            node.whole_pj = float(table.ahead[-1])
        node.reached = np.flatnonzero(table.found)
        count = self._filled(node.state, table, least[1], self._rows)
        if self.coarse is not None:
            rows, outside = _known(self.coarse.nodes[node.state, (1.0,) * len(node.state)])
            count = keep_within(self._rows, count, rows, outside, self.room_pj)
        if not count and node.whole_pj >= self.room_pj:
            return False
        left = first_rows(self._rows, count)
        node.rows = Rows(left.tile.copy(), left.begin.copy(), left.run.copy(), left.cost.copy())
        node.outside = np.full(len(left.cost), np.inf)
        self.values += 2 * len(node.outside)
        return True

    def _steps(self, node: Node) -> Iterator[Node]:
        """Add all steps that lead on from a node; yield the nodes that are new."""
        state, child, kept = node.state, min(node.state), self._kept(node.state)
        for after in self.outward.steps(state):
            top = min(after)
            least = self.least(after)
            if top == self.levels or least is None or least[0].min() >= self.room_pj:
                continue
            passing = [v for v, level in enumerate(state) if child < level < self.levels]
            begun = [v for v, level in enumerate(after) if kept[v] and top < level < self.levels]
            edge = self.boundaries.edge(self.groups.whole, child, kept, after, top)
            beyond = list(self._beyond(node, after, passing))
            for multicasts in self._multicasts(node, after, begun, edge, least[0]):
                price = edge.price.copy()
                price["beyond"][begun] = multicasts
                told = [Told(v, top + 1, after[v], m) for v, m in zip(begun, multicasts, strict=True)]
                apart = dict(zip(begun, multicasts, strict=True)) if self.tells else {}
                for left, some, also in beyond:
                    key = after, tuple(apart.get(v, m) for v, m in enumerate(left))
                    own = Edge(edge.kept, price, some)
                    target = self._step(node, key, own, told + also if self.tells else [])
                    if target is not None:
                        yield target

    def _step(self, node: Node, key: tuple[State, Multicasts], edge: Edge, told: list[Told]) -> Node | None:
        """Add a step that leads on from a node; return its target where that is new."""
        new = key not in self.nodes
        target = self.nodes[key] = Node(*key) if new else self.nodes[key]
        step = Step(node, target, edge, told)
        node.outer.append(step)
        target.inner.append(step)
        return target if new else None

    def _multicasts(
        self, node: Node, after: State, begun: Sequence[int], edge: Edge, outside: Floats
    ) -> Iterator[Multicasts]:
        """Yield how many instances may ask for one box of the data spaces that pass from now on, the most first."""
        top = min(after)
        choices = [self._told(v, top + 1, after[v]) for v in begun]
        if not self.tells:
            choices = [own[:1] for own in choices]
        blocked: list[Multicasts] = []
        least = tuple(own[-1] for own in choices)
        all_left = self._leaves(node, edge, outside, begun, least)
        for some in itertools.product(*choices):
            if any(all(a <= b for a, b in zip(some, other, strict=True)) for other in blocked):
                continue
            if all_left or (some != least and self._leaves(node, edge, outside, begun, some)):
                yield some
            else:
                blocked.append(some)

    def _leaves(self, node: Node, edge: Edge, outside: Floats, begun: Sequence[int], multicasts: Multicasts) -> bool:
        """Whether a boundary leaves anything if so many instances ask for one box: it does if fewer leave something."""
        edge.price["beyond"][begun] = multicasts
        self._table.found[:] = False
        return self._cross(node.rows, edge, outside, self._table, asks=True)

    def _told(self, v: int, first: int, last: int) -> list[float]:
        """Return how many instances may ask for one box of a data space across some fan-outs, the most first."""
        key = (v, first, last)
        if key not in self._feasible:
            self._feasible[key] = np.unique(self.boundaries.multicast(self.groups.whole.ids, *key))[::-1].tolist()
        return self._feasible[key]

    def _beyond(
        self, node: Node, after: State, passing: Sequence[int]
    ) -> Iterator[tuple[list[float], Fan, list[Told]]]:
        """Yield the factors of a fan-out by the multicasts of what passes, with those that are left beyond."""
        first, top = min(node.state) + 1, min(after)
        passing = passing if self.tells else ()
        fans = self._classes(first, top, tuple(passing))
        crossed = [self._crossed(v, node.multicasts[v], first, top, after[v]) for v in passing]
        for some in itertools.product(*crossed):
            fan = fans.get(some)
            if fan is not None:
                told = [Told(v, first, top, m) for v, m in zip(passing, some, strict=True)]
                left = [1.0] * len(after)
                for one in told:
                    left[one.space] = node.multicasts[one.space] / one.instances
                yield left, fan, told

    def _crossed(self, v: int, whole: float, first: int, top: int, last: int) -> list[float]:
        """Return how many of so many instances may ask for one box across fan-outs up to the top one, others beyond."""
        key = (v, whole, first, top, last)
        if key not in self._within:
            beyond = self._told(v, top + 1, last) if last > top else [1.0]
            self._within[key] = [m for m in self._told(v, first, top) if whole / m in beyond]
        return self._within[key]

    def _classes(self, first: int, top: int, passing: tuple[int, ...]) -> dict[Multicasts, Fan]:
        """Return the factors of the fan-outs between two levels, by the multicasts of data spaces that pass."""
        key = (first, top, passing)
        if key not in self._apart:
            fan = self.boundaries.fan(self.groups.whole, first, top)
            marks = fan.chained[:, list(passing)]
            left = np.unique(marks, axis=0) if passing else marks[:1]
            self._apart[key] = {tuple(one.tolist()): some_of(fan, (marks == one).all(axis=1)) for one in left}
        return self._apart[key]


def _known(node: Node) -> tuple[Rows, Floats]:
    if node.rows is None or node.outside is None:
        raise ValueError("a node without a table")
    return node.rows, node.outside
