"""The search against an enumeration of Timeloop's mapspace that shares nothing with it (see `differential`)."""

import os
from functools import cache

import pytest

from differential.case import OBJECTIVES, Case, unhindered
from differential.draw import KINDS, draw_case
from differential.enumerator import Best, Enumerator
from differential.native import load, run_search
from jouleloop.errors import JouleloopError

#: Cases of each kind; more with the variable, as for the enumeration of one level below.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "12"))
#: Mappings of a case: so few that the symbolic counts are fast enough.
LIMIT = 120


@cache
def enumerated(kind: str, seed: int) -> tuple[Case, Best] | None:
    """Return a case and its optima; None where a reader names what it does not follow."""
    case = draw_case(seed, kind, LIMIT)
    try:
        problem, target = load(case)
    except JouleloopError:
        return None
    best = Enumerator(case, problem, target.arch, unhindered(case)).best(target.costs, case.semantics)
    assert best is not None
    return case, best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_the_search_finds_the_optimum_of_the_enumeration(kind: str, seed: int) -> None:
    found = enumerated(kind, seed)
    if found is None:
        return
    case, best = found
    for objective in OBJECTIVES:
        outcome = run_search(Case(**{**case.as_json(), "objective": objective}))
        if best.distinct:
            assert outcome.status == "ok", outcome.reason
            assert outcome.value(objective) == pytest.approx(best.value(objective), rel=1e-9, abs=1e-9)
        else:
            assert outcome.status == "no_mapping"


@pytest.mark.parametrize("kind", KINDS)
def test_few_cases_are_refused(kind: str) -> None:
    refused = sum(enumerated(kind, seed) is None for seed in range(EXAMPLES))
    assert refused <= 1 + EXAMPLES // 4
