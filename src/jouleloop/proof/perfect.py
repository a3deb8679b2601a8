"""Check the argument for one unrolling of perfect factors: a bound of the whole, or cuts that cover it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from jouleloop.proof.charges import Energy
from jouleloop.proof.cost import cost_of, shown
from jouleloop.proof.design import Design, Factors, Keep, Nest
from jouleloop.proof.lemmas import Loop
from jouleloop.proof.limits import NEST_STEPS, Verdict
from jouleloop.proof.rules import Objective, Refused, check_bound
from jouleloop.proof.tables import Bounds


@dataclass
class Part:
    """An unrolling, which stands for ``members``, and what is kept; no nest may be worth less than ``limit``."""

    design: Design
    keep: Keep
    factors: tuple[Factors, ...]
    members: list[tuple[Factors, ...]]
    objective: Objective
    limit: Fraction
    verdict: Verdict
    tell: Callable[[], None]

    def verify(self, part: dict[str, Any]) -> None:
        """Raise `Refused` where a part of a certificate is no argument."""
        bounds, claimed_pj = Bounds(self.design, self.keep, self.factors), part["bound_pj"]
        self.bounds, bounds.verdict = bounds, self.verdict
        if not bounds.fits(len(self.keep) - 1, bounds.rest):
            return
        if part["lemma"] == "bound":
            self.hold(bounds.least(self.enough(claimed_pj)), claimed_pj, "the part")
        else:
            self.node(bounds.rest, [], bounds.units(), part["cuts"])

    def node(self, tile: Factors, loops: list[list[Loop]], certain: Energy, cuts: list[dict[str, Any]]) -> None:
        """Check every cut inside some loops, by level from the outermost one, which cost ``certain`` at least."""
        k, bounds = len(self.keep) - 1 - len(loops), self.bounds
        if k == 0:
            self.leaf(tile, loops)
            return
        given = {(tuple(cut["tile"]), None if cut["order"] is None else tuple(cut["order"])): cut for cut in cuts}
        outside = [loop for level in loops for loop in level]
        for cut in self.design.cuts(k, tile):
            what = f"the cut {cut} of {self.design.levels[k].name}"
            if (cut, None) in given:
                claimed_pj = given[cut, None]["bound_pj"]
                inward = bounds.floor(k, tile, cut, *bounds.run_of(outside, tile), self.enough(claimed_pj) - certain)
                self.leave_out(certain + inward, claimed_pj, what)
                continue
            for order in self.design.temporal[k].orders([d for d, size in enumerate(tile) if cut[d] != size]):
                if (cut, order) not in given:
                    raise Refused(f"no part covers {what}")
                entry = given[cut, order]
                placed = [(d, tile[d] // cut[d], cut[d] * bounds.inside[k][d]) for d in reversed(order)]
                more = [*outside, *placed]
                if not bounds.fits(k - 1, cut):
                    continue
                sure = certain + bounds.certain(k, cut, more)
                if entry["cuts"] is None:
                    most = self.enough(entry["bound_pj"]) - sure
                    self.leave_out(
                        sure + bounds.inward(k - 1, cut, *bounds.run_of(more, cut), most), entry["bound_pj"], what
                    )
                else:
                    self.node(cut, [*loops, placed], sure, entry["cuts"])

    def enough(self, claimed_pj: float | None) -> Energy:
        """Return from what a bound on holds and rules out what it stands for; greater ones need not be known."""
        if claimed_pj is None:
            return math.inf
        wanted_pj = max(Fraction(claimed_pj), self.objective.energy_pj(self.limit, self.bounds.steps))
        return math.ceil(wanted_pj / self.design.unit_pj)

    def leave_out(self, least: Energy, claimed_pj: float | None, what: str) -> None:
        """Check that what a cut leaves cannot be better than claimed."""
        self.verdict.took(cuts=1)
        self.tell()
        self.hold(least, claimed_pj, what)

    def hold(self, least: Energy, claimed_pj: float | None, what: str) -> None:
        """Check that a bound follows from the lemmas, and that it rules out what it stands for, without slack."""
        energy_pj = least if least == math.inf else Fraction(least) * self.design.unit_pj
        claimed = math.inf if claimed_pj is None else claimed_pj
        rules_out = least == math.inf or self.objective.worth(Fraction(energy_pj), self.bounds.steps) >= self.limit
        check_bound(float(energy_pj), claimed, what, rules_out=rules_out)

    def leaf(self, tile: Factors, loops: list[list[Loop]]) -> None:
        """Evaluate every order of the innermost loops and every order of the spatial loops, one by one."""
        slot = self.design.temporal[0]
        if not slot.takes(tile):
            return
        for order in slot.orders([d for d, size in enumerate(tile) if size > 1]):
            filled = [[(d, tile[d], 1) for d in reversed(order)], *reversed(loops)]
            temporal = tuple(tuple((d, end) for d, end, _ in level) for level in filled)
            for spatial in (one for member in self.members for one in self.design.arrangements(member)):
                self.verdict.took(NEST_STEPS, nests=1)
                nest = Nest(self.keep, temporal, spatial)
                cost = cost_of(self.design, nest)
                if cost is not None and self.objective.worth(*cost) < self.limit:
                    text = f"{float(cost[0])!r} pJ and {cost[1]} cycles"
                    raise Refused(f"{shown(self.design, nest)} costs {text}, less than claimed")
