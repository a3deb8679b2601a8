"""The search against an enumeration of Timeloop's mapspace that shares nothing with it (see `differential`).

Of designs that slide, distribute or reuse less the model counts each mapping: what is left out is looked at, no count.
"""

import contextlib
import itertools
import math
import os
from dataclasses import replace
from functools import cache

import pytest

from differential.case import OBJECTIVES, Case, unhindered
from differential.draw import KINDS, draw_case
from differential.enumerator import Best, Enumerator
from differential.native import load, run_search
from differential.open import OPEN
from jouleloop.errors import JouleloopError
from jouleloop.mapping.mapping import Mapping
from jouleloop.model.evaluate import evaluate_mapping
from shares import by_kind

#: Cases of each kind; more with the variable, as for the enumeration of one level below.
EXAMPLES = int(os.environ.get("JOULELOOP_EXAMPLES", "12"))
#: Mappings of a case: so few that the symbolic counts are fast enough.
LIMIT = 120
#: The same where the model counts them.
MOST_COUNTED = 400


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


def least_counted_pj(case: Case) -> float | None:
    """Return the least energy [pJ] of all mappings by the model; None where a reader refuses or they are many."""
    try:
        problem, target = load(case)
    except JouleloopError:
        return None
    space = Enumerator(case, problem, target.arch, unhindered(case))
    mappings = list(itertools.islice(space.mappings(), MOST_COUNTED + 1))
    told, least_pj = target.constraints, math.inf
    for mapping in mappings if len(mappings) <= MOST_COUNTED else ():
        with contextlib.suppress(JouleloopError):
            levels = tuple(replace(level, reuse=told.level(level.level).reuse) for level in mapping.levels)
            found = evaluate_mapping(problem, target.arch, target.costs, Mapping(levels), target.semantics)
            least_pj = min(least_pj, found.energy_pj)
    return least_pj if least_pj < math.inf else None


@by_kind(OPEN, 40 * EXAMPLES, first=2 * EXAMPLES)
def test_no_mapping_that_a_search_leaves_out_costs_less(kind: str, seeds: range) -> None:
    compared = 0
    for seed in seeds:
        case = OPEN[kind](seed)
        least_pj = least_counted_pj(case)
        if least_pj is None:
            continue
        outcome = run_search(case)
        if outcome.status == "ok":
            assert outcome.value("energy") == pytest.approx(least_pj, rel=1e-9), (kind, seed)
            compared += 1
    assert compared > len(seeds) // 8
