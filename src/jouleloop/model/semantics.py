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
    leakage: bool = False
    """Whether leakage is part of the total energy."""
    later_keywords: bool = False
    """Whether ``rmw_first_update`` and ``no_coalesce`` are known."""
    rounds_factors: bool = False
    """Whether factors of constraints that do not divide the layer are rounded up, where other versions end."""
    later_actions: bool = False
    """Whether fills and updates are looked up under other names in an energy reference table."""
    charged_networks: bool = True
    """Whether energy of networks is counted as since September 2023 (Timeloop commit 20439e7)."""


#: By version. Source: Timeloop ``src/workload/shape-models/operation-space.cpp``,
#: ``OperationSpace::SaveAndSubtractIfSameStride``, of v3.0.3 and of the main branch (commit 4cf6d4c).
RULES = {
    "timeloop-3.0.3": Rules(first_fills_elided=True),
    "timeloop-2023-04": Rules(first_fills_elided=False, charged_networks=False),
    "timeloop-4": Rules(
        first_fills_elided=True,
        rests_keep_stride=True,
        leakage=True,
        later_keywords=True,
        rounds_factors=True,
        later_actions=True,
    ),
}

#: Whether the first fill of an output is left out, by version, of those that differ in nothing else.
FIRST_FILLS_ELIDED = {name: rules.first_fills_elided for name, rules in RULES.items() if not rules.rests_keep_stride}


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
