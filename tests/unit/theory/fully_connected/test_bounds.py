from fractions import Fraction

import pytest

from jouleloop.errors import AssumptionError, InputError
from jouleloop.theory.fully_connected import formulas as fc
from jouleloop.theory.fully_connected.bounds import all_bounds, buffer_words, word_bounds
from jouleloop.theory.fully_connected.dataflows import best_upper
from jouleloop.theory.fully_connected.formulas import FcLayer, best_partitioned, partitioned_accesses, solve_partitioned
from jouleloop.theory.layers import MAC_ENERGY_PJ, DramWords
from witnesses.fc_dijkstra import least_accesses


def test_formulas_by_hand():
    layer = FcLayer(20, 16, 5, 16)  # mn = 320, β − 1 = 4
    assert fc.lower_bound_reads(layer) == 80 + 8 + 1
    assert fc.lower_bound_accesses(layer) == 80 + 8 + 1 + 16
    assert fc.lower_bound_accesses_weak(layer) == 16 * 19 // 4 + 24 + 1
    assert fc.data_energy_bits(layer, fc.lower_bound_accesses_weak(layer)) == 16 * (320 + 76 + 24 + 1)
    assert fc.fixed_accesses_formula(layer, 1) == 76 + 32 + 1
    assert fc.fixed_accesses_formula(layer, 3) == Fraction(16 * 17, 2) + 32 + 3
    assert (
        fc.fixed_accesses_formula(layer, layer.buffer_words - 4, reversed_roles=True)
        == Fraction(2 * 20 * 15, 4) + 20 + 2
    )
    assert fc.bounded_accesses_formula(layer, 3) == 76 + 32 + 3
    assert fc.computation_energy_pj(layer, MAC_ENERGY_PJ[16]) == Fraction(704)
    assert fc.computation_energy_pj(layer, MAC_ENERGY_PJ[8]) == Fraction(320 * 56, 100)


@pytest.mark.parametrize(("beta", "m"), [(3, 4), (4, 9), (5, 8), (9, 16)])
def test_eq_19_is_stronger_than_eq_20_by_the_term_it_drops(beta, m):
    layer = FcLayer(40, m, beta)
    gap = fc.lower_bound_accesses(layer) - fc.lower_bound_accesses_weak(layer)
    assert gap == Fraction(m, beta - 1)
    # eq. (19) as printed: m(n−1)/(β−1) + (3β−1)/(2(β−1))·m + 1
    printed = Fraction(m * 39, beta - 1) + Fraction((3 * beta - 1) * m, 2 * (beta - 1)) + 1
    assert fc.lower_bound_accesses(layer) == printed


def test_pair_count_needs_no_assumption():
    # β = 47 asks for n > 1035 in eq. (20); 1024 inputs do not do.
    rows = {row.name: row for row in all_bounds(FcLayer(1024, 1024, 47))}
    assert not rows["general_lower_bound"].assumptions_hold
    assert rows["pair_count_lower_bound"].assumptions_hold
    assert rows["pair_count_lower_bound_accesses"].value == -(-(1024**2) // 46) + 1 + 1024
    for n, m, beta in [(2, 3, 2), (3, 2, 3), (3, 3, 3), (2, 4, 3), (4, 2, 4)]:
        assert fc.pair_count_accesses(FcLayer(n, m, beta)) <= least_accesses(FcLayer(n, m, beta))


def test_eq_27_has_the_sign_of_eq_26():
    for n in range(1, 25):
        for m in range(1, 12):
            for beta in range(2, 12):
                layer = FcLayer(n, m, beta)
                d_one = fc.fixed_accesses_formula(layer, 1)
                reversed_last = fc.fixed_accesses_formula(layer, 1, reversed_roles=True)
                printed = m * (n - 2 * beta + 3) + n * (beta - 3) + beta - 1
                assert printed == (reversed_last - d_one) * (beta - 1)
                if n > 2 * beta - 3 and m >= beta:
                    assert printed >= 0


@pytest.mark.parametrize("d", range(1, 9))
def test_linear_program_has_no_gap_and_the_paper_s_dual_is_optimal(d):
    layer = FcLayer(30, 24, 9)
    primal, dual = solve_partitioned(layer, d)
    assert abs(primal - dual) < 1e-6
    assert primal == pytest.approx(float(partitioned_accesses(layer, d)))
    assert (primal, dual) == solve_partitioned(layer, d, "outputs" if d <= 6 else "inputs")
    assert solve_partitioned(layer, d, "both")[0] >= primal - 1e-6


def test_least_partitioned_bound_is_found_among_the_ends():
    for n in range(1, 14):
        for m in range(1, 14):
            for beta in range(2, 14):
                layer = FcLayer(n, m, beta)
                every = min(partitioned_accesses(layer, d) for d in range(1, beta))
                d, value = best_partitioned(layer)
                assert value == every == partitioned_accesses(layer, d)


@pytest.mark.parametrize(("n", "m", "beta"), [(3, 3, 3), (3, 3, 4), (4, 2, 3), (2, 4, 4), (3, 2, 4)])
def test_partitioned_bound_and_dataflow_enclose_the_partitioned_optimum(n, m, beta):
    layer = FcLayer(n, m, beta)
    for d in range(1, beta):
        exact = least_accesses(layer, d)
        assert partitioned_accesses(layer, d) <= exact
        assert solve_partitioned(layer, d, "both")[0] <= exact + 1e-9
        assert least_accesses(layer) <= exact


def test_report_gives_each_value_in_bits_and_accesses_with_assumptions():
    rows = {row.name: row for row in all_bounds(FcLayer(20, 16, 5, 16), partition=2)}
    lower = rows["general_lower_bound"].as_json()
    assert (lower["value"], lower["unit"], lower["source"]) == (16 * 421, "bits", "002 eq. (20)")
    assert lower["assumptions_hold"]
    assert rows["general_lower_bound_accesses"].value == 101
    assert rows["upper_bound_fixed_inputs"].assumptions_hold is False  # 3 does not divide 16
    assert rows["upper_bound_fixed_inputs_ceiling_accesses"].value == 2 + 6 * 18 + 32
    assert rows["computation_energy"].value == 704
    assert rows["upper_bound_one_input_accesses"].value == 109
    outside = {row.name: row for row in all_bounds(FcLayer(3, 4, 2))}
    assert not outside["general_lower_bound"].assumptions_hold
    failed = [a.text for a in outside["general_lower_bound"].assumptions if not a.holds]
    assert failed == ["β > 2", "m <= n"]
    assert outside["computation_energy"].value is not None
    assert {r.name: r for r in all_bounds(FcLayer(3, 4, 3, 7))}["computation_energy"].value is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((0, 1, 3), "n >= 1"), ((1, 0, 3), "m >= 1"), ((1, 1, 3, 0), "b >= 1"), ((1.5, 1, 3), "n >= 1")],
)
def test_sizes_must_be_positive(arguments, said):
    with pytest.raises(InputError, match=said):
        FcLayer(*arguments)


def test_all_faults_are_told_and_assumptions_named():
    with pytest.raises(AssumptionError) as error:
        FcLayer(0, 0, 1, -3)
    assert len(error.value.faults) == 4
    for d in (0, 5, -1):
        with pytest.raises(AssumptionError, match="1 <= d <= β − 1"):
            fc.fixed_accesses_formula(FcLayer(3, 3, 5), d)
    with pytest.raises(AssumptionError, match="1 <= c <= β − 1"):
        fc.bounded_accesses_formula(FcLayer(3, 3, 5), 5)


def test_beta_counts_all_words_on_the_chip():
    assert buffer_words([100, 28], weight_words=8) == 120
    with pytest.raises(InputError, match="β > 1"):
        buffer_words([2])
    with pytest.raises(InputError, match="capacity"):
        buffer_words([4, -1])


def test_a_measured_dataflow_lies_on_its_bound():
    layer = FcLayer(64, 32, 9)
    flow = best_upper(layer)
    words = DramWords(64 * 32, flow.input_reads, flow.output_reads, flow.output_reads)
    found = word_bounds(layer)
    assert found.upper_words == words.total == words.total_with_biases
    assert found.general_lower_assumptions_hold
    assert found.lower_words == 64 * 32 + 32 * 63 // 8 + 48 + 1
    without = DramWords(64 * 32, flow.input_reads, 0, 32)
    assert without.total == words.total - 32
    assert without.total_with_biases == words.total
    with pytest.raises(InputError):
        DramWords(1, -1, 0, 0)
