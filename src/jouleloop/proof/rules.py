"""Counting rules by version of Timeloop, and objectives, as far as certificates cover them."""

from fractions import Fraction
from typing import NamedTuple

#: Relative slack for the rounding of the double-precision sums that the search compares.
ROUNDING = Fraction(1, 10**11)


class Rules(NamedTuple):
    """How one version counts; the model's rules of that name are the same, and a test compares them.

    It says whether the first fill of an output is left out (since 2 May 2023), energy of networks is counted as since
    September 2023, a step with a zero shift leaves the last shift as it is, and updates have an energy of their own
    and instances leak.
    """

    elided: bool = True
    charged: bool = True
    resting: bool = False
    later: bool = False


RULES = {
    "timeloop-3.0.3": Rules(),
    "timeloop-2023-04": Rules(elided=False, charged=False),
    "timeloop-2024": Rules(later=True),
    "timeloop-4": Rules(resting=True, later=True),
}


class Refused(Exception):  # noqa: N818 - a verdict, not an error of the program
    """The certificate does not prove what it claims; the text says where."""


def check_bound(bound_pj: float, claimed_pj: float, what: str, *, rules_out: bool) -> None:
    """Raise `Refused` unless a stated bound follows from one's own, and that rules out what it stands for."""
    if claimed_pj > bound_pj * (1 + float(ROUNDING)):
        raise Refused(f"the bound of {what} is {bound_pj!r} pJ, not {claimed_pj!r}")
    if not rules_out:
        raise Refused(f"the bound of {what}, {bound_pj!r} pJ, does not rule it out")


class Objective(NamedTuple):
    """A product of powers of energy [pJ] and delay [cycles]; that of energy is 0 or 1."""

    energy_power: int
    delay_power: int

    def worth(self, energy_pj: Fraction, cycles: int) -> Fraction:
        """Return the value of a mapping."""
        return energy_pj**self.energy_power * Fraction(cycles) ** self.delay_power

    def energy_pj(self, worth: Fraction, cycles: int) -> Fraction:
        """Return the energy [pJ] that is worth so much in some cycles; 0 where none counts."""
        return worth / Fraction(cycles) ** self.delay_power if self.energy_power else Fraction(0)


OBJECTIVES = {"energy": Objective(1, 0), "delay": Objective(0, 1), "edp": Objective(1, 1)}
