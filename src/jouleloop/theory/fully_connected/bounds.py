"""Every bound of paper 002 for one layer, as records with their assumptions: what ``jouleloop bounds fc`` prints."""

from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, raise_all
from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.fully_connected.exact import ExactMinimum
from jouleloop.theory.fully_connected.formulas import (
    MAC_ENERGY_PJ,
    FcLayer,
    bounded_inputs_accesses_formula,
    bounded_outputs_accesses_formula,
    computation_energy_pj,
    data_energy_bits,
    fixed_inputs_accesses_formula,
    fixed_outputs_accesses_formula,
    lower_bound_accesses,
    lower_bound_accesses_weak,
    lower_bound_reads,
    pair_count_accesses,
)
from jouleloop.theory.fully_connected.partitioned import best_partitioned, partitioned_accesses, solve_partitioned
from jouleloop.theory.fully_connected.upper import (
    Dataflow,
    best_fixed,
    best_upper,
    bounded_dataflow,
    compare_roles,
    fixed_dataflow,
)

_PAPER = "002"


def all_bounds(
    layer: FcLayer,
    *,
    partition: int = 1,
    inputs_bound: int = 1,
    reads: tuple[int, int] | None = None,
    mac_energy_pj: float | None = None,
) -> list[Bound]:
    """Return every bound of paper 002 sections 2–5 for ``layer``.

    Parameters
    ----------
    layer
        n, m, β and b.
    partition
        d of eqs. (24), (25), (41), (44).
    inputs_bound
        c of eq. (30).
    reads
        μ and ν for eq. (5); by default those of the cheapest dataflow known.
    mac_energy_pj
        C_b of eq. (3); by default the paper's for 8 and 16 bits.
    """
    layer.check_partition(partition)
    layer.check_partition(inputs_bound, "c")
    if reads is not None:
        faults = [
            Fault("assumption of 002 section 2 fails: a number of reads is not negative", field=name, value=value)
            for name, value in zip(("output_reads", "input_reads"), reads, strict=True)
            if value < 0
        ]
        raise_all(faults, AssumptionError)
    return [
        *_energies(layer, reads, mac_energy_pj),
        *_general_lower(layer),
        *_upper(layer, partition, inputs_bound),
        *_comparison(layer),
        *_partitioned(layer, partition),
    ]


def exact_bounds(exact: ExactMinimum) -> list[Bound]:
    """Return the least cost as records: one where it is decided, else a lower and an upper bound."""
    source = f"{_PAPER} section 4, conditions 1–4, solved exactly"
    if exact.decided:
        note = f"proven by {exact.method}"
        return _both(exact.layer, "exact_minimum", source, exact.upper, (), note)
    note = "undecided: the least cost lies between exact_lower_bound and exact_upper_bound"
    return [
        *_both(exact.layer, "exact_lower_bound", source, exact.lower, (), note),
        *_both(exact.layer, "exact_upper_bound", source, exact.upper, (), note),
    ]


def _both(
    layer: FcLayer,
    name: str,
    source: str,
    accesses: Fraction | int,
    assumptions: tuple[Assumption, ...] = (),
    note: str = "",
) -> list[Bound]:
    """Return E_data in bits by eq. (5) under ``name``, and 2μ + ν beside it under ``name``_accesses."""
    energy = data_energy_bits(layer, accesses)
    return [
        Bound(name, source, energy, "bits", assumptions, note),
        Bound(f"{name}_accesses", source, Fraction(accesses), "accesses", assumptions, note or "2μ + ν"),
    ]


def _energies(layer: FcLayer, reads: tuple[int, int] | None, mac_energy_pj: float | None) -> list[Bound]:
    constant = MAC_ENERGY_PJ.get(layer.word_bits) if mac_energy_pj is None else mac_energy_pj
    known = Assumption(f"C_b is known for b = {layer.word_bits} (the paper gives 8 and 16 bits)", constant is not None)
    energy = None if constant is None else computation_energy_pj(layer, constant)
    note = "" if constant is None else f"C_{layer.word_bits} = {float(constant):g} pJ"
    flow = best_upper(layer)
    mu, nu = reads or (flow.output_reads, flow.input_reads)
    origin = "given" if reads else flow.title
    possible = (Assumption("μ >= m", mu >= layer.outputs), Assumption("ν >= n", nu >= layer.inputs))
    return [
        Bound("computation_energy", f"{_PAPER} eq. (3)", energy, "pJ", (known,), note),
        *_both(layer, "data_energy", f"{_PAPER} eq. (5)", 2 * mu + nu, possible, f"μ = {mu}, ν = {nu}: {origin}"),
    ]


def general_assumptions(layer: FcLayer) -> tuple[Assumption, ...]:
    """Return the assumptions of the general lower bound, 002 section 3 before and after eq. (17)."""
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    return (
        Assumption("β > 2", beta > 2),
        Assumption("(β − 1) divides m", m % (beta - 1) == 0),
        Assumption("m <= n", m <= n),
        Assumption("n > (β − 1)(β − 2)/2", 2 * n > (beta - 1) * (beta - 2)),
    )


def _general_lower(layer: FcLayer) -> list[Bound]:
    n, m = layer.inputs, layer.outputs
    assumptions = general_assumptions(layer)
    weak = "drops m/(β − 1) of eq. (19)"
    return [
        Bound(
            "general_lower_bound_reads", f"{_PAPER} eq. (18)", lower_bound_reads(layer), "reads", assumptions, "μ + ν"
        ),
        *_both(layer, "general_lower_bound", f"{_PAPER} eq. (20)", lower_bound_accesses_weak(layer), assumptions, weak),
        *_both(layer, "general_lower_bound_stronger", f"{_PAPER} eq. (19)", lower_bound_accesses(layer), assumptions),
        *_both(
            layer,
            "pair_count_lower_bound",
            f"{_PAPER} section 3, at most β − 1 new pairs a read",
            pair_count_accesses(layer),
            (),
            "needs no assumption",
        ),
        *_both(
            layer,
            "trivial_lower_bound",
            f"{_PAPER} section 2",
            2 * m + n,
            (),
            "each input and output read at least once",
        ),
    ]


def _upper(layer: FcLayer, d: int, c: int) -> list[Bound]:
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    divides = (Assumption("(β − d) divides m", m % (beta - d) == 0), Assumption("d <= n (tacit)", d <= n))
    divides_reversed = (Assumption("d divides n", n % d == 0), Assumption("β − d <= m (tacit)", beta - d <= m))
    whole = Assumption("(β − 1) divides m", m % (beta - 1) == 0)
    best_one = (whole, Assumption("n > 2β − 3", n > 2 * beta - 3), Assumption("m >= β", m >= beta))
    bounded = (whole, Assumption("c <= n (tacit)", c <= n))
    bounded_reversed = (
        Assumption("(β − 1) divides n", n % (beta - 1) == 0),
        Assumption("c <= m (tacit)", c <= m),
    )
    exact = "counts of the executed dataflow, with ceilings"

    def flow(name: str, source: str, found: Dataflow) -> list[Bound]:
        note = f"{found.title}: μ = {found.output_reads}, ν = {found.input_reads}"
        return _both(layer, name, f"{_PAPER} {source}, {exact}", found.accesses, (), note)

    best, best_reversed = best_fixed(layer), best_fixed(layer, reversed_roles=True)
    reversed_d = Assumption(f"d = {d} inputs, β − d = {beta - d} outputs in Buffer", True)
    return [
        *_both(
            layer,
            "upper_bound_fixed_inputs",
            f"{_PAPER} eq. (24)",
            fixed_inputs_accesses_formula(layer, d),
            divides,
            f"d = {d}",
        ),
        *flow("upper_bound_fixed_inputs_ceiling", "eq. (23)", fixed_dataflow(layer, d)),
        *_both(
            layer,
            "upper_bound_fixed_outputs",
            f"{_PAPER} eq. (25)",
            fixed_outputs_accesses_formula(layer, d),
            (*divides_reversed, reversed_d),
            f"d = {d}",
        ),
        *flow("upper_bound_fixed_outputs_ceiling", "eq. (23)", fixed_dataflow(layer, beta - d, reversed_roles=True)),
        *_both(layer, "upper_bound_one_input", f"{_PAPER} eq. (28)", fixed_inputs_accesses_formula(layer, 1), best_one),
        *_both(
            layer,
            "upper_bound_bounded_inputs",
            f"{_PAPER} eq. (30)",
            bounded_inputs_accesses_formula(layer, c),
            bounded,
            f"c = {c}",
        ),
        *flow("upper_bound_bounded_inputs_ceiling", "eq. (29)", bounded_dataflow(layer, c)),
        *_both(
            layer,
            "upper_bound_bounded_outputs",
            f"{_PAPER} eq. (29), roles reversed",
            bounded_outputs_accesses_formula(layer, c),
            bounded_reversed,
            f"c = {c}",
        ),
        *flow("upper_bound_bounded_outputs_ceiling", "eq. (29)", bounded_dataflow(layer, c, reversed_roles=True)),
        *flow("upper_bound_best_fixed_inputs", "eq. (23)", best),
        Bound("best_partition_inputs", f"{_PAPER} section 4.1", best.parameter, "words", (), "d with the least cost"),
        *flow("upper_bound_best_fixed_outputs", "eq. (23)", best_reversed),
        Bound(
            "best_partition_inputs_reversed",
            f"{_PAPER} section 4.1",
            beta - best_reversed.parameter,
            "words",
            (),
            "d with the least cost, roles reversed",
        ),
        *flow("upper_bound_best", "section 4 and nearly equal groups", best_upper(layer)),
    ]


def _comparison(layer: FcLayer) -> list[Bound]:
    sufficient = (
        Assumption("n > 2β − 3", layer.inputs > 2 * layer.buffer_words - 3),
        Assumption("m >= β", layer.outputs >= layer.buffer_words),
    )
    value = compare_roles(layer)
    verdict = "not negative: eq. (26) holds" if value >= 0 else "negative: eq. (26) fails, reversed roles cost less"
    return [Bound("role_comparison", f"{_PAPER} eq. (27)", value, "accesses × (β − 1)", sufficient, verdict)]


def _partitioned(layer: FcLayer, d: int) -> list[Bound]:
    beta = layer.buffer_words
    low = 3 * d <= 2 * beta
    case = Assumption("1 <= d <= 2β/3" if low else "2β/3 <= d <= β − 1", True)
    split = Assumption(f"Buffer is split into {d} words for inputs and {beta - d} for outputs", True)
    source = f"{_PAPER} eq. (41)" if low else f"{_PAPER} eq. (44)"
    program = solve_partitioned(layer, d)
    both = solve_partitioned(layer, d, "both")
    lp = f"{_PAPER} eqs. (32)–(35)" if low else f"{_PAPER} section 5, second case"
    best_d, best_accesses = best_partitioned(layer)
    note = f"optimal but for the constant {d if low else 2 * (beta - d)}"
    return [
        *_both(layer, "optimal_partitioned_lower", source, partitioned_accesses(layer, d), (case, split), note),
        Bound("partitioned_lp_primal", lp, program.primal, "accesses", (split,), "least 2μ + ν, solved by HiGHS"),
        Bound("partitioned_lp_dual", f"{_PAPER} eqs. (36)–(39)", program.dual, "accesses", (split,), "solved by HiGHS"),
        Bound("partitioned_lp_duality_gap", f"{_PAPER} section 5", program.duality_gap, "accesses", (split,)),
        Bound(
            "partitioned_lp_both_constraints",
            f"{_PAPER} section 5",
            both.primal,
            "accesses",
            (split,),
            "μ >= m and ν >= n",
        ),
        *_both(
            layer,
            "optimal_partitioned_lower_best",
            f"{_PAPER} eqs. (41), (44)",
            best_accesses,
            (),
            f"least over d, at d = {best_d}",
        ),
    ]
