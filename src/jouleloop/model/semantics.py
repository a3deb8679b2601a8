"""The versions of Timeloop's counting rules that the model follows, and where they differ."""

from typing import NamedTuple

from jouleloop.energy.costs import EnergyCosts
from jouleloop.errors import Fault, MappingError
from jouleloop.workload.problem import Problem


class Rules(NamedTuple):
    """How one version counts.

    Attributes
    ----------
    first_fills_elided
        Whether the first fill of an output is left out, as since 2 May 2023.
    rests_keep_stride
        Whether a step that moves nothing leaves the last move as it is, so that what two windows share is moved once.
    leakage
        Whether leakage is part of the total energy.
    later_keywords
        Whether ``rmw_first_update`` and ``no_coalesce`` are known.
    """

    first_fills_elided: bool
    rests_keep_stride: bool = False
    leakage: bool = False
    later_keywords: bool = False


#: By version. Source: Timeloop ``src/workload/shape-models/operation-space.cpp``,
#: ``OperationSpace::SaveAndSubtractIfSameStride``, of v3.0.3 and of the main branch (commit 4cf6d4c).
RULES = {
    "timeloop-3.0.3": Rules(first_fills_elided=True),
    "timeloop-2023-04": Rules(first_fills_elided=False),
    "timeloop-4": Rules(first_fills_elided=True, rests_keep_stride=True, leakage=True, later_keywords=True),
}

#: Whether the first fill of an output is left out, by version, of those that the search is proven for.
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


def searched_as(problem: Problem, costs: EnergyCosts, semantics: str) -> str:
    """Return the version by whose rules a search for ``semantics`` is proven: itself, or one that counts alike.

    Without windows, leakage and energies of other actions Timeloop 4 counts as 3.0.3 does. Every rank has one
    dimension then, so a step that moves a box moves it by its whole side: what it leaves and what it meets do not
    overlap, and the whole box is fetched whether the move is the last one or not. A step that moves nothing fetches
    nothing by either rule, and links no neighbour after it.

    Raises
    ------
    MappingError
        Where no search is proven for these rules.
    """
    if not rules_of(semantics).rests_keep_stride:
        return semantics
    why = "windows slide over this layer" if has_windows(problem) else ""
    why = why or ("the energies state leakage" if any(level.leak_pj for level in costs.levels) else "")
    why = why or ("it charges other actions" if any(level.later_pj is not None for level in costs.levels) else "")
    if why:
        text = f"mappings are evaluated by these rules, but no search is proven for them where {why}"
        raise MappingError(Fault(text, field="semantics", value=semantics, allowed=", ".join(FIRST_FILLS_ELIDED)))
    return next(iter(FIRST_FILLS_ELIDED))
