"""The versions of Timeloop's counting rules that the model follows, and where they differ."""

from dataclasses import dataclass

from jouleloop.errors import Fault, MappingError


@dataclass(frozen=True)
class Rules:
    """How one version counts and what it reads; every flag is one rule, read by the code of that rule alone."""

    first_fills_elided: bool = True
    """Whether the first fill of an output is left out, as since 2 May 2023."""
    charges_networks: bool = True
    """Whether energy of networks is counted as since September 2023 (Timeloop commit 20439e7)."""
    zero_shift_keeps_last: bool = False
    """Whether a step with a zero shift leaves the last shift as it is, so that two windows' common words move once."""
    counts_leakage: bool = False
    """Whether leakage is part of the total."""
    charges_updates: bool = False
    """Whether an energy reference table has an action for updates, and another one for fills."""
    scales_bandwidths: bool = False
    """Whether an architecture states how much a word of each data space counts in bandwidths."""
    knows_no_coalesce: bool = False
    """Whether ``no_coalesce`` and ``rmw_first_update`` are known."""
    rounds_factors: bool = False
    """Whether constraints' factors that do not divide a layer are rounded up; else the mapper ends there."""
    averages_remainders: bool = False
    """Whether remainders are counted as by the main branch: few iterations run, and a mean of the instances works."""
    reads_underscores: bool = False
    """Whether files of version 0.3 may write attributes with underscores."""

    def contain(self, asked: "Rules") -> bool:
        """Whether a program of these rules counts as ``asked``, where what it knows besides is not stated to it.

        `zero_shift_keeps_last` tells windows and gaps apart alone.
        """
        more = all(getattr(asked, name) <= getattr(self, name) for name in _ADDITIONS)
        return more and asked.first_fills_elided == self.first_fills_elided


#: What the main branch since September 2023 added: rules that do not show where no input asks for them.
_ADDITIONS = dict.fromkeys(
    (
        "counts_leakage",
        "charges_updates",
        "scales_bandwidths",
        "knows_no_coalesce",
        "rounds_factors",
        "averages_remainders",
        "reads_underscores",
    ),
    True,
)

#: By version. Source: Timeloop ``src/workload/shape-models/operation-space.cpp``,
#: ``OperationSpace::SaveAndSubtractIfSameStride``, of v3.0.3 and of the main branch
#: (commits 704c4b9 and 4cf6d4c, before and after its windows changed in January 2025).
RULES = {
    "timeloop-3.0.3": Rules(),
    "timeloop-2023-04": Rules(first_fills_elided=False, charges_networks=False),
    "timeloop-2024": Rules(**_ADDITIONS),
    "timeloop-4": Rules(**_ADDITIONS, zero_shift_keeps_last=True),
}


def versions_with(rule: str, *, absent: bool = False) -> str:
    """Return the names of the versions that have a rule, or in which it is ``absent``."""
    return ", ".join(name for name, rules in RULES.items() if getattr(rules, rule) != absent)


def rules_of(semantics: str) -> Rules:
    """Return the rules of a version; raise `MappingError` where there are none of that name."""
    if semantics not in RULES:
        allowed = ", ".join(RULES)
        raise MappingError(Fault("no rules of the native model", field="semantics", value=semantics, allowed=allowed))
    return RULES[semantics]
