"""The best design of a space by branch and bound over families of designs; `docs/exploration.md` has the proof."""

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from jouleloop.exploration.designs import Design, Space
from jouleloop.exploration.prices import Price, Prices, StoppedError
from jouleloop.exploration.sums import Summand, Sums, add_fronts
from jouleloop.model.arrays import Bools, Floats, Ints
from jouleloop.optimum.limit import INTERRUPT
from jouleloop.workload.problem import Problem

#: What is minimised, and what is searched of every layer for it.
OBJECTIVES = {"energy": "energy", "delay": "delay", "edp": "front", "front": "front"}
#: Values closer than this, relatively, are ties.
_TIE = 1e-12
#: How much a smaller capacity is taken to cost where the best mapping fits no more: a guess, for the order alone.
_GUESS = 0.1


@dataclass(frozen=True)
class Family:
    """Designs that were judged together.

    Attributes
    ----------
    members
        The designs, as places among all.
    bound
        No member has a lower value; of the front the least product of energy and cycles.
    reason
        Why no member can be better, or the layer that has no mapping on any.
    """

    members: tuple[int, ...]
    bound: float
    reason: str


@dataclass
class Outcome:
    """What an exploration has found.

    Attributes
    ----------
    best
        Place of the best design; None where there is none.
    value
        Its value.
    lower_bound
        No design has less.
    counted
        By place, energy [pJ] and cycles of the designs that were searched.
    front
        Of the objective ``front``: energy [pJ], cycles, area [um2] and place of all that no other design beats.
    families
        What was discarded, in turn.
    stopped
        What ended it early, or nothing.
    """

    best: int | None = None
    value: float = np.inf
    lower_bound: float = np.inf
    counted: dict[int, tuple[float, float]] = field(default_factory=dict)
    front: list[tuple[float, int, float, int]] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    stopped: str = ""
    nodes: int = 0


@dataclass(frozen=True)
class _Node:
    """A family with what its layers cost at least."""

    space: Space
    members: Ints
    costs: tuple[Price, ...]
    values: Floats
    bound: float
    sums: Sums | None = None


class Explorer:
    """Branch and bound over families.

    Parameters
    ----------
    designs
        All designs; those beyond a budget are left out before.
    coordinates
        Where a design stands along each attribute, shape (designs, attributes): families are split along these.
    layers
        Problem and number of runs of every layer, those of one shape together.
    objective
        One of `OBJECTIVES`.
    tell
        Is told after every family.
    unread
        How many designs there are besides, of which nothing is known: something stopped before they were read.
    """

    def __init__(
        self,
        designs: Sequence[Design],
        coordinates: Ints,
        layers: Sequence[tuple[Problem, int]],
        objective: str,
        prices: Prices,
        tell: Callable[["Explorer"], None] | None = None,
        unread: int = 0,
    ) -> None:
        self.designs, self.coordinates, self.objective, self.prices = designs, coordinates, objective, prices
        self.layers, self.tell = list(layers), tell
        self.runs = np.array([runs for _, runs in layers], float)
        self.areas = np.array([np.inf if one.area_um2 is None else one.area_um2 for one in designs])
        self.outcome = Outcome()
        self._heap: list[tuple[float, int, _Node]] = []
        self._number = itertools.count()
        #: Designs of which nothing is known yet, and of those that were not even read.
        self._unbounded = len(designs) + unread

    @property
    def open(self) -> int:
        """How many designs wait."""
        return sum(len(node.members) for _, _, node in self._heap)

    @property
    def lower_bound(self) -> float:
        """No design that is left has a lower value than this, nor has the best one."""
        return min([self.outcome.value, *(bound for bound, _, _ in self._heap[:1])])

    def run(self, asked: Callable[[], str]) -> Outcome:
        """Search until nothing is left that can be better, or ``asked`` says what stops it."""
        outcome = self.outcome
        try:
            for space in self._roots():
                if self._stops(asked):
                    break
                self._push(self._bounded(space, np.arange(len(space.designs)), None))
            self._dive(asked)
            while self._heap and not self._stops(asked):
                node = heapq.heappop(self._heap)[2]
                if not self._better(node):
                    self._discard(node)
                    continue
                for child in self._split(node):
                    self._push(child)
        except StoppedError as error:
            outcome.stopped = str(error)
        except KeyboardInterrupt:
            outcome.stopped = INTERRUPT
            self._unbounded += 1  # a family that was being judged waits no more
        finally:
            self.prices.flush()
        # Something that stopped the reading stops what comes after it.
        outcome.stopped = outcome.stopped or (asked() if self._unbounded else "")
        outcome.lower_bound = outcome.value if not outcome.stopped else 0.0 if self._unbounded else self.lower_bound
        return outcome

    def _roots(self) -> list[Space]:
        families: dict[str, list[int]] = {}
        for place, design in enumerate(self.designs):
            families.setdefault(design.structure, []).append(place)
        return [Space([self.designs[place] for place in own], own) for own in families.values()]

    def _stops(self, asked: Callable[[], str]) -> bool:
        self.outcome.stopped = asked()
        return bool(self.outcome.stopped)

    def _dive(self, asked: Callable[[], str]) -> None:
        """Follow the best child to one design, so that there is something to compare with."""
        if not self._heap:
            return
        node: _Node | None = heapq.heappop(self._heap)[2]
        while node is not None and not self._stops(asked):
            children = sorted(self._split(node), key=lambda child: child.bound)
            node = children.pop(0) if children else None
            for child in children:
                self._push(child)
        if node is not None:
            self._push(node)

    def _push(self, node: _Node | None) -> None:
        if node is not None:
            heapq.heappush(self._heap, (node.bound, next(self._number), node))

    def _split(self, node: _Node) -> list[_Node]:
        """Return the two halves of a family that can be better, bounded; nothing where its members are alike."""
        halves = self._halves(node)
        try:
            found = [self._bounded(node.space, half, node) for half in halves]
        except StoppedError:
            self._push(node)
            raise
        return [child for child in found if child is not None]

    def _bounded(self, space: Space, members: Ints, parent: _Node | None) -> _Node | None:
        """Return a family with its bound; None where it is judged: searched as designs that are alike, or discarded."""
        self.outcome.nodes += 1
        relaxed = space.relaxed(members)
        targets = {shape: space.at(relaxed, shape) for shape in dict.fromkeys(one.shape for one, _ in self.layers)}
        identities = {shape: self.prices.identity(target) for shape, target in targets.items()}
        values = np.zeros(len(self.layers)) if parent is None else parent.values.copy()
        costs: list[Price | None] = [None] * len(self.layers)
        exact, ids = space.alike(members), space.ids[members]
        for layer in np.argsort(-values * self.runs, kind="stable").tolist():
            problem = self.layers[layer][0]
            price = self.prices.price(problem, targets[problem.shape], identities[problem.shape])
            if not price.points:
                self._unbounded -= len(members) if parent is None else 0
                self.outcome.families.append(
                    Family(tuple(ids.tolist()), np.inf, f"{problem.name} has no mapping: {price.reason}")
                )
                return None
            costs[layer] = price
            own = price.points[0][1 if self.objective == "delay" else 0]
            values[layer] = own if exact else max(values[layer], own)
            if self.prices.what != "front" and self._no_better(float(values @ self.runs)):
                break
        if parent is None:
            self._unbounded -= len(members)
        known = tuple(price for price in costs if price is not None)
        whole = len(known) == len(costs)
        sums = self._sums(known) if whole and self.prices.what == "front" else None
        bound = float(values @ self.runs) if sums is None else float((sums.energies_pj * sums.cycles).min())
        node = _Node(space, members, known, values, bound, sums)
        if self.tell is not None:
            self.tell(self)
        if exact and whole:
            self._take(node)
            return None
        if not self._better(node):
            self._discard(node)
            return None
        return node

    def _sums(self, costs: Sequence[Price]) -> Sums:
        """Return the front of all sums of the layers' points."""
        return add_fronts(
            [
                Summand(np.array([e for e, _ in cost.points]), np.array([c for _, c in cost.points], np.int64), runs)
                for cost, (_, runs) in zip(costs, self.layers, strict=True)
            ]
        )

    def _no_better(self, bound: float) -> bool:
        return bound >= self.outcome.value * (1 - _TIE)

    def _better(self, node: _Node) -> bool:
        """Whether a member may be better than the best, or have a point that none of the front beats."""
        if self.objective != "front" or node.sums is None:
            return not self._no_better(node.bound)
        return bool((~self._beaten(node.sums, float(self.areas[node.space.ids[node.members]].min()))).any())

    def _beaten(self, sums: Sums, area_um2: float) -> Bools:
        """Return which sums a point of the front beats or equals, in energy, cycles and area."""
        front = self.outcome.front
        beaten = np.zeros(len(sums.cycles), np.bool_)
        for energy_pj, cycles, area, _ in front:
            if area <= area_um2:
                beaten |= (energy_pj <= sums.energies_pj * (1 + _TIE)) & (cycles <= sums.cycles)
        return beaten

    def _discard(self, node: _Node) -> None:
        reason = "every point is beaten" if self.objective == "front" else "no member is better than the best"
        self.outcome.families.append(Family(tuple(node.space.ids[node.members].tolist()), node.bound, reason))

    def _take(self, node: _Node) -> None:
        """Judge members that are alike: the smallest stands for all."""
        ids, outcome = node.space.ids[node.members], self.outcome
        order = np.argsort(self.areas[ids], kind="stable")
        own = int(ids[order[0]])
        if node.sums is not None:
            place = int((node.sums.energies_pj * node.sums.cycles).argmin())
            found = float(node.sums.energies_pj[place]), float(node.sums.cycles[place])
        else:
            points = np.array([cost.points[0] for cost in node.costs])
            found = float(points[:, 0] @ self.runs), float(points[:, 1] @ self.runs)
        outcome.counted |= dict.fromkeys(map(int, ids), found)
        if len(ids) > 1:
            rest = tuple(map(int, ids[order[1:]]))
            outcome.families.append(Family(rest, node.bound, "alike in all that costs; another has no more area"))
        if self.objective == "front" and node.sums is not None:
            self._join(node.sums, own)
        if not self._no_better(node.bound):
            outcome.best, outcome.value = own, node.bound

    def _join(self, sums: Sums, own: int) -> None:
        """Put the points of a design into the front, and take out those that it beats."""
        area, outcome = float(self.areas[own]), self.outcome
        kept = ~self._beaten(sums, area)
        new = [
            (float(energy), int(cycles), area, own)
            for energy, cycles in zip(sums.energies_pj[kept], sums.cycles[kept], strict=True)
        ]
        outcome.front = [
            one
            for one in outcome.front
            if not any(e <= one[0] * (1 + _TIE) and c <= one[1] and a <= one[2] for e, c, a, _ in new)
        ] + new

    def _halves(self, node: _Node) -> list[Ints]:
        """Return a family in two, along the attribute that seems to matter most."""
        place = self.coordinates[node.space.ids[node.members]]
        best, found = -1.0, list[Ints]()
        for column in place.T:
            values = np.unique(column)
            if len(values) < 2:
                continue
            low = column < values[len(values) // 2]
            halves = [node.members[low], node.members[~low]]
            score = sum(self._increase(node, half) for half in halves) + 1e-9 * len(values)
            if score > best:
                best, found = score, halves
        # Designs of one place differ in nothing that is split along.
        return found or [node.members[:1], node.members[1:]]

    def _increase(self, node: _Node, half: Ints) -> float:
        """Return about how much more of its energy a half costs than the family: for the order of splits alone."""
        (more, less), (own_more, own_less) = node.space.best(node.members), node.space.best(half)
        levels = len(more)
        before, after = (one[:-1].reshape(levels, -1)[:, :2].sum(axis=1) for one in (less, own_less))
        ratio = np.divide(after, before, out=np.ones(levels), where=before > 0) - 1
        level_pj = np.array([cost.level_pj for cost in node.costs]) * self.runs[: len(node.costs), None]
        tiles = np.array([cost.tile_words for cost in node.costs])
        tight = (tiles > own_more[:, 0]) & (own_more[:, 0] < more[:, 0])
        total = float(level_pj.sum()) or 1.0
        slower = float((own_more[:, 1:] < more[:, 1:]).sum())
        guessed = _GUESS * float((level_pj.sum(axis=1) * tight.any(axis=1)).sum()) + _GUESS * total * slower
        return (float((level_pj * ratio).sum()) + guessed) / total
