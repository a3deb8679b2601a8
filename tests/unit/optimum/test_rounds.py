"""Limits of rounds: between the bound and the incumbent, and what a search may claim in between."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jouleloop.optimum import rounds
from jouleloop.optimum.arrays import STAND, new_best
from jouleloop.optimum.parts import MOST_PARTS
from jouleloop.optimum.rounds import Rounds


def _parts(count: int) -> Any:
    """So many subproblems; rounds ask for no more of them."""
    stand = np.zeros(1, STAND)
    stand["parts"] = count
    return SimpleNamespace(stand=stand)


@pytest.fixture
def below(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """Rounds of a search that has a mapping of 100 pJ, of which groups tell no more than their limit."""
    monkeypatch.setattr(rounds, "regrouped", lambda _, limit_pj, __: iter([limit_pj]))
    best = new_best()
    best["energy_pj"] = 100.0
    lattice = SimpleNamespace(valid=np.empty(10))
    walks: Any = SimpleNamespace(groups=SimpleNamespace(lattice=lattice))
    return Rounds(walks, best)


def test_a_round_without_a_mapping_raises_the_bound_and_claims_no_more(below: Rounds) -> None:
    assert next(below.first()) == 100.0
    below.bound_pj = 64.0
    lower = below.lower()
    assert lower is not None
    assert next(lower) == pytest.approx(80.0)
    assert below.limit_pj == math.inf
    assert below.begin(_parts(7))
    assert (below.held_pj, below.best[0]["energy_pj"]) == (100.0, pytest.approx(80.0))
    assert next(below.higher()) == pytest.approx(math.sqrt(80.0 * 100.0))
    # The subproblems at hand are those of the round, until the next one begins.
    assert below.limit_pj == pytest.approx(80.0)
    assert 79.9 < below.bound_pj < 80.0
    assert (below.held_pj, below.best[0]["energy_pj"]) == (None, 100.0)


def test_a_mapping_above_the_limit_of_a_round_is_the_incumbent_after_it(below: Rounds) -> None:
    next(below.first())
    below.bound_pj = 64.0
    assert below.lower() is not None
    assert below.begin(_parts(7))
    below.best["aside_pj"] = 90.0
    assert (below.held_pj, below.best[0]["energy_pj"]) == (90.0, pytest.approx(80.0))
    assert next(below.higher()) == pytest.approx(math.sqrt(80.0 * 90.0))
    assert (below.held_pj, below.best[0]["energy_pj"], below.best[0]["aside_pj"]) == (None, 90.0, -math.inf)


def test_the_last_round_is_up_to_the_incumbent(below: Rounds) -> None:
    below.bound_pj = 97.0
    next(below.first())
    lower = below.lower()
    assert lower is not None
    limits = [next(lower)]
    while limits[-1] < 100.0 and below.begin(_parts(7)):
        limits.append(next(below.higher()))
    assert limits == [pytest.approx(limit, abs=1e-3) for limit in (98.489, 99.241, 99.620, 100.0)]
    assert not below.begin(_parts(7))
    assert below.held_pj is None


def test_limits_close_to_the_bound_are_hopeless(below: Rounds) -> None:
    next(below.first())
    assert below.lower() is None
    below.bound_pj = 99.6
    assert below.lower() is None


def test_a_round_may_leave_twice_as_many_subproblems_as_one_before(below: Rounds) -> None:
    most = rounds._MOST_AT_FIRST
    next(below.first())
    below.bound_pj = 64.0
    assert below.most().parts == most
    below.begin(_parts(3))
    assert below.most().parts == most
    below.begin(_parts(most))
    assert below.most().parts == 2 * most
    # Where no lower limit helps, all are searched.
    below.bound_pj = 99.6
    assert below.most().parts == MOST_PARTS


def test_a_limit_that_left_too_much_is_not_asked_for_again_before_the_bound_is_near(below: Rounds) -> None:
    below.bound_pj = 81.0
    next(below.first())
    lower = below.lower()
    assert lower is not None
    assert next(lower) == pytest.approx(90.0)
    lower = below.lower()
    assert lower is not None
    below.begin(_parts(7))
    # The bound is 85.4, the root of 81 times 90, and 90 was too much.
    assert next(below.higher()) == pytest.approx(math.sqrt(below.bound_pj * 90.0))
    below.bound_pj = 89.9
    assert next(below.higher()) == pytest.approx(math.sqrt(below.bound_pj * 100.0))
