"""Eq. (28) is optimal for (β − 1) | m: the induction, the counting game, its traces and their checker."""

import lzma
import tracemalloc

import pytest
from typer.testing import CliRunner

from jouleloop.cli.app import app
from jouleloop.errors import InputError
from jouleloop.theory.fully_connected.check_traces import TraceError, cases_left, check_file
from jouleloop.theory.fully_connected.counting_game import Budget, refute
from jouleloop.theory.fully_connected.dataflows import fixed_inputs
from jouleloop.theory.fully_connected.divisible import (
    budget_of,
    is_proven,
    least_accesses,
    prove,
    remaining_cases,
    write_traces,
)
from jouleloop.theory.fully_connected.exact import exact_minimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.optima import grid
from jouleloop.theory.fully_connected.schedule import run
from paths import ROOT

STORED = ROOT / "docs" / "data" / "fc_divisible_traces.xz"


def test_the_game_is_won_within_the_reads_of_every_optimal_schedule():
    for layer in grid(5):
        exact = exact_minimum(FcLayer(*layer))
        replay = run(exact.schedule())
        assert refute(Budget(*layer, exact.upper, replay.input_reads)) is None, layer


def test_the_game_refutes_one_access_less_in_small_layers():
    won = []
    for layer in (layer for layer in grid(5) if layer[2] <= min(layer[:2])):
        upper = exact_minimum(FcLayer(*layer)).upper
        if refute(Budget(*layer, upper - 1, upper - 1 - 2 * layer[1])) is None:
            won.append(layer)
    # Inputs without names are a relaxation: where it is not tight the game says nothing.
    assert won == []


@pytest.mark.parametrize("outputs", range(4, 25))
def test_counting_pairs_excludes_every_larger_n(outputs):
    m = outputs
    for beta in range(3, m // 2 + 2):
        if m % (beta - 1):
            continue
        last = max(case[0] for case in remaining_cases(m) if case[2] == beta)
        for n in range(last + 1, last + 60):
            first_pairs = beta * beta // 4
            reads = beta + -((first_pairs - n * m) // (beta - 1))  # ⌈(mn − ⌊β²/4⌋)/(β − 1)⌉ after the first β
            input_reads = n * (m // (beta - 1) - 1)
            assert 2 * reads - input_reads > least_accesses(n, m, beta) - 1


def test_solver_and_checker_agree_on_the_cases_that_are_left():
    for m in range(1, 31):
        assert list(remaining_cases(m)) == cases_left(m)
    assert sum(len(cases_left(m)) for m in range(1, 17)) == 161


def test_algorithm_1_as_the_checker_runs_it_costs_eq_28():
    for n, m, beta in cases_left(8) + cases_left(12):
        assert run(fixed_inputs(n, m, beta, 1)).accesses == least_accesses(n, m, beta)


def test_fresh_traces_are_checked_and_damaged_ones_refused(tmp_path):
    path = tmp_path / "traces.xz"
    found = list(write_traces(path, (case for m in (6, 8) for case in prove(m))))
    checked = list(check_file(path, range(6, 9)))
    assert checked == [case.states for case in found]
    text = lzma.decompress(path.read_bytes())
    with pytest.raises(TraceError, match="no trace for"):
        list(check_file(path, range(6, 11)))
    # One state less somewhere in the middle: what led to it leads out of the trace.
    biggest = max(found, key=lambda case: case.states)
    level = max(range(len(biggest.levels)), key=lambda index: len(biggest.levels[index]))
    levels = [*biggest.levels]
    levels[level] = levels[level][1:]
    list(write_traces(path, iter([type(biggest)(biggest.budget, tuple(levels))])))
    with pytest.raises(TraceError, match="leads out of the trace"):
        list(check_file(path, range(biggest.budget.outputs, biggest.budget.outputs + 1)))
    # A smaller budget is easier to refute and proves nothing.
    easier = text.replace(b" 36 ", b" 35 ", 1)
    assert easier != text
    path.write_bytes(lzma.compress(easier))
    with pytest.raises(TraceError):
        list(check_file(path, range(6, 9)))
    path.write_bytes(path.read_bytes()[:200])
    result = CliRunner().invoke(app, ["bounds", "fc-divisible", str(path), "--check"])
    assert isinstance(result.exception, InputError)


@pytest.mark.parametrize("text", [b"1" * 2**26, b"6 6 3 17 0 999999999\n", b"6 6 3 17 0 -5\n"])
def test_a_small_file_that_grows_is_refused(tmp_path, text):
    """A file of 156 kB that expands to one line of 1 GiB took 2.3 GB."""
    path = tmp_path / "traces.xz"
    path.write_bytes(lzma.compress(text))
    tracemalloc.start()
    with pytest.raises(TraceError, match="bytes"):
        list(check_file(path, range(6, 9)))
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_stored_traces_hold_where_they_are_short():
    assert len(list(check_file(STORED, range(1, 13)))) == 69
    assert len(list(check_file(STORED, range(0), range(17, 21)))) == 38


def test_few_groups_are_all_that_larger_layers_are_asked_for():
    assert all(is_proven(n, 22, 12) and is_proven(n, 21, 8) and is_proven(n, 18, 7) for n in range(1, 60))
    assert not is_proven(30, 18, 4)
    assert not is_proven(30, 24, 9)
    assert [case.budget.buffer_words for case in prove(20, 2)] == [11] * 12


@pytest.mark.slow
def test_all_stored_traces_hold():
    assert len(list(check_file(STORED, range(1, 17), range(17, 23)))) == 161 + 71


def test_a_budget_that_suffices_is_not_refuted():
    budget = budget_of(6, 8, 5)
    assert refute(budget) is not None
    assert refute(Budget(6, 8, 5, budget.accesses + 1, budget.accesses + 1 - 16)) is None


def test_the_claim_is_for_divisible_layers_only():
    with pytest.raises(InputError, match="divide"):
        least_accesses(6, 7, 3)
    assert not is_proven(6, 7, 3)
    assert not is_proven(40, 34, 3)
    assert is_proven(10**6, 16, 9)
