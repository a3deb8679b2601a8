"""The versions of Timeloop's counting rules that the model follows, and where they differ."""

from typing import NamedTuple

from jouleloop.errors import Fault, MappingError
from jouleloop.workload.problem import Problem


class Rules(NamedTuple):
    """How one version counts."""

    first_fills_elided: bool
    """Whether the first fill of an output is left out, as since 2 May 2023."""
    rests_keep_stride: bool = False
    """Whether a step that moves nothing leaves the last move as it is, so that what two windows share is moved once."""
    later: bool = False
    """Whether it is the main branch since September 2023: leakage is part of the total, fills and updates have names of
    their own in an energy reference table, ``rmw_first_update`` and ``no_coalesce`` are known, factors of constraints
    that do not divide the layer are rounded up where 3.0.3 ends, and loops that end early run otherwise."""
    charged_networks: bool = True
    """Whether energy of networks is counted as since September 2023 (Timeloop commit 20439e7)."""


#: By version. Source: Timeloop ``src/workload/shape-models/operation-space.cpp``,
#: ``OperationSpace::SaveAndSubtractIfSameStride``, of v3.0.3 and of the main branch
#: (commits 704c4b9 and 4cf6d4c, before and after its windows changed in January 2025).
RULES = {
    "timeloop-3.0.3": Rules(first_fills_elided=True),
    "timeloop-2023-04": Rules(first_fills_elided=False, charged_networks=False),
    "timeloop-2024": Rules(first_fills_elided=True, later=True),
    "timeloop-4": Rules(first_fills_elided=True, later=True, rests_keep_stride=True),
}

#: Whether the first fill of an output is left out, by version, of those that differ in nothing else.
FIRST_FILLS_ELIDED = {name: rules.first_fills_elided for name, rules in RULES.items() if not rules.later}


def rules_of(semantics: str) -> Rules:
    """Return the rules of a version; raise `MappingError` where there are none of that name."""
    if semantics not in RULES:
        allowed = ", ".join(RULES)
        raise MappingError(Fault("no rules of the native model", field="semantics", value=semantics, allowed=allowed))
    return RULES[semantics]


def has_windows(problem: Problem) -> bool:
    """Whether a rank of a data space is more than one dimension, or one with gaps: whether windows slide over it."""
    for space in problem.data_spaces:
        for rank in space.projection:
            terms = [term for term in rank if problem.bound[term.dimension] > 1]
            steps = [1 if term.coefficient is None else problem.coefficient[term.coefficient] for term in terms]
            if len(terms) > 1 or any(step != 1 for step in steps):
                return True
    return False
