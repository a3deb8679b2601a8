"""Verify a certificate: its mapping costs what it says, its parts cover the mapspace, and no part can be better."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from jouleloop.proof import imperfect, limits
from jouleloop.proof.cost import cost_of, fault_of, nest_of
from jouleloop.proof.design import Design, Factors
from jouleloop.proof.limits import Verdict
from jouleloop.proof.perfect import Part
from jouleloop.proof.rules import OBJECTIVES, ROUNDING, Refused

__all__ = ["Refused", "Tell", "Unproven", "Verdict", "Verifier", "judged", "verify"]
#: Is told what is verified so far, and how many parts there are; 0: not known before the end.
Tell = Callable[[Verdict, int], None]


class Unproven(Refused):
    """The file is a claim: its mapping costs what it says, and the text says why nothing proves that none is better."""


class Verifier:
    """Verifies one certificate, or what it says of a part of a chain."""

    def __init__(self, data: dict[str, Any], tell: Tell) -> None:
        self.data, self.tell = data, tell
        self.design, self.verdict = Design(data), Verdict()
        self.imperfect = data.get("factors") == "imperfect"
        self.value, self.objective = Fraction(data["value"]), OBJECTIVES[data["objective"]]

    def run(self) -> Verdict:
        """Return what was verified; raise `Refused` where the file does not prove its claim."""
        if self.design.spared_in_groups():
            raise Refused("ingresses of outputs to a level that cannot add may be counted below 0")
        self.claim()
        if "claim" in self.data:
            raise Unproven(self.data["claim"])
        if self.imperfect:
            self.imperfect_parts()
        else:
            self.perfect_parts()
        return self.verdict

    def claim(self) -> None:
        """Check the mapping that is claimed to be the optimum."""
        found = self.worth()
        if abs(found - self.value) > ROUNDING * abs(found):
            raise Refused(f"the mapping costs {float(found)!r}, not {float(self.value)!r}")

    def worth(self) -> Fraction:
        """Return what the mapping is worth; raise `Refused` where it is none of the mapspace."""
        none = "the mapping is none of the mapspace"
        levels = self.data["mapping"]
        if [level["level"] for level in levels] != [level.name for level in self.design.levels][::-1]:
            raise Refused(f"{none}: its levels are not those of the architecture")
        nest = nest_of(self.design, levels)
        if fault := fault_of(self.design, nest, imperfect=self.imperfect):
            raise Refused(f"{none}: {fault}")
        cost = cost_of(self.design, nest)
        if cost is None:
            raise Refused("the mapping has outputs that overlap, or words that no M:N network takes")
        return self.objective.worth(*cost)

    def given(self, *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return the parts of the file by what they are about; of two the last counts."""
        return {tuple(tuple(map(tuple, part[key])) for key in keys): part for part in self.data["parts"]}

    def perfect_parts(self, others: dict[str, Any] | None = None) -> None:
        """Check every choice of what is kept under every unrolling of factors that divide.

        ``others`` is the argument for those that the file does not name; then the value holds without slack.
        """
        given, members = self.given("keep", "unrolling"), self.design.subproblems
        count, limit = len(members) * len(self.design.keeps), self.value * (1 if others else 1 - ROUNDING)
        tell = partial(self.tell, self.verdict, count)
        tell()
        for keep in self.design.keeps:
            for factors, group in members.items():
                part = Part(self.design, keep, factors, group, self.objective, limit, self.verdict, tell)
                self.covered(given.get((keep, factors), others), factors, part.verify)
                self.verdict.parts += 1
                tell()

    def imperfect_parts(self) -> None:
        """Check every choice of what is kept under every unrolling; see `jouleloop.proof.imperfect`."""
        if not imperfect.knows(self.design) or self.data["objective"] != "energy":
            raise Refused("imperfect factors are verified for the least energy, ranks that two dimensions move at most")
        given = self.given("keep", "unrolling", "idle")
        for part in imperfect.parts_of(self.design, float(self.value) * (1 - float(ROUNDING)), self.verdict):
            written = given.get((part.keep, part.factors, part.idle))
            self.covered(written, part.factors, partial(imperfect.check_part, part))
            self.verdict.parts += 1
            self.tell(self.verdict, len(given))

    def covered(
        self, part: dict[str, Any] | None, factors: tuple[Factors, ...], check: Callable[[dict[str, Any]], Any]
    ) -> None:
        """Check one part of the file, and say which one it is where it is refused."""
        where = " | ".join(
            f"{level.name} " + " ".join(f"{d}{f}" for d, f in zip(self.design.dims, row, strict=True) if f > 1)
            for level, row in zip(reversed(self.design.levels), reversed(factors), strict=True)
        )
        if part is None:
            raise Refused(f"no part covers the unrolling {where}")
        try:
            check(part)
        except Refused as error:
            raise Refused(f"unrolling {where}: {error}") from error


def verify(
    data: dict[str, Any], tell: Tell = lambda _verdict, _parts: None, *, seconds: float = limits.SECONDS
) -> Verdict:
    """Verify a certificate in so many processor seconds; ``tell`` is called after each part and each cut.

    Raise `Refused` where it does not prove its claim, or takes more time or memory than allowed.
    """
    return judged(lambda: Verifier(data, tell).run(), seconds)


def judged(run: Callable[[], Verdict], seconds: float) -> Verdict:
    """Return what a verification finds in so many processor seconds; raise `Refused` as `verify` does."""
    try:
        with limits.limited(seconds):
            return run()
    except limits.Exceeded as error:
        raise Refused(f"nothing is proven: {error}") from error
    except (OverflowError, RecursionError) as error:
        raise Refused("its numbers are beyond those that are counted with") from error
