"""Write what proves the least energy of a fused chain: claimed groups, prices of cuts, and floors of parts.

What is enumerated is the verifier's own (`jouleloop.proof.chain`). Where its cheapest bounds do not reach the price of
a group, optima of parts say which floors do.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from jouleloop.engines.native import mapspace_of
from jouleloop.errors import Fault, InputError, raise_all
from jouleloop.fusion.chain import Chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult, GroupRun
from jouleloop.fusion.search import ChainSearch
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.certificate import check_known, subject, write_floor
from jouleloop.proof import limits
from jouleloop.proof.chain import FusedChain, Task, Way
from jouleloop.proof.form import check_chain, digest_of
from jouleloop.proof.fused import ChainVerifier, Floors, open_ways
from jouleloop.proof.rules import ROUNDING
from jouleloop.workload.problem import Problem

Data = dict[str, Any]
#: A floor is stated so much lower, relatively, as sums of doubles differ in their last bits.
_ROUNDING = 1e-13
#: Statements of floors, at most: each takes the verifier a second or more.
MOST_STATEMENTS = 60
#: Processor seconds that checking may take here: a third of what ``jouleloop check`` allows, on any machine.
MOST_SECONDS = 20.0


class _NoArgument(Exception):  # noqa: N818 - a verdict
    """No argument is written; the text says why."""


def certify_chain(search: ChainSearch, result: ChainResult) -> Data:
    """Return the certificate of what a search of a chain found as plain data.

    Raise `InputError` where chains of this kind are not stated.
    """
    data = _stated(search, result)
    check_chain(data | {"claim": "not argued yet", "digest": ""}, sealed=False)
    try:
        writer = _Writer(search, FusedChain(data), data["prices"])
        found = {"chain_certificate": 1, **data, "statements": list(writer.statements())}
        with limits.limited(MOST_SECONDS):
            ChainVerifier(found).run()
    except (_NoArgument, limits.Exceeded) as error:
        found = {"claim": str(error), **data}
    return found | {"digest": digest_of(found)}


def chain_subject(chain: Chain, fusions: Sequence[Fusion]) -> Data:
    """Return what a certificate of a chain is about: layers, links, hardware, level of fusion and counting rules."""
    others = [problem.name for problem in chain.problems if problem.slides or problem.projection_array.max() > 1]
    raise_all([Fault("there is no certificate", field="chain", value=name, allowed="products") for name in others])
    if any(fusion.depends_on_sizes for fusion in fusions):
        text = "constraints that mean the same for a part as for its layer"
        raise InputError(Fault("there is no certificate", field="constraints", allowed=text))
    abouts = []
    for problem, fusion in zip(chain.problems, fusions, strict=True):
        target = fusion.target
        space = mapspace_of(problem, target)
        check_known(space, target.constraints, target.costs, OBJECTIVES["energy"], target.semantics)
        abouts.append(subject(space, target.constraints, target.costs, target.semantics))
    if any(about["architecture"] != abouts[0]["architecture"] for about in abouts):
        raise InputError(Fault("there is no certificate", field="architecture", allowed="one for all layers"))
    layers = [{key: about[key] for key in ("problem", "constraints")} for about in abouts]
    return {
        **{key: abouts[0][key] for key in ("semantics", "first_fills_elided", "architecture")},
        "level": fusions[0].level,
        "layers": [{"name": name, **layer} for name, layer in zip(chain.names, layers, strict=True)],
        "links": [
            {"output": link.output, "input": link.input, "axes": [[one.writer, one.reader] for one in link.axes]}
            for link in chain.links
        ],
    }


def _stated(search: ChainSearch, result: ChainResult) -> Data:
    """Return what a chain is, what is claimed and the prices, without the argument."""
    return {
        "chain": result.chain,
        "value": result.energy_pj,
        **chain_subject(search.chain, search.fusions),
        "groups": [claimed_group(group) for group in result.groups],
        "prices": _prices(search, result.energy_pj),
        "statements": [],
    }


def claimed_group(group: GroupRun) -> Data:
    """Return what a certificate claims of a group; raise `InputError` where another one lies inside."""
    if any(isinstance(child, GroupRun) for child in group.children):
        text = "groups whose layers share all outer loops"
        raise InputError(Fault("there is no certificate", field="groups", allowed=text))
    return {
        "layers": len(group.layers),
        "loops": [{"factor": loop.factor, "dimensions": list(loop.dimensions)} for loop in group.prefix],
        "parts": [
            {
                "held": list(layer.held),
                "mappings": [_levels(run.search.mapping.as_json()) for run in layer.runs if run.search.mapping],
            }
            for layer in group.layers
        ],
    }


def _levels(mapping: list[Data]) -> list[Data]:
    return [{key: level[key] for key in ("level", "temporal", "spatial", "keep")} for level in mapping]


def _prices(search: ChainSearch, value_pj: float) -> list[float]:
    """Return a price of every cut between layers: no group takes less than its last price less its first.

    What the layers before a cut take at least is such a price, and what is left of the value for those behind. The
    mean leaves room to both sides.
    """
    count, least = len(search.chain.problems), search.least_pj
    before, behind = [0.0] + [math.inf] * count, [math.inf] * count + [0.0]
    for first in range(count):
        for last in range(first, count):
            before[last + 1] = min(before[last + 1], before[first] + least[first, last])
    for first in range(count - 1, -1, -1):
        behind[first] = min(least[first, last] + behind[last + 1] for last in range(first, count))
    inner = [(before[k] + value_pj - behind[k]) / 2 for k in range(1, count)]
    return [0.0, *inner, value_pj]


@dataclass
class _Writer:
    """Finds which floors close every way."""

    search: ChainSearch
    chain: FusedChain
    prices: list[float]
    needed: dict[Task, dict[int, float]] = field(default_factory=dict)
    """By task and words of the level, the floor [pJ]."""

    def statements(self) -> Iterator[Data]:
        """Yield the statements; raise `_NoArgument` where there are none, or too many."""
        unit, floors = self.chain.unit_pj, Floors(self.chain)
        prices = [Fraction(price) * (1 - ROUNDING) / unit for price in self.prices]
        for _, way, price in open_ways(floors, prices):
            self.close(floors, way, price)
            for task, rooms in self.needed.items():
                floors.stated[task] = [(room, Fraction(value) / unit) for room, value in rooms.items()]
            if floors.way(way, price) < price:
                raise _NoArgument("no floors of parts show that a way to run a group costs its price")
            if sum(map(len, self.needed.values())) > MOST_STATEMENTS:
                raise _NoArgument(f"the argument has more than {MOST_STATEMENTS} floors of parts")
        for task, rooms in self.needed.items():
            for room, value in rooms.items():
                yield {
                    "layer": task.layer,
                    "bounds": list(task.sizes),
                    "whole": sorted(task.whole),
                    "resumes": task.resumes,
                    "capacity_words": room,
                    "value": value,
                    "parts": self.argument(task, room, value),
                }

    def close(self, floors: Floors, way: Way, price: Fraction) -> None:
        """State floors of the parts of a way that close it: those of the whole level, or else of its own room."""
        unit, known = float(self.chain.unit_pj), float(floors.way(way, Fraction(10) ** 300))
        missing = (float(price) - known) * unit
        for own in (False, True):
            gains: list[tuple[float, Task, int, int, float, float]] = []
            for part in way.parts:
                room = way.room_of(part) if own else self.chain.capacity
                for run in part.runs:
                    least = float(floors.of(run.task, room)) * unit
                    best = self.optimum(run.task, room) * (1 - _ROUNDING)
                    gains.append((run.times * max(0.0, best - least), run.task, run.times, room, least, best))
            total = sum(gain[0] for gain in gains)
            if total >= missing or own:
                break
        for gain, task, times, room, least, best in gains:
            if total == math.inf:
                share = missing / times * 1.01 if gain == math.inf else 0.0
            else:
                share = (best - least) * min(1.0, missing / total * (1 + 1e-6) + 1e-9) if total > 0 else 0.0
            if share > 0:
                rooms = self.needed.setdefault(task, {})
                rooms[room] = max(rooms.get(room, 0.0), least + share)
            if share > 0 and total == math.inf:
                break

    def _problem(self, task: Task) -> Problem:
        return replace(self.search.chain.problems[task.layer], bounds=task.sizes)

    def optimum(self, task: Task, room: int) -> float:
        """Return the least energy [pJ] of a mapping of a task, infinite where there is none."""
        fusion, problem = self.search.fusions[task.layer], self._problem(task)
        found = self.search.of_part(fusion, problem, task.whole, room, resumes=task.resumes)
        if found is None or (found.evaluation is None and not found.stopped):
            return math.inf
        return found.lower_bound if found.evaluation is None else min(found.lower_bound, found.evaluation.energy_pj)

    def argument(self, task: Task, room: int, value: float) -> list[Data]:
        """Return the parts of a statement that bounds do not rule out."""
        fusion, problem = self.search.fusions[task.layer], self._problem(task)
        target = fusion.target_of(problem, task.whole, room, resumes=task.resumes)
        if target is None or self.optimum(task, room) == math.inf:
            return []
        return write_floor(mapspace_of(problem, target), target.costs, target.semantics, value)
