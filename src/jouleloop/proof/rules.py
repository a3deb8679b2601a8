"""Counting rules by version of Timeloop, and objectives, as far as certificates cover them."""

from fractions import Fraction
from typing import NamedTuple

#: Relative slack for the rounding of the double-precision sums that the search compares.
ROUNDING = Fraction(1, 10**11)


class Rules(NamedTuple):
    """How one version counts; the model's rules of that name are the same, and a test compares them."""

    elided: bool = True
    """Whether the first fill of an output is left out (since 2 May 2023)."""
    charged: bool = True
    """Whether energy of networks is counted as since September 2023."""
    resting: bool = False
    """Whether a step with a zero shift leaves the last shift as it is."""
    later: bool = False
    """Whether updates have an energy of their own and instances leak."""


RULES = {
    "timeloop-3.0.3": Rules(),
    "timeloop-2023-04": Rules(elided=False, charged=False),
    "timeloop-2024": Rules(later=True),
    "timeloop-4": Rules(resting=True, later=True),
}


class Refused(Exception):  # noqa: N818 - a verdict, not an error of the program
    """The certificate does not prove what it claims; the text says where."""


class Objective(NamedTuple):
    """A product of powers of energy [pJ] and delay [cycles]."""

    energy_power: int
    delay_power: int

    def worth(self, energy_pj: Fraction, cycles: int) -> Fraction:
        """Return the value of a mapping."""
        return energy_pj**self.energy_power * Fraction(cycles) ** self.delay_power


OBJECTIVES = {"energy": Objective(1, 0), "delay": Objective(0, 1), "edp": Objective(1, 1)}
