"""Every bound of paper 002 for one layer, as records with their assumptions, and on words of an accelerator's DRAM."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from jouleloop.errors import AssumptionError, Fault, InputError, raise_all
from jouleloop.theory.bound import Assumption, Bound
from jouleloop.theory.fully_connected import dataflows, formulas
from jouleloop.theory.fully_connected.dataflows import Dataflow
from jouleloop.theory.fully_connected.exact import ExactMinimum
from jouleloop.theory.fully_connected.formulas import FcLayer
from jouleloop.theory.layers import MAC_ENERGY_PJ

Row = tuple[str, str, Fraction | int, tuple[Assumption, ...], str]
"""Name, place in the paper, 2μ + ν, assumptions and note of a bound."""


def all_bounds(
    layer: FcLayer,
    *,
    partition: int = 1,
    inputs_bound: int = 1,
    reads: tuple[int, int] | None = None,
    mac_energy_pj: float | None = None,
) -> list[Bound]:
    """Return every bound of paper 002 sections 2–5 for ``layer``.

    ``partition`` is d of eqs. (24), (25), (41), (44), and ``inputs_bound`` c of eq. (30); ``reads`` are μ and ν for
    eq. (5), those of the cheapest dataflow known where not given; ``mac_energy_pj`` is C_b of eq. (3), by default the
    paper's for 8 and 16 bits.
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
    source = "section 4, conditions 1–4, solved exactly"
    if exact.decided:
        return _both(exact.layer, ("exact_minimum", source, exact.upper, (), f"proven by {exact.method}"))
    note = "undecided: the least cost lies between exact_lower_bound and exact_upper_bound"
    return _both(
        exact.layer,
        ("exact_lower_bound", source, exact.lower, (), note),
        ("exact_upper_bound", source, exact.upper, (), note),
    )


def _bound(name: str, source: str, value: Fraction | float | None, unit: str, *assumptions: Assumption,
           note: str = "") -> Bound:  # fmt: skip
    return Bound(name, f"002 {source}", value, unit, assumptions, note)


def _both(layer: FcLayer, *rows: Row) -> list[Bound]:
    """Return for every row E_data in bits by eq. (5) under its name, and 2μ + ν beside it under ``name``_accesses."""
    found = []
    for name, source, accesses, assumptions, note in rows:
        energy = formulas.data_energy_bits(layer, accesses)
        found.append(_bound(name, source, energy, "bits", *assumptions, note=note))
        exact, said = Fraction(accesses), note or "2μ + ν"
        found.append(_bound(f"{name}_accesses", source, exact, "accesses", *assumptions, note=said))
    return found


def _energies(layer: FcLayer, reads: tuple[int, int] | None, mac_energy_pj: float | None) -> list[Bound]:
    constant = MAC_ENERGY_PJ.get(layer.word_bits) if mac_energy_pj is None else mac_energy_pj
    known = Assumption(f"C_b is known for b = {layer.word_bits} (the paper gives 8 and 16 bits)", constant is not None)
    energy = None if constant is None else formulas.computation_energy_pj(layer, constant)
    note = "" if constant is None else f"C_{layer.word_bits} = {float(constant):g} pJ"
    flow = dataflows.best_upper(layer)
    mu, nu = reads or (flow.output_reads, flow.input_reads)
    origin = "given" if reads else flow.title
    possible = (Assumption("μ >= m", mu >= layer.outputs), Assumption("ν >= n", nu >= layer.inputs))
    return [
        _bound("computation_energy", "eq. (3)", energy, "pJ", known, note=note),
        *_both(layer, ("data_energy", "eq. (5)", 2 * mu + nu, possible, f"μ = {mu}, ν = {nu}: {origin}")),
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
    needed = general_assumptions(layer)
    reads, least = formulas.lower_bound_reads(layer), 2 * layer.outputs + layer.inputs
    weak, strong, pairs = (
        formulas.lower_bound_accesses_weak(layer),
        formulas.lower_bound_accesses(layer),
        formulas.pair_count_accesses(layer),
    )
    counted = "section 3, at most β − 1 new pairs a read"
    return [
        _bound("general_lower_bound_reads", "eq. (18)", reads, "reads", *needed, note="μ + ν"),
        *_both(
            layer,
            ("general_lower_bound", "eq. (20)", weak, needed, "drops m/(β − 1) of eq. (19)"),
            ("general_lower_bound_stronger", "eq. (19)", strong, needed, ""),
            ("pair_count_lower_bound", counted, pairs, (), "needs no assumption"),
            ("trivial_lower_bound", "section 2", least, (), "each input and output read at least once"),
        ),
    ]


def _upper(layer: FcLayer, d: int, c: int) -> list[Bound]:
    n, m, beta = layer.inputs, layer.outputs, layer.buffer_words
    divides = (Assumption("(β − d) divides m", m % (beta - d) == 0), Assumption("d <= n (tacit)", d <= n))
    divides_reversed = (
        Assumption("d divides n", n % d == 0),
        Assumption("β − d <= m (tacit)", beta - d <= m),
        Assumption(f"d = {d} inputs, β − d = {beta - d} outputs in Buffer", True),
    )
    whole, whole_reversed = (
        Assumption(f"(β − 1) divides {symbol}", size % (beta - 1) == 0) for symbol, size in (("m", m), ("n", n))
    )
    best_one = (whole, Assumption("n > 2β − 3", n > 2 * beta - 3), Assumption("m >= β", m >= beta))
    bounded = (whole, Assumption("c <= n (tacit)", c <= n))
    bounded_reversed = (whole_reversed, Assumption("c <= m (tacit)", c <= m))
    fixed, one = formulas.fixed_accesses_formula(layer, d), formulas.fixed_accesses_formula(layer, 1)
    fixed_reversed = formulas.fixed_accesses_formula(layer, beta - d, reversed_roles=True)
    most, most_reversed = (formulas.bounded_accesses_formula(layer, c, reversed_roles=roles) for roles in (False, True))
    by_d, by_c, reversed_29 = f"d = {d}", f"c = {c}", "eq. (29), roles reversed"
    best, best_reversed = dataflows.best_fixed(layer), dataflows.best_fixed(layer, reversed_roles=True)
    last = beta - best_reversed.parameter
    outputs_kept = dataflows.fixed_dataflow(layer, beta - d, reversed_roles=True)
    outputs_bounded = dataflows.bounded_dataflow(layer, c, reversed_roles=True)

    def flow(name: str, source: str, found: Dataflow) -> Row:
        note = f"{found.title}: μ = {found.output_reads}, ν = {found.input_reads}"
        return name, f"{source}, counts of the executed dataflow, with ceilings", found.accesses, (), note

    section = "section 4.1"
    return [
        *_both(
            layer,
            ("upper_bound_fixed_inputs", "eq. (24)", fixed, divides, by_d),
            flow("upper_bound_fixed_inputs_ceiling", "eq. (23)", dataflows.fixed_dataflow(layer, d)),
            ("upper_bound_fixed_outputs", "eq. (25)", fixed_reversed, divides_reversed, by_d),
            flow("upper_bound_fixed_outputs_ceiling", "eq. (23)", outputs_kept),
            ("upper_bound_one_input", "eq. (28)", one, best_one, ""),
            ("upper_bound_bounded_inputs", "eq. (30)", most, bounded, by_c),
            flow("upper_bound_bounded_inputs_ceiling", "eq. (29)", dataflows.bounded_dataflow(layer, c)),
            ("upper_bound_bounded_outputs", reversed_29, most_reversed, bounded_reversed, by_c),
            flow("upper_bound_bounded_outputs_ceiling", "eq. (29)", outputs_bounded),
            flow("upper_bound_best_fixed_inputs", "eq. (23)", best),
        ),
        _bound("best_partition_inputs", section, best.parameter, "words", note="d with the least cost"),
        *_both(layer, flow("upper_bound_best_fixed_outputs", "eq. (23)", best_reversed)),
        _bound("best_partition_inputs_reversed", section, last, "words", note="d with the least cost, roles reversed"),
        *_both(layer, flow("upper_bound_best", "section 4 and nearly equal groups", dataflows.best_upper(layer))),
    ]


def _comparison(layer: FcLayer) -> list[Bound]:
    sufficient = (
        Assumption("n > 2β − 3", layer.inputs > 2 * layer.buffer_words - 3),
        Assumption("m >= β", layer.outputs >= layer.buffer_words),
    )
    one = formulas.fixed_accesses_formula(layer, 1)
    value = (layer.buffer_words - 1) * (formulas.fixed_accesses_formula(layer, 1, reversed_roles=True) - one)
    verdict = "not negative: eq. (26) holds" if value >= 0 else "negative: eq. (26) fails, reversed roles cost less"
    return [_bound("role_comparison", "eq. (27)", value, "accesses × (β − 1)", *sufficient, note=verdict)]


def _partitioned(layer: FcLayer, d: int) -> list[Bound]:
    beta = layer.buffer_words
    low = 3 * d <= 2 * beta
    case = Assumption("1 <= d <= 2β/3" if low else "2β/3 <= d <= β − 1", True)
    split = Assumption(f"Buffer is split into {d} words for inputs and {beta - d} for outputs", True)
    source = "eq. (41)" if low else "eq. (44)"
    lp = "eqs. (32)–(35)" if low else "section 5, second case"
    primal, dual = formulas.solve_partitioned(layer, d)
    both, _ = formulas.solve_partitioned(layer, d, "both")
    least = formulas.partitioned_accesses(layer, d)
    note = f"optimal but for the constant {d if low else 2 * (beta - d)}"
    best_d, best = formulas.best_partitioned(layer)
    at_best = f"least over d, at d = {best_d}"
    return [
        *_both(layer, ("optimal_partitioned_lower", source, least, (case, split), note)),
        _bound("partitioned_lp_primal", lp, primal, "accesses", split, note="least 2μ + ν, solved by HiGHS"),
        _bound("partitioned_lp_dual", "eqs. (36)–(39)", dual, "accesses", split, note="solved by HiGHS"),
        _bound("partitioned_lp_duality_gap", "section 5", primal - dual, "accesses", split),
        _bound("partitioned_lp_both_constraints", "section 5", both, "accesses", split, note="μ >= m and ν >= n"),
        *_both(layer, ("optimal_partitioned_lower_best", "eqs. (41), (44)", best, (), at_best)),
    ]


@dataclass(frozen=True)
class WordBounds:
    """What 002 says of the words between DRAM and Buffer, the mn weights included."""

    trivial_lower_words: int
    """Each input read once, each output read and written once, each weight read once: mn + 2m + n."""
    general_lower_words: Fraction
    general_lower_assumptions_hold: bool
    """002 eq. (20), and whether its assumptions hold."""
    pair_count_lower_words: int
    """At most β − 1 new pairs a read, see `pair_count_accesses`; holds always."""
    lower_words: Fraction
    """The largest of the lower bounds that hold: eq. (20) counts only where its assumptions do."""
    upper_words: int
    eq_28_words: Fraction | None
    """002 eq. (28), the least wherever that is proven; None where a side fits into Buffer, as nothing is read twice."""
    partitioned_words: Fraction
    """002 eq. (41)/(44): the least for a Buffer split into inputs and outputs once for all, at the best split. A nest
    of loops splits its buffer like that."""


def buffer_words(capacities_words: Sequence[int], *, weight_words: int = 1) -> int:
    """Return β of an accelerator: all words on the chip that may hold inputs or outputs, less those kept for weights.

    A bound for β words bounds every smaller Buffer as well; counting all storage on the chip, at every level and in
    every instance, keeps the lower bound sound for any hierarchy, since what is on the chip at one time fits into that
    many words.

    A capacity is a buffer's words times its instances, of every on-chip buffer that may hold inputs or outputs;
    ``weight_words`` of them never do: one in the model.
    """
    raise_all([Fault("not a capacity in words", value=words) for words in capacities_words if words < 0])
    beta = sum(capacities_words) - weight_words
    if beta < 2:
        text = "assumption β > 1 (002 section 3) fails: the buffers are too small"
        raise InputError(Fault(text, value=beta, allowed="a total >= 3 words"))
    return beta


def word_bounds(layer: FcLayer) -> WordBounds:
    """Return the bounds of a layer, the sizes those of one sample."""
    words = layer.pairs
    general = words + formulas.lower_bound_accesses_weak(layer)
    holds = all(assumption.holds for assumption in general_assumptions(layer))
    pair_count = words + formulas.pair_count_accesses(layer)
    return WordBounds(
        trivial_lower_words=words + 2 * layer.outputs + layer.inputs,
        general_lower_words=general,
        general_lower_assumptions_hold=holds,
        pair_count_lower_words=pair_count,
        lower_words=max(Fraction(pair_count), general) if holds else Fraction(pair_count),
        upper_words=words + dataflows.best_upper(layer).accesses,
        eq_28_words=words + formulas.fixed_accesses_formula(layer, 1)
        if min(layer.inputs, layer.outputs) >= layer.buffer_words
        else None,
        partitioned_words=words + formulas.best_partitioned(layer)[1],
    )
