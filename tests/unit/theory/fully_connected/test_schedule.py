import itertools

import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.drawing import write_figure
from jouleloop.theory.fully_connected import formulas as fc
from jouleloop.theory.fully_connected.dataflows import (
    balanced_groups,
    best_fixed,
    bounded_dataflow,
    bounded_inputs,
    fixed_dataflow,
    fixed_inputs,
    known_dataflows,
    schedule_of_dataflow,
)
from jouleloop.theory.fully_connected.figures import draw_run
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.fully_connected.schedule import Read, Schedule, Vertex, draw_text, reverse_roles, run

SIZES = [(n, m, beta) for n in range(1, 8) for m in range(1, 8) for beta in range(2, 7)]


def test_algorithm_1_meets_eq_23_where_its_assumptions_hold():
    checked = 0
    for n, m, beta in SIZES:
        for d in range(1, beta):
            if m % (beta - d) or d > n:
                continue
            result = run(fixed_inputs(n, m, beta, d))
            assert result.output_reads == m
            assert result.reads * (beta - d) == m * (n - d) + (m + d) * (beta - d)
            assert result.accesses == fc.fixed_accesses_formula(FcLayer(n, m, beta), d)
            assert result.largest_inputs <= d
            assert result.largest_outputs <= beta - d
            mirrored = run(reverse_roles(fixed_inputs(n, m, beta, d)))
            assert mirrored.accesses == fc.fixed_accesses_formula(FcLayer(m, n, beta), d, reversed_roles=True)
            checked += 1
    assert checked > 200


def test_algorithm_2_meets_eq_29_where_its_assumptions_hold():
    checked = 0
    for n, m, beta in SIZES:
        for c in range(1, beta):
            if m % (beta - 1) or c > n:
                continue
            result = run(bounded_inputs(n, m, beta, c))
            assert result.output_reads == m
            assert result.reads * (beta - 1) == m * (n - 1) + (m + c) * (beta - 1)
            assert result.largest_inputs <= c
            mirrored = run(reverse_roles(bounded_inputs(n, m, beta, c)))
            assert mirrored.accesses == fc.bounded_accesses_formula(FcLayer(m, n, beta), c, reversed_roles=True)
            checked += 1
    assert checked > 150


def test_one_kept_input_is_the_same_in_both_algorithms():
    one = run(fixed_inputs(6, 6, 4, 1))
    two = run(bounded_inputs(6, 6, 4, 1))
    assert (one.output_reads, one.input_reads) == (two.output_reads, two.input_reads)


@pytest.mark.parametrize("reversed_roles", [False, True])
def test_ceiling_forms_equal_the_executed_schedules_for_any_sizes(reversed_roles):
    for n, m, beta in SIZES:
        layer = FcLayer(n, m, beta)
        for parameter in range(1, beta):
            for make in (fixed_dataflow, bounded_dataflow):
                flow = make(layer, parameter, reversed_roles=reversed_roles)
                result = run(schedule_of_dataflow(flow, n, m, beta))
                assert (result.output_reads, result.input_reads) == (flow.output_reads, flow.input_reads), (flow, layer)


def test_best_partition_is_the_best_of_all():
    for n, m, beta in itertools.product(range(1, 10), range(1, 14), range(2, 12)):
        layer = FcLayer(n, m, beta)
        for roles in (False, True):
            every = min((fixed_dataflow(layer, d, reversed_roles=roles).accesses, d) for d in range(1, beta))
            best = best_fixed(layer, reversed_roles=roles)
            assert (best.accesses, best.parameter) == every


def test_known_dataflows_run_and_cost_what_they_claim():
    for n, m, beta in SIZES:
        for flow in known_dataflows(FcLayer(n, m, beta)):
            result = run(schedule_of_dataflow(flow, n, m, beta))
            assert (result.output_reads, result.input_reads) == (flow.output_reads, flow.input_reads)


def test_nearly_equal_groups_beat_the_paper_where_beta_minus_1_does_not_divide_m():
    # 7 outputs in groups of 3, 2, 2 past 4 inputs, β = 4: 2·7 + 4 + 3 + 2 = 23; the paper's dataflows need 24.
    assert run(balanced_groups(4, 7, 4, 3)).accesses == 23
    assert min(run(fixed_inputs(4, 7, 4, d)).accesses for d in (1, 2, 3)) == 24


def _schedule(*reads, beta=2):
    return Schedule("test", 1, 1, beta, tuple(reads))


X, Y = Vertex("x", 1), Vertex("y", 1)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (_schedule(Read(X)), "condition 4"),
        (_schedule(Read(X), Read(Y, X)), "condition 4"),
        (_schedule(Read(X), Read(X)), "condition 3"),
        (_schedule(Read(X), Read(Y), beta=1), "condition 2"),
        (_schedule(Read(X, Y)), "not in Buffer"),
        (_schedule(Read(Vertex("x", 2))), "no vertex"),
    ],
)
def test_each_broken_condition_is_found(schedule, said):
    with pytest.raises(InputError, match=said):
        run(schedule)


def test_parameters_outside_their_range_name_the_assumption():
    with pytest.raises(AssumptionError, match="1 <= d <= β − 1"):
        fixed_inputs(3, 3, 3, 3)
    with pytest.raises(AssumptionError, match="1 <= c <= β − 1"):
        bounded_inputs(3, 3, 3, 0)
    with pytest.raises(AssumptionError, match="β > 1"):
        fixed_inputs(3, 3, 1, 1)


def test_drawing_shows_when_each_pair_meets(tmp_path):
    result = run(fixed_inputs(3, 2, 3, 1))
    text = draw_text(result)
    # x1; y1 y2 (by outputs), then x2, x3 (by inputs): 5 reads.
    assert "y1 2| 4- 5-" in text
    assert "y2 3| 4- 5-" in text
    for name in ("flow.svg", "flow.png"):
        write_figure(draw_run(result), tmp_path / name)
        again = tmp_path / f"again-{name}"
        write_figure(draw_run(result), again)
        assert (tmp_path / name).read_bytes() == again.read_bytes()
    with pytest.raises(InputError, match="format"):
        write_figure(draw_run(result), tmp_path / "flow.txt")
