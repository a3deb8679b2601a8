"""Write what proves the least energy of a fused chain: claimed groups, prices of cuts, and floors of parts.

What is enumerated is the verifier's own (`jouleloop.proof.chain`). Where its cheapest bounds do not reach the price of
a group, optima of parts say which floors do.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from jouleloop.engines.native import mapspace_of
from jouleloop.errors import Fault, InputError
from jouleloop.fusion.chain import Chain
from jouleloop.fusion.hardware import Fusion
from jouleloop.fusion.result import ChainResult, GroupRun
from jouleloop.fusion.search import ChainSearch
from jouleloop.model.objective import OBJECTIVES
from jouleloop.optimum.certificate import check_known, subject, write_floor
from jouleloop.proof import limits, ways
from jouleloop.proof.chain import FusedChain, Task
from jouleloop.proof.form import check_chain, digest_of
from jouleloop.proof.fused import ChainVerifier, Floors, Least
from jouleloop.proof.rules import ROUNDING
from jouleloop.proof.ways import Leaf
from jouleloop.workload.problem import Problem

Data = dict[str, Any]
#: A floor is stated so much lower, relatively, as sums of doubles differ in their last bits.
_ROUNDING = 1e-13
#: What a certificate holds of a level of a mapping.
_NEST = ("level", "temporal", "spatial", "keep")


class _NoArgument(Exception):  # noqa: N818 - a verdict
    """No argument is written; the text says why."""


def certify_chain(search: ChainSearch, result: ChainResult) -> Data:
    """Return the certificate of a chain's optimum as plain data; raise `InputError` where none states such chains."""
    data = {
        "chain": result.chain,
        "value": result.energy_pj,
        **chain_subject(search.chain, search.fusions, recompute=search.recompute),
        "groups": [claimed_group(group) for group in result.groups],
        "prices": _prices(search, result.energy_pj),
        "statements": [],
    }
    check_chain(data | {"claim": "not argued yet", "digest": ""}, sealed=False)
    try:
        writer = _Writer(search, data["prices"], Floors(FusedChain(data)))
        # It tries floors that it does not state.
        writer.floors.verdict.most_steps = 3 * limits.MOST_CHAIN_STEPS
        found = {"chain_certificate": 1, **data, "statements": list(writer.statements())}
        verifier = ChainVerifier(found)
        verifier.verdict.most_steps = limits.MOST_CHAIN_STEPS
        verifier.run()
    except (_NoArgument, limits.Exceeded) as error:
        found = {"claim": str(error), **data}
    return found | {"digest": digest_of(found)}


def chain_subject(chain: Chain, fusions: Sequence[Fusion], *, recompute: bool = False) -> Data:
    """Return what a certificate of a chain is about: layers, links, hardware, level of fusion and counting rules."""
    if recompute and any(axis.reach > axis.step for link in chain.links for axis in link.axes):
        text = "overlaps that wait on the chip"
        raise InputError(Fault("there is no certificate", field="recompute", value=chain.name, allowed=text))
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


def claimed_group(group: GroupRun, depth: int = 0) -> Data:
    """Return what a certificate claims of a group; ``depth``: how many lie around it."""
    parts: list[Data] = []
    for child in group.children:
        if isinstance(child, GroupRun):
            parts.append(claimed_group(child, depth + 1))
        else:
            found = [run.search.mapping.as_json() for run in child.runs if run.search.mapping]
            parts.append({"mappings": [[{key: level[key] for key in _NEST} for level in one] for one in found]})
    return {
        "layers": len(group.layers),
        "loops": [{"factor": loop.factor, "dimensions": list(loop.dimensions)} for loop in group.prefix],
        "held": [list((*layer.held_around, layer.held)[depth]) for layer in group.layers],
        "parts": parts,
    }


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


class _Gain(NamedTuple):
    """What optima would add to what a mapping's floors say [pJ], or to another bound that these are ``behind``.

    ``floors``: by task, how often it runs, its floor and its optimum.
    """

    room: int
    gain: float
    behind: float
    floors: list[tuple[Task, int, float, float]]


@dataclass
class _Writer:
    """Finds which floors close every way."""

    search: ChainSearch
    prices: list[float]
    floors: Floors
    needed: dict[Task, dict[int, float]] = field(default_factory=dict)
    """By task and words of the level, the floor [pJ]."""

    def statements(self) -> Iterator[Data]:
        """Yield the statements; raise `_NoArgument` where there are none."""
        prices = [Fraction(price) * (1 - ROUNDING) / self.floors.chain.unit_pj for price in self.prices]
        for _, least, price in self.floors.open_ways(prices):
            if not self.close(least, price):
                raise _NoArgument("no floors of parts show that a way to run a group costs its price")
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

    def state(self, task: Task, room: int, energy_pj: float) -> None:
        """State a floor."""
        self.needed.setdefault(task, {})[room] = energy_pj
        self.floors.state(task, room, energy_pj)

    def close(self, least: Least, price: Fraction) -> bool:
        """State floors of the mappings of a way that close it, of the whole level or of its own room, if there are."""
        # A part is searched in about so many steps.
        self.floors.verdict.took(1000)
        missing = float((price - least.energy) * self.floors.chain.unit_pj)
        for own in (False, True):
            leaves = [self.gain(leaf, leaf.room if own else self.floors.chain.capacity) for leaf in least.leaves]
            if sum(one.gain for one in leaves) >= missing:
                break
        else:
            return False
        # Those that gain most for each floor suffice.
        leaves.sort(key=lambda one: one.gain / len(one.floors))
        while sum(one.gain for one in leaves[1:]) >= missing:
            del leaves[0]
        total = sum(one.gain for one in leaves)
        share = missing / total * (1 + 1e-6) + 1e-9
        for one in leaves:
            for task, times, known, best in one.floors:
                if best == math.inf:
                    self.state(task, one.room, known + (missing + one.behind) / times * 1.01)
                    return True
                if total < math.inf and one.gain > 0:
                    whole = min(1.0, (one.behind + one.gain * share) / (one.behind + one.gain))
                    self.state(task, one.room, known + (best - known) * whole)
        return True

    def gain(self, leaf: Leaf, room: int) -> "_Gain":
        """Return what optima of a leaf's mappings that fill so much room would add to what it costs at least."""
        unit, now = float(self.floors.chain.unit_pj), self.floors.leaf(leaf)
        runs = ways.runs_of(self.floors.chain, leaf.part)
        known = [float(self.floors.of(run.task, room)) * unit for run in runs]
        best = [max(low, self.optimum(run.task, room) * (1 - _ROUNDING)) for run, low in zip(runs, known, strict=True)]
        spared = float(sum(run.times * run.spared for run in runs) - leaf.part.moved) * unit
        low, high = (sum(r.times * pj for r, pj in zip(runs, some, strict=True)) - spared for some in (known, best))
        rows = [(run.task, run.times, a, b) for run, a, b in zip(runs, known, best, strict=True)]
        return _Gain(room, max(0.0, high - float(now) * unit), float(now) * unit - low, rows)

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
