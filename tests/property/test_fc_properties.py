from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from jouleloop.theory.fully_connected.bounds import general_assumptions
from jouleloop.theory.fully_connected.dataflows import best_upper, known_dataflows, schedule_of_dataflow
from jouleloop.theory.fully_connected.exact import count_bound
from jouleloop.theory.fully_connected.formulas import FcLayer, lower_bound_accesses, lower_bound_accesses_weak
from jouleloop.theory.fully_connected.schedule import reverse_roles, run

sizes = st.integers(1, 12)


@settings(deadline=None, max_examples=60)
@given(sizes, sizes, st.integers(2, 14))
def test_every_known_dataflow_is_legal_and_reversing_twice_changes_nothing(n, m, beta):
    for flow in known_dataflows(FcLayer(n, m, beta)):
        plan = schedule_of_dataflow(flow, n, m, beta)
        result = run(plan)
        assert result.accesses == flow.accesses >= count_bound(n, m, beta)
        mirrored = run(reverse_roles(plan))
        assert (mirrored.output_reads, mirrored.input_reads) == (result.input_reads, result.output_reads)
        assert reverse_roles(reverse_roles(plan)).reads == plan.reads


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 10**5))
def test_lower_bounds_never_exceed_the_best_upper_bound_under_their_assumptions(n, m, beta):
    layer = FcLayer(n, m - m % (beta - 1) or beta - 1, beta)
    upper = Fraction(best_upper(layer).accesses)
    if all(assumption.holds for assumption in general_assumptions(layer)):
        assert lower_bound_accesses_weak(layer) <= lower_bound_accesses(layer) <= upper
