"""Verify the certificate of a fused chain: what is claimed costs what it says, and no way to run a group costs less."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.proof import limits, ways
from jouleloop.proof.chain import FusedChain, Task
from jouleloop.proof.charges import Energy
from jouleloop.proof.design import Design, Factors, divisors
from jouleloop.proof.limits import WAY_STEPS, Verdict
from jouleloop.proof.rules import ROUNDING, Refused
from jouleloop.proof.tables import Bounds
from jouleloop.proof.unrolled import kept
from jouleloop.proof.verify import Tell, Unproven, Verifier, judged
from jouleloop.proof.ways import Leaf, Part, Scope, Way

Data = dict[str, Any]


class Least(NamedTuple):
    """What a way costs at least, and the mappings by whose floors it does."""

    energy: Energy
    leaves: tuple[Leaf, ...]


@dataclass
class Floors:
    """What mappings of tasks cost at least [units of the chain]; ``stated`` holds for so many words or fewer."""

    chain: FusedChain
    verdict: Verdict = field(default_factory=Verdict)
    stated: dict[Task, list[tuple[int, Energy]]] = field(default_factory=dict)
    _larger: dict[int, dict[Factors, bool]] = field(default_factory=dict)
    _onces: dict[tuple[Any, ...], Energy] = field(default_factory=dict)
    _scopes: dict[Scope, tuple[Energy, Least | None]] = field(default_factory=dict)
    _crossings: dict[tuple[int, bool], dict[Any, Any]] = field(default_factory=dict)

    def state(self, task: Task, room: int, energy_pj: float) -> None:
        """Add a floor."""
        self.stated.setdefault(task, []).append((room, Fraction(energy_pj) / self.chain.unit_pj))
        self._scopes.clear()

    def _once_of(self, about: Data, kind: tuple[int, bool]) -> Energy:
        """Return the least over all subproblems of *every word once*; infinite where there is none."""
        design = Design(about)
        design.crossings = self._crossings.setdefault(kind, {})
        found = [Bounds(design, *one).once() for one in itertools.product(design.keeps, design.subproblems)]
        self.verdict.took(WAY_STEPS * len(found))
        return math.floor(Fraction(min(found)) * design.unit_pj / self.chain.unit_pj) if found else math.inf

    @kept
    def once(self, task: Task) -> Energy:
        """Return what every word once costs, whatever the room."""
        if self.chain.contradicts(task):
            return math.inf
        key = self.chain.counted(task)
        if key not in self._onces:
            about = self.chain.about(task._replace(whole=key[0]), self.chain.capacity)
            self._onces[key] = self._once_of(about, (task.layer, False))
        return self._onces[key]

    def of(self, task: Task, room: int) -> Energy:
        """Return what a mapping of a task costs at least that fills so many words of the level."""
        return max([self.once(task), *(value for most, value in self.stated.get(task, ()) if most >= room)])

    @kept
    def inside(self, k: int, sizes: Factors) -> Energy:
        """Return what a layer takes inside the level at least, into whatever its sums of a size are cut (*cuts*)."""
        layer = self.chain.layers[k]
        whole = [d in layer.moved[layer.output] for d in layer.dims]
        options = zip(whole, layer.bounds, sizes, strict=True)
        cuts = itertools.product(*((bound,) if one else divisors(size) for one, bound, size in options))
        return min((self._cut(k, cut) for cut in cuts if not layer.ignores(sizes, cut)), default=math.inf)

    @kept
    def _cut(self, k: int, sizes: Factors) -> Energy:
        """Return the same for sums of one size."""
        times = math.prod(self.chain.layers[k].bounds) // math.prod(sizes)
        return self._once_of(self.chain.inside(k, sizes), (k, True)) * times

    def part(self, part: Part, *, alone: bool) -> Energy:
        """Return what a layer costs at least, whatever groups lie inside: where ``alone``, of one layer each."""
        layer = self.chain.layers[part.layer]
        least = part.outside + self.chain.operation * sum(times * math.prod(sizes) for sizes, times, _ in part.runs)
        known = self._equal(part) and (alone or not layer.ignores(part.sizes, (1,) * len(part.sizes)))
        return max(least, part.passing + self.inside(part.layer, part.sizes)) if known else least

    def _equal(self, part: Part) -> bool:
        """Whether parts are cut from a layer as loops of a mapping do: windows and unequal parts have floors alone."""
        layer = self.chain.layers[part.layer]
        return not (layer.ignores(layer.bounds, part.sizes) or layer.slides(layer.bounds) or len(part.runs) > 1)

    def leaf(self, leaf: Leaf, below: Energy = math.inf) -> Energy:
        """Return what a layer costs at least as one mapping; floors count where that is ``below``."""
        part, least = leaf.part, self.part(leaf.part, alone=True)
        layer, known = self.chain.layers[part.layer], self._larger.setdefault(part.layer, {})
        grows = [d in layer.moved[layer.output] for d in layer.dims]
        for sizes in (*known, part.sizes) if self._equal(part) else ():
            pairs = zip(grows, sizes, part.sizes, strict=True)
            if least < below and all(a % b == 0 if more else a == b for more, a, b in pairs):
                # Lemma *larger parts*.
                known[sizes], least = True, max(least, part.passing + self._cut(part.layer, sizes))
        if least >= below:
            return least
        runs = ways.runs_of(self.chain, part)
        return max(least, part.moved + sum(run.times * (self.of(run.task, leaf.room) - run.spared) for run in runs))

    def way(self, way: Way, below: Energy) -> Least | None:
        """Return the least that a way costs, None where that is not below an energy."""
        self.verdict.took(WAY_STEPS, ways=1)
        count = len(way.parts)
        low = [self.part(part, alone=count < 3) for part in way.parts]
        runs = [(i, j) for i in range(count) for j in range(i, min(i + max(1, count - 1), count))]
        least: dict[tuple[int, int], Energy] = {(i, j): sum(low[i : j + 1]) for i, j in runs}
        found: dict[tuple[int, int], tuple[Leaf, ...]] = {}
        while True:
            best: list[tuple[Energy, list[tuple[int, int]]]] = [(0, [])]
            for j in range(count):
                lists = [(best[i][0] + least[i, j], [*best[i][1], (i, j)]) for i in range(j + 1) if (i, j) in least]
                best.append(min(lists))
            energy, chosen = best[-1]
            if energy >= below:
                return None
            one = next((run for run in chosen if run not in found), None)
            if one is None:
                return Least(energy, tuple(leaf for run in chosen for leaf in found[run]))
            least[one], found[one] = self._run(way, *one, below - energy + least[one])

    def _run(self, way: Way, first: int, last: int, below: Energy) -> Least:
        """Return the least that layers of a way cost, as one mapping or as a group inside; any above ``below``."""
        least = Least(math.inf, ())
        if first == last and (leaf := ways.leaf_of(self.chain, way, first)):
            least = Least(self.leaf(leaf, below), (leaf,))
        if child := ways.child_of(self.chain, way, first, last):
            moved = sum(part.moved for part in way.parts[first : last + 1])
            if found := self.scope(child, min(below, least.energy) - moved):
                least = Least(found.energy + moved, found.leaves)
        return least

    def scope(self, scope: Scope, below: Energy) -> Least | None:
        """Return the least that a scope costs, None where that is not below an energy."""
        if scope in self._scopes:
            most, known = self._scopes[scope]
            if known or most >= below:
                return known if known and known.energy < below else None
        least = None
        for way in ways.ways(self.chain, scope):
            least = self.way(way, least.energy if least else below) or least
        self._scopes[scope] = below, least
        return least

    def open_ways(self, prices: list[Fraction]) -> Iterator[tuple[Way, Least, Fraction]]:
        """Yield every way that floors do not show to cost its group's price, with what it costs and the price."""
        for scope in ways.scopes_of(self.chain):
            price = prices[scope.first + len(scope.sizes)] - prices[scope.first]
            # Costs are no less than 0.
            for way in ways.ways(self.chain, scope) if price > 0 else ():
                while least := self.way(way, price):
                    yield way, least, price


class ChainVerifier:
    """Verifies what the certificate of a chain says."""

    def __init__(self, data: Data, tell: Tell = lambda _verdict, _parts: None) -> None:
        self.data, self.tell = data, tell
        self.chain, self.verdict = FusedChain(data), Verdict()

    def run(self) -> Verdict:
        """Return what was verified; raise `Refused` where the file does not prove its claim."""
        scopes = {(scope.first, len(scope.sizes)): scope for scope in ways.scopes_of(self.chain)}
        found, value, first = Fraction(0), Fraction(self.data["value"]), 0
        for group in self.data["groups"]:
            found += self.claimed(scopes[first, group["layers"]], group)
            first += group["layers"]
        if abs(found * self.chain.unit_pj - value) > ROUNDING * value:
            raise Refused(f"the groups cost {float(found * self.chain.unit_pj)!r} pJ, not {self.data['value']!r}")
        if "claim" in self.data:
            raise Unproven(self.data["claim"])
        prices = [Fraction(price) * (1 - ROUNDING) / self.chain.unit_pj for price in self.data["prices"]]
        if prices[0] or self.data["prices"][-1] != self.data["value"]:
            raise Refused("the prices do not go from 0 to the value")
        floors = Floors(self.chain, self.verdict)
        for number, statement in enumerate(self.data["statements"]):
            floors.state(*self.stated(number, statement))
        for way, least, price in floors.open_ways(prices):
            shown = ", ".join(f"{'|'.join(dict.fromkeys(dims))} in {factor}" for factor, dims in way.loops)
            held = "; ".join(",".join(sorted(part.held)) or "nothing" for part in way.parts)
            names = " and ".join(self.chain.layers[part.layer].name for part in way.parts)
            text = f"{names} in one group, for {shown or 'no loop'}, holding {held}: nothing shows that it costs"
            wanted_pj, least_pj = (float(one * self.chain.unit_pj) for one in (price, least.energy))
            raise Refused(f"{text} {wanted_pj!r} pJ, but {least_pj!r} at least")
        return self.verdict

    def claimed(self, scope: Scope, data: Data) -> Fraction:
        """Return what a claimed group costs, by the mappings of its parts."""
        loops = tuple((loop["factor"], tuple(loop["dimensions"])) for loop in data["loops"])
        way = ways.way_of(self.chain, scope, loops, tuple(map(frozenset, data["held"])))
        if way is None:
            raise Refused("a claimed group is no way to run its layers, or what is on the chip does not fit")
        total, first = Fraction(sum(part.moved for part in way.parts)), 0
        for one in data["parts"]:
            last = first + one.get("layers", 1) - 1
            if "mappings" in one:
                total += self.mapped(ways.leaf_of(self.chain, way, first), one["mappings"])
            elif child := ways.child_of(self.chain, way, first, last):
                total += self.claimed(child, one)
            else:
                raise Refused("a claimed group can not lie inside another, or what is on the chip does not fit")
            first = last + 1
        return total

    def mapped(self, leaf: Leaf | None, mappings: list[Any]) -> Fraction:
        """Return what the mappings of a layer cost, less what is on the chip."""
        runs = ways.runs_of(self.chain, leaf.part) if leaf else []
        if leaf is None or len(runs) != len(mappings):
            raise Refused("a claimed layer has no room, or not one mapping for each kind of its iterations")
        total = Fraction(0)
        for run, mapping in zip(runs, mappings, strict=True):
            about = self.chain.about(run.task, leaf.room) | {"value": 0.0, "mapping": mapping, "parts": []}
            if self.chain.contradicts(run.task):
                raise Refused("constraints ask for loops over what a claimed layer keeps whole")
            total += run.times * (Verifier(about, self.tell).worth() / self.chain.unit_pj - run.spared)
        return total

    def stated(self, number: int, statement: Data) -> tuple[Task, int, float]:
        """Return a task, the words of the level, and the floor [pJ] that a verified statement gives its mappings."""
        whole, room = frozenset(statement["whole"]), statement["capacity_words"]
        task = Task(statement["layer"], tuple(statement["bounds"]), whole, statement["resumes"])
        data = self.chain.about(task, room) | {key: statement[key] for key in ("value", "parts")}
        one = Verifier(data, lambda *_: self.tell(self.verdict, 0))
        one.verdict = self.verdict
        try:
            one.perfect_parts({"lemma": "bound", "bound_pj": statement["value"]})
        except Refused as error:
            raise Refused(f"statement {number}, of {self.chain.layers[task.layer].name}: {error}") from error
        return task, room, statement["value"]


def verify_chain(data: Data, tell: Tell = lambda _verdict, _parts: None, *, seconds: float = limits.SECONDS) -> Verdict:
    """Verify the certificate of a chain, as `jouleloop.proof.verify.verify` that of a layer."""
    return judged(ChainVerifier(data, tell).run, seconds)
