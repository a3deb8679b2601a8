"""Verify the certificate of a fused chain: what is claimed costs what it says, and no way to run a group costs less.

Prices of the cuts between layers stand for a dynamic programme: where no group takes less than its last price less its
first, no list of groups takes less than the last price of all.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from jouleloop.proof import limits
from jouleloop.proof.chain import FusedChain, Part, Task, Way
from jouleloop.proof.design import Design
from jouleloop.proof.perfect import Verdict
from jouleloop.proof.rules import ROUNDING, Refused
from jouleloop.proof.tables import Bounds
from jouleloop.proof.verify import Tell, Unproven, Verifier, judged

Data = dict[str, Any]


@dataclass
class Floors:
    """What mappings of tasks cost at least [units of the chain].

    Parameters
    ----------
    stated
        By task, floors that hold for so many words of the level or fewer.
    """

    chain: FusedChain
    stated: dict[Task, list[tuple[int, Fraction]]] = field(default_factory=dict)
    _once: dict[Task, Fraction | float] = field(default_factory=dict)
    ways: int = 0
    """How many were looked at."""

    def once(self, task: Task) -> Fraction | float:
        """Return what every word once costs, whatever the room."""
        if task not in self._once:
            self._once[task] = once_of(Design(self.chain.about(task, self.chain.capacity))) / self.chain.unit_pj
        return self._once[task]

    def of(self, task: Task, room: int) -> Fraction | float:
        """Return what a mapping of a task costs at least that fills so many words of the level."""
        return max([self.once(task), *(value for most, value in self.stated.get(task, ()) if most >= room)])

    def part(self, way: Way, part: Part) -> Fraction | float:
        """Return what a layer of a way costs at least."""
        room = way.room_of(part)
        return max(part.least, part.moved + sum(r.times * (self.of(r.task, room) - r.spared) for r in part.runs))

    def way(self, way: Way, enough: Fraction) -> Fraction | float:
        """Return what a way costs at least, by the cheapest of its bounds that is enough."""
        total: Fraction | float = sum(part.least for part in way.parts)
        for part in way.parts:
            if total >= enough:
                break
            total += self.part(way, part) - part.least
        return total


def once_of(design: Design) -> Fraction | float:
    """Return the least over all subproblems of *every word once* [pJ]; infinite where there is none."""
    found = [
        bounds.units() + bounds.once()
        for keep in design.keeps
        for factors in design.subproblems
        if (bounds := Bounds(design, keep, factors)).fits(len(keep) - 1, bounds.rest)
    ]
    return Fraction(min(found)) * design.unit_pj if found else math.inf


def open_ways(floors: Floors, prices: list[Fraction]) -> Iterator[tuple[range, Way, Fraction]]:
    """Yield every way that the bounds do not show to cost its group's price, with the group and the price."""
    for group in floors.chain.groups():
        price = prices[group[-1] + 1] - prices[group[0]]
        # Costs are no less than 0.
        for way in floors.chain.ways(group) if price > 0 else ():
            floors.ways += 1
            if floors.way(way, price) < price:
                yield group, way, price


class ChainVerifier:
    """Verifies what the certificate of a chain says."""

    def __init__(self, data: Data, tell: Tell = lambda _verdict, _parts: None) -> None:
        self.data, self.tell = data, tell
        self.chain, self.verdict = FusedChain(data), Verdict()

    def run(self) -> Verdict:
        """Return what was verified; raise `Refused` where the file does not prove its claim."""
        found, value = sum(self.claimed(group) for group in self.groups()), Fraction(self.data["value"])
        if abs(found * self.chain.unit_pj - value) > ROUNDING * value:
            raise Refused(f"the groups cost {float(found * self.chain.unit_pj)!r} pJ, not {self.data['value']!r}")
        if "claim" in self.data:
            raise Unproven(self.data["claim"])
        prices = [Fraction(price) * (1 - ROUNDING) / self.chain.unit_pj for price in self.data["prices"]]
        if prices[0] or self.data["prices"][-1] != self.data["value"]:
            raise Refused("the prices do not go from 0 to the value")
        floors = Floors(self.chain)
        for number, statement in enumerate(self.data["statements"]):
            task, room, value = self.stated(number, statement)
            floors.stated.setdefault(task, []).append((room, value / self.chain.unit_pj))
        for group, way, price in open_ways(floors, prices):
            shown = ", ".join(f"{'|'.join(dict.fromkeys(dims))} in {factor}" for factor, dims in way.loops)
            held = "; ".join(",".join(sorted(part.held)) or "nothing" for part in way.parts)
            least = float(floors.way(way, price) * self.chain.unit_pj)
            names = " and ".join(self.chain.layers[k].name for k in group)
            text = f"{names} in one group, for {shown or 'no loop'}, holding {held}: nothing shows that it costs"
            raise Refused(f"{text} {float(price * self.chain.unit_pj)!r} pJ, but {least!r} at least")
        self.verdict.ways = floors.ways
        return self.verdict

    def groups(self) -> Iterator[tuple[range, Data]]:
        """Yield the claimed groups, which cover the chain."""
        first = 0
        for group in self.data["groups"]:
            yield range(first, first + group["layers"]), group
            first += group["layers"]

    def claimed(self, given: tuple[range, Data]) -> Fraction:
        """Return what a claimed group costs, by the mappings of its parts."""
        group, data = given
        loops = tuple((loop["factor"], tuple(loop["dimensions"])) for loop in data["loops"])
        held = tuple(frozenset(one["held"]) for one in data["parts"])
        way = self.chain.way(group, loops, held)
        if way is None:
            raise Refused("a claimed group is no way to run its layers, or what is on the chip does not fit")
        total = Fraction(0)
        for part, one in zip(way.parts, data["parts"], strict=True):
            if len(part.runs) != len(one["mappings"]):
                raise Refused("a claimed layer has not one mapping for each kind of its iterations")
            total += part.moved
            for run, mapping in zip(part.runs, one["mappings"], strict=True):
                about = self.chain.about(run.task, way.room_of(part))
                spent = Verifier(about | {"value": 0.0, "mapping": mapping, "parts": []}, self.tell).worth()
                total += run.times * (spent / self.chain.unit_pj - run.spared)
        return total

    def stated(self, number: int, statement: Data) -> tuple[Task, int, Fraction]:
        """Return a task, the words of the level, and the floor that a verified statement gives its mappings."""
        layer = self.chain.layers[statement["layer"]]
        whole, room = frozenset(statement["whole"]), statement["capacity_words"]
        task = Task(statement["layer"], tuple(statement["bounds"]), whole, statement["resumes"])
        about = self.chain.about(task, room)
        data = about | {key: statement[key] for key in ("value", "parts")}
        one = Verifier(data, lambda *_: self.tell(self.verdict, 0))
        one.verdict = self.verdict
        try:
            one.perfect_parts({"lemma": "bound", "bound_pj": statement["value"]})
        except Refused as error:
            raise Refused(f"statement {number}, of {layer.name}: {error}") from error
        return task, room, Fraction(statement["value"])


def verify_chain(data: Data, tell: Tell = lambda _verdict, _parts: None, *, seconds: float = limits.SECONDS) -> Verdict:
    """Verify the certificate of a chain, as `jouleloop.proof.verify.verify` that of a layer."""
    return judged(ChainVerifier(data, tell).run, seconds)
