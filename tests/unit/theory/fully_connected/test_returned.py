"""Outputs read twice: the dataflow runs, costs its closed form, and is optimal where the counting game says so."""

import pytest

from jouleloop.errors import AssumptionError
from jouleloop.theory.fully_connected.counting_game import Budget, refute
from jouleloop.theory.fully_connected.dataflows import balanced_dataflow, best_upper
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.returned import applies, returned_output, returned_reads
from jouleloop.theory.fully_connected.schedule import run
from shares import slow_after


@pytest.mark.parametrize("pairs", range(4, 12))
def test_executed_it_costs_its_closed_form_and_less_than_nearly_equal_groups(pairs):
    m = 2 * pairs - 1
    for n in range(6, 30):
        done = run(returned_output(n, m, 3))
        saving = pairs - 3 if n >= m - 1 else n // 2 - 2
        assert (done.output_reads, done.input_reads) == (m + 1, returned_reads(n, m, 3))
        assert done.accesses == balanced_dataflow(FcLayer(n, m, 3)).accesses - saving
        assert done.accesses == (pairs * (n + 2) + 2 if n >= m - 1 else pairs * n + 3 * pairs + 1 - n // 2)


@pytest.mark.parametrize("beta", [4, 5, 6, 7])
def test_larger_buffers_save_the_more_the_more_groups_there_are(beta):
    group = beta - 1
    for groups in range(4, 10):
        m = group * (groups - 1) + 1
        for n in (beta + 2, m - 2, m - 1, m + 5):
            done = run(returned_output(n, m, beta))
            assert (done.output_reads, done.input_reads) == (m + group - 1, returned_reads(n, m, beta))
            assert done.input_reads == groups * n - min(n, m - 1)
            if n >= m - 1 and group <= groups + 1:
                saving = balanced_dataflow(FcLayer(n, m, beta)).accesses - done.accesses
                assert saving == (group - 1) * groups - 4 * group + 5 >= 1


@pytest.mark.parametrize("beta", [4, 5, 6, 7])
def test_with_larger_rests_it_runs_as_counted(beta):
    group = beta - 1
    for m in (m for m in range(3 * group + 1, 45) if m % group > 1 and applies(beta + 2, m, beta)):
        for n in (beta + 2, max(beta + 2, m // 2), m + 3):
            done = run(returned_output(n, m, beta))
            assert (done.output_reads, done.input_reads) == (m + group - 1, returned_reads(n, m, beta))


def test_a_rest_of_two_pays_from_eleven_groups_on():
    for m, pays in ((26, False), (29, False), (32, True), (35, True)):
        assert [best_upper(FcLayer(n, m, 4)).kind == "returned" for n in (20, 40)] == [pays] * 2


@pytest.mark.parametrize(
    ("layer", "least"),
    slow_after(3, [((8, 9, 3), 52), ((11, 11, 3), 80), ((6, 11, 3), 52), ((10, 11, 3), 74), ((9, 10, 4), 51)]),
)
def test_it_is_optimal_where_the_counting_game_refutes_one_access_less(layer, least):
    found = exact_minimum(FcLayer(*layer))
    assert (found.lower, found.upper) == (least, least)
    assert found.dataflow.kind == "returned"
    assert run(found.schedule()).accesses == least


@pytest.mark.parametrize(
    "layer", [(7, 10, 4), (7, 13, 4), (10, 11, 4), (9, 9, 5), (11, 10, 5), (8, 13, 5), (12, 11, 5)]
)
def test_elsewhere_the_game_proves_the_older_dataflows(layer):
    n, m, beta = layer
    best = best_upper(FcLayer(*layer))
    assert best.kind in ("fixed", "balanced")
    assert refute(Budget(n, m, beta, best.accesses - 1, best.accesses - 1 - 2 * m)) is not None


def test_beyond_that_the_game_is_won_and_says_nothing():
    assert refute(Budget(9, 7, 3, 45, 45 - 14)) is None


def test_with_roles_reversed_it_runs_as_well():
    layer = FcLayer(7, 40, 3)
    flow = best_upper(layer)
    plan = run(exact_minimum(layer).schedule())
    assert plan.accesses <= flow.accesses


@pytest.mark.parametrize("layer", [(5, 7, 3), (8, 5, 3), (8, 8, 3), (8, 9, 4), (8, 8, 4), (3, 10, 4), (9, 9, 2)])
def test_elsewhere_it_is_refused(layer):
    with pytest.raises(AssumptionError, match="assumptions"):
        returned_output(*layer)
