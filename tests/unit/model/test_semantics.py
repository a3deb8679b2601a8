"""Versions of Timeloop's rules: a row of flags each, of which some are additions that no older input asks for."""

from dataclasses import fields, replace

import pytest

from jouleloop.model.semantics import RULES, Rules, versions_with


def test_a_program_counts_as_older_ones_that_ask_for_less() -> None:
    assert RULES["timeloop-4"].contain(RULES["timeloop-3.0.3"])
    assert RULES["timeloop-2024"].contain(RULES["timeloop-4"])
    assert not RULES["timeloop-3.0.3"].contain(RULES["timeloop-2024"])
    assert not RULES["timeloop-4"].contain(RULES["timeloop-2023-04"])


@pytest.mark.parametrize("rule", [rule.name for rule in fields(Rules)])
def test_every_rule_tells_two_versions_apart(rule: str) -> None:
    with_it, without = versions_with(rule).split(", "), versions_with(rule, absent=True).split(", ")
    assert set(with_it) | set(without) == set(RULES)
    assert with_it != [""] != without


def test_a_program_that_lacks_one_addition_is_no_later_one() -> None:
    later = RULES["timeloop-2024"]
    assert later.contain(later)
    assert not replace(later, counts_leakage=False).contain(later)
