"""Verify a certificate: its mapping costs what it says, its parts cover the mapspace, and no part can be better."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from jouleloop.proof import imperfect, limits
from jouleloop.proof.cost import cost_of, fault_of, nest_of, shown
from jouleloop.proof.design import Design, Factors, Keep, Nest
from jouleloop.proof.lemmas import Bounds, Energy, Loop, Merging
from jouleloop.proof.rules import OBJECTIVES, ROUNDING, Refused

__all__ = ["Refused", "Tell", "Unproven", "Verdict", "verify"]


class Unproven(Refused):
    """The file is a claim: its mapping costs what it says, and nothing proves that none is better.

    The text says why.
    """


def _keep_of(part: dict[str, Any]) -> Keep:
    return tuple(tuple(bool(k) for k in level) for level in part["keep"])


@dataclass
class Verdict:
    """What was verified.

    Attributes
    ----------
    parts, cuts, nests
        Unrollings under a choice of what is kept; cuts of tiles left out inside them; nests evaluated one by one.
    """

    parts: int = 0
    cuts: int = 0
    nests: int = 0


#: Is told what is verified so far, and how many parts there are; 0: not known before the end.
Tell = Callable[[Verdict, int], None]


class _Verifier:
    def __init__(self, data: dict[str, Any], tell: Tell) -> None:
        self.data = data
        self.tell = tell
        self.count = 0
        self.design = Design(data)
        self.imperfect = data.get("factors") == "imperfect"
        self.merging = Merging(self.design)
        self.value = Fraction(data["value"])
        self.objective = OBJECTIVES[data["objective"]]
        self.verdict = Verdict()

    def no_better(self, energy: Energy, steps: int) -> bool:
        """Whether a part of at least this energy (in `Design.unit_pj`) and these cycles cannot beat the claim."""
        if energy == math.inf:
            return True
        return self.objective.worth(Fraction(energy) * self.design.unit_pj, steps) >= self.value * (1 - ROUNDING)

    def run(self) -> Verdict:
        if self.design.spared_in_groups():
            raise Refused("ingresses of outputs to a level that cannot add may be counted below 0")
        self.claim()
        if "claim" in self.data:
            raise Unproven(self.data["claim"])
        return self.imperfect_parts() if self.imperfect else self.perfect_parts()

    def perfect_parts(self) -> Verdict:
        """Check every choice of what is kept under every unrolling of factors that divide."""
        parts: dict[tuple[Keep, tuple[Factors, ...]], dict[str, Any]] = {}
        for part in self.data["parts"]:
            parts[_keep_of(part), tuple(tuple(level) for level in part["unrolling"])] = part
        members: dict[tuple[Factors, ...], list[tuple[Factors, ...]]] = {}
        for unrolling in self.design.unrollings():
            members.setdefault(self.merging.representative(unrolling), []).append(unrolling)
        self.count = len(members) * len(self.design.keeps)
        self.tell(self.verdict, self.count)
        for keep in self.design.keeps:
            for chosen, group in members.items():
                part_or_none = parts.get((keep, chosen))
                if part_or_none is None:
                    raise Refused(f"no part covers the unrolling {self.shown(chosen)}")
                _Part(self, keep, chosen, group).verify(part_or_none)
                self.verdict.parts += 1
                self.tell(self.verdict, self.count)
        return self.verdict

    def imperfect_parts(self) -> Verdict:
        """Check every choice of what is kept under every unrolling; see `jouleloop.proof.imperfect`."""
        if not imperfect.knows(self.design) or self.data["objective"] != "energy":
            raise Refused("imperfect factors are verified for the least energy, ranks that two dimensions move at most")
        given = {}
        for part in self.data["parts"]:
            rows = (tuple(tuple(level) for level in part[key]) for key in ("unrolling", "idle"))
            given[_keep_of(part), *rows] = part
        limit_pj = float(self.value) * (1 - float(ROUNDING))
        for part in imperfect.parts_of(self.design, limit_pj):
            written = given.get((part.keep, part.factors, part.idle))
            where = f"unrolling {self.shown(part.factors)}"
            if written is None:
                raise Refused(f"no part covers the {where}")
            try:
                imperfect.check_part(part, written)
            except Refused as error:
                raise Refused(f"{where}: {error}") from error
            self.verdict.parts += 1
            self.verdict.cuts += part.cuts
            self.verdict.nests += part.count
            self.tell(self.verdict, len(given))
        return self.verdict

    def claim(self) -> None:
        """Check the mapping that is claimed to be the optimum."""
        levels = self.data["mapping"]
        if [level["level"] for level in levels] != [level.name for level in self.design.levels][::-1]:
            raise Refused("the mapping is none of the mapspace: its levels are not those of the architecture")
        nest = nest_of(self.design, levels)
        fault = fault_of(self.design, nest, imperfect=self.imperfect)
        if fault:
            raise Refused(f"the mapping is none of the mapspace: {fault}")
        cost = cost_of(self.design, nest)
        if cost is None:
            raise Refused("the mapping has outputs that overlap, or words that no M:N network takes")
        found = self.objective.worth(*cost)
        if abs(found - self.value) > ROUNDING * abs(found):
            raise Refused(f"the mapping costs {float(found)!r}, not {float(self.value)!r}")

    def shown(self, factors: tuple[Factors, ...]) -> str:
        """Return factors by level in words."""
        return " | ".join(
            f"{level.name} " + " ".join(f"{d}{f}" for d, f in zip(self.design.dims, row, strict=True) if f > 1)
            for level, row in zip(reversed(self.design.levels), reversed(factors), strict=True)
        )


class _Part:
    """One unrolling under one choice of what is kept."""

    def __init__(
        self, verifier: _Verifier, keep: Keep, factors: tuple[Factors, ...], members: list[tuple[Factors, ...]]
    ) -> None:
        self.verifier, self.keep, self.factors, self.members = verifier, keep, factors, members
        self.design = verifier.design
        self.bounds = Bounds(self.design, keep, factors)
        self.top = len(self.design.levels) - 1

    def verify(self, part: dict[str, Any]) -> None:
        whole = self.bounds.rest
        units = self.bounds.units()
        if not self.bounds.fits(self.top, whole):
            return
        if part["lemma"] == "bound":
            least = units + max(self.bounds.once(), self.bounds.inward(self.top, whole, None, (0,) * len(whole)))
            self.hold(least, part["bound_pj"], "the part")
            return
        self.node(self.top, whole, [[] for _ in self.keep], units, part["cuts"])

    def where(self) -> str:
        """Return which part this is, in words."""
        return f"unrolling {self.verifier.shown(self.factors)}"

    def node(self, k: int, tile: Factors, loops: list[list[Loop]], certain: Energy, cuts: list[dict[str, Any]]) -> None:
        """Check that every cut at a node is left out with reason or followed; ``loops`` stand outside, by level."""
        if k == 0:
            self.leaf(tile, loops)
            return
        given = {(tuple(cut["tile"]), None if cut["order"] is None else tuple(cut["order"])): cut for cut in cuts}
        outside = [loop for level in reversed(loops) for loop in level]
        j = outside[-1][0] if outside else None
        start = self.bounds.start_of(outside, tile)
        for cut in self.design.cuts(k, tile):
            whole = given.get((cut, None))
            if whole is not None:
                least = certain + self.bounds.floor(k, tile, cut, j, start)
                self.leave_out(k, cut, least, whole["bound_pj"])
                continue
            for order, placed in self.placed(k, tile, cut):
                entry = given.get((cut, order))
                if entry is None:
                    raise Refused(f"{self.where()}: no part covers the cut {cut} of {self.design.levels[k].name}")
                more = [*outside, *placed]
                sure = certain + self.bounds.certain(k, cut, more) if self.bounds.fits(k - 1, cut) else math.inf
                if entry["cuts"] is None:
                    innermost = more[-1][0] if more else None
                    inward = self.bounds.inward(k - 1, cut, innermost, self.bounds.start_of(more, cut))
                    self.leave_out(k, cut, sure + inward, entry["bound_pj"])
                    continue
                deeper = [*loops]
                deeper[k] = placed
                if sure < math.inf:
                    self.node(k - 1, cut, deeper, sure, entry["cuts"])

    def placed(self, k: int, tile: Factors, cut: Factors) -> Iterator[tuple[tuple[int, ...], list[Loop]]]:
        """Every order of the loops of a cut (innermost first), with the loops outermost first."""
        moved = [d for d, size in enumerate(tile) if cut[d] != size]
        for order in self.design.levels[k].temporal.orders(moved):
            yield order, [(d, tile[d] // cut[d], cut[d] * self.bounds.inside[k][d]) for d in reversed(order)]

    def leave_out(self, k: int, cut: Factors, least: Energy, claimed_pj: float | None) -> None:
        """Check that what a cut leaves cannot be better than claimed."""
        self.verifier.verdict.cuts += 1
        self.verifier.tell(self.verifier.verdict, self.verifier.count)
        self.hold(least, claimed_pj, f"the cut {cut} of {self.design.levels[k].name}")

    def hold(self, least: Energy, claimed_pj: float | None, what: str) -> None:
        """Check that a bound follows from the lemmas, and that it rules out what it stands for."""
        shown = math.inf if least == math.inf else float(Fraction(least) * self.design.unit_pj)
        claimed = math.inf if claimed_pj is None else claimed_pj
        if claimed > shown * (1 + float(ROUNDING)):
            raise Refused(f"{self.where()}: the bound of {what} is {shown!r} pJ, not {claimed!r}")
        if not self.verifier.no_better(least, self.bounds.steps):
            raise Refused(f"{self.where()}: the bound of {what}, {shown!r} pJ, does not rule it out")

    def leaf(self, tile: Factors, loops: list[list[Loop]]) -> None:
        """Evaluate every order of the innermost loops and every order of the spatial loops, one by one."""
        slot = self.design.levels[0].temporal
        if not all(slot.admits(d, size) for d, size in enumerate(tile)):
            return
        for order in slot.orders([d for d, size in enumerate(tile) if size > 1]):
            filled = [[(d, tile[d], 1) for d in reversed(order)], *loops[1:]]
            for member in self.members:
                for spatial in self.arrangements(member):
                    self.verifier.verdict.nests += 1
                    temporal = tuple(tuple((d, end) for d, end, _ in level) for level in filled)
                    nest = Nest(self.keep, temporal, spatial)
                    cost = cost_of(self.design, nest)
                    if cost is None:
                        continue
                    if self.verifier.objective.worth(*cost) < self.verifier.value * (1 - ROUNDING):
                        text = f"{float(cost[0])!r} pJ and {cost[1]} cycles"
                        raise Refused(f"{shown(self.design, nest)} costs {text}, less than claimed")

    def arrangements(self, member: tuple[Factors, ...]) -> Iterator[tuple[Any, ...]]:
        """Every order of the spatial loops of all levels."""

        def choose(k: int, chosen: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
            if k == len(member):
                yield chosen
                return
            for order in self.design.spatial_orders(k, member[k]):
                yield from choose(k + 1, (*chosen, order))

        yield from choose(0, ())


def verify(
    data: dict[str, Any], tell: Tell = lambda _verdict, _parts: None, *, seconds: float = limits.SECONDS
) -> Verdict:
    """Verify a certificate.

    Parameters
    ----------
    tell
        Called after each part and each cut.
    seconds
        Processor seconds, at most.

    Raises
    ------
    Refused
        Where it does not prove its claim, or takes more time or memory than allowed.
    """
    try:
        with limits.limited(seconds):
            return _Verifier(data, tell).run()
    except limits.Exceeded as error:
        raise Refused(f"nothing is proven: {error}") from error
    except (OverflowError, RecursionError) as error:
        raise Refused("its numbers are beyond those that are counted with") from error
