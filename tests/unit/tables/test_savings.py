"""What imperfect factors save, by sweep and network."""

import pandas as pd
import pytest

from jouleloop.tables.savings import factor_pairs, savings_table

FILES = {"arch/a.yaml": "1"}


def test_pairs_differ_in_their_factors_alone() -> None:
    entries = {
        "a": {"files": FILES, "semantics": "timeloop-3.0.3", "factors": "perfect"},
        "a_free": {"files": FILES, "semantics": "timeloop-3.0.3", "factors": "imperfect"},
        "b": {"files": {"arch/b.yaml": "2"}, "semantics": "timeloop-3.0.3", "factors": "perfect"},
        "b_other": {"files": {"arch/b.yaml": "2"}, "semantics": "timeloop-2023-04", "factors": "imperfect"},
    }
    assert factor_pairs(entries) == {"a": "a_free"}
    assert factor_pairs({"a": {"files": FILES}}) == {}


def test_savings_weigh_layers_as_often_as_they_run() -> None:
    """A search that was stopped above the perfect optimum saves nothing; its bound says how much it might."""
    columns = ["sweep", "architecture", "layer", "status", "optimal", "count", "data_pj", "total_pj", "lower_bound_pj"]
    rows = [
        ("net", "a", "one", "ok", True, 3, 80.0, 100.0, 100.0),
        ("net", "a", "two", "ok", True, 1, 50.0, 60.0, 60.0),
        ("net", "a", "odd", "no_mapping", False, 1, None, None, None),
        ("net", "free", "one", "ok", True, 3, 60.0, 80.0, 80.0),
        ("net", "free", "two", "ok", False, 1, 52.0, 63.0, 54.0),
        ("net", "free", "odd", "ok", True, 1, 5.0, 6.0, 6.0),
        ("other", "a", "one", "ok", True, 1, 80.0, 100.0, 100.0),
    ]
    (row,) = savings_table(pd.DataFrame(rows, columns=columns), {"a": "free"}).to_dict("records")
    assert row == {
        "sweep": "net",
        "architecture": "a",
        "layers": 2,
        "proven": 1,
        "only": 1,
        "saved_mean": pytest.approx(0.125),
        "saved_most": pytest.approx(0.25),
        "saved_most_layer": "one",
        "saved_total": pytest.approx(60 / 360),
        "saved_bound": pytest.approx(66 / 360),
    }
