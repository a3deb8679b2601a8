"""Sections that Timeloop's front end joins."""

import pytest

from jouleloop.documents.join import combined, joined_names
from jouleloop.errors import InputError


def test_two_values_of_one_key_are_joined_as_far_as_they_agree() -> None:
    mine = {"version": 0.4, "shape": {"name": "fc"}, "targets": [1], "empty": None}
    other = {"version": 0.4, "instance": {"M": 4}, "targets": [2], "empty": {"a": 1}}
    joined = {"version": 0.4, "shape": {"name": "fc"}, "instance": {"M": 4}, "targets": [1, 2], "empty": {"a": 1}}
    assert combined(mine, other, "problem") == joined
    assert combined({"a": 1}, [{"b": 2}], "variables") == [{"a": 1}, {"b": 2}]
    for first, second, where in (({"a": 1}, {"a": 2}, "variables.a"), ([1], [2], "p"), ({"a": {}}, {"a": 1}, "")):
        if where:
            with pytest.raises(InputError, match=f"{where}: is stated twice, with different values"):
                combined(first, second, where.partition(".")[0])
        else:
            assert combined(first, second, where) == {"a": 1}


def test_names_that_hold_a_sections_name_are_that_section() -> None:
    found = joined_names(
        {
            "constraints": {"version": 0.4, "targets": ["a"]},
            "pe_constraints": {"targets": ["b"]},
            "mapspace_constraints": ["c"],
            "my_mapping": ["d"],
            "ignored_constraints": 1,
            "problem": 2,
        },
        ("constraints", "mapspace_constraints"),
    )
    assert found == {
        "constraints": {"version": 0.4, "targets": ["a", "b"]},
        "mapspace_constraints": ["c"],
        "mapping": ["d"],
        "ignored_constraints": 1,
        "problem": 2,
    }
