"""One output read twice: the dataflow runs, costs its closed form, and is optimal where the counting game says so."""

import pytest

from jouleloop.errors import AssumptionError
from jouleloop.theory.fully_connected.best_schedule import schedule_of
from jouleloop.theory.fully_connected.counting_game import Budget, refute
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.returned import returned_output, returned_reads
from jouleloop.theory.fully_connected.schedule import run
from jouleloop.theory.fully_connected.upper import balanced_dataflow, best_upper


@pytest.mark.parametrize("pairs", range(4, 12))
def test_executed_it_costs_its_closed_form_and_less_than_nearly_equal_groups(pairs):
    m = 2 * pairs - 1
    for n in range(6, 30):
        done = run(returned_output(n, m, 3))
        saving = pairs - 3 if n >= m - 1 else n // 2 - 2
        assert (done.output_reads, done.input_reads) == (m + 1, returned_reads(n, m))
        assert done.accesses == balanced_dataflow(FcLayer(n, m, 3)).accesses - saving
        assert done.accesses == (pairs * (n + 2) + 2 if n >= m - 1 else pairs * n + 3 * pairs + 1 - n // 2)


@pytest.mark.parametrize(("layer", "least"), [((8, 9, 3), 52), ((10, 11, 3), 74), ((11, 11, 3), 80), ((6, 11, 3), 52)])
def test_it_is_optimal_where_the_counting_game_refutes_one_access_less(layer, least):
    found = exact_minimum(FcLayer(*layer))
    assert (found.lower, found.upper) == (least, least)
    assert found.dataflow.kind == "returned"
    assert run(schedule_of(found)).accesses == least


def test_beyond_that_the_game_is_won_and_says_nothing():
    assert refute(Budget(9, 7, 3, 45, 45 - 14)) is None


def test_with_roles_reversed_it_runs_as_well():
    layer = FcLayer(7, 40, 3)
    flow = best_upper(layer)
    plan = run(schedule_of(exact_minimum(layer)))
    assert plan.accesses <= flow.accesses


@pytest.mark.parametrize("layer", [(5, 7, 3), (8, 5, 3), (8, 8, 3), (8, 9, 4)])
def test_elsewhere_it_is_refused(layer):
    with pytest.raises(AssumptionError, match="odd"):
        returned_output(*layer)
